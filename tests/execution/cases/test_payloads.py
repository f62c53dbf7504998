"""Values larger than a state may pass on are stored and given back; what the machine looks into is refused with its size."""

from __future__ import annotations

import pytest

from aslant import skills as registry
from aslant.errors import PayloadTooLarge
from aslant.inputs import prepare
from tests.execution.cases.spelling import compiled, start
from tests.execution.support import Skills

LIMIT = 262_144


@pytest.fixture
def blob(skills: Skills) -> Skills:
    registry.register("blob", lambda bytes, char="x": char * (bytes // len(char.encode())))
    registry.register("size_of", lambda value: len(value))
    return skills


ONE = """
    inputs: {n: {type: integer, required: true}, char: {type: string, default: x}}
    steps:
      - {id: big, type: skill, config: {skill: blob, parameters: {bytes: "{{ input.n }}", char: "{{ input.char }}"}}}
      - {id: read, type: skill, depends_on: [big], config: {skill: size_of, parameters: {value: "{{ steps.big.output }}"}}}
"""


@pytest.mark.parametrize(("given", "length"), [
    ({"n": 100_000}, 100_000), ({"n": 300_000}, 300_000), ({"n": LIMIT}, LIMIT), ({"n": 3_000_000, "char": "界"}, 1_000_000),
])
def test_a_large_result_arrives(blob: Skills, given: dict[str, object], length: int) -> None:
    result = start(compiled(ONE), given)
    assert result.error is None and result.output == {"read": length}


def test_a_large_output_is_given_whole(blob: Skills) -> None:
    text = ONE.split("- {id: read")[0]
    result = start(compiled(text), {"n": 300_000})
    assert result.error is None and result.output == {"big": "x" * 300_000}


LOOKED_INTO = ONE.replace("parameters: {value: \"{{ steps.big.output }}\"}", "parameters: {value: \"{{ upper(steps.big.output) }}\"}")


def test_what_the_machine_looks_into_is_refused_with_its_size(blob: Skills) -> None:
    assert start(compiled(LOOKED_INTO), {"n": 200_000}).output == {"read": 200_000}
    result = start(compiled(LOOKED_INTO), {"n": 300_000})
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("PayloadTooLarge", "big")
    assert "300,0" in result.error.message and "at most" in result.error.message


def test_how_branches_ended_can_be_asked_whatever_they_give(blob: Skills) -> None:
    registry.register("parts", lambda: {"k": 5, "rest": "x" * 300_000})
    result = start(compiled("""
        steps:
          - id: p
            type: parallel
            branches:
              - steps: [{id: first, type: skill, config: {skill: blob, parameters: {bytes: 300000}}}]
              - steps: [{id: second, type: skill, config: {skill: parts}}]
          - {id: all, type: choice, depends_on: [p], cases: [{name: good, when: "steps.p.output.results[1].output.k == 5"}]}
          - {id: read, type: skill, depends_on: [p], config: {skill: size_of, parameters: {value: "{{ steps.p.output.results[0].output }}"}}}
        outputs:
          ended: "{{ [steps.p.output.results[0].success, len(steps.p.output.results), len(steps.p.output.errors)] }}"
          all: "{{ steps.all.output.branch }}"
          read: "{{ steps.read.output }}"
    """), {})  # fmt: skip
    assert result.error is None
    assert result.output == {"ended": [True, 2, 0], "all": "good", "read": 300_000}


def test_the_refusal_can_be_handled(blob: Skills) -> None:
    text = ONE.replace("{id: big, type: skill,", "{id: big, type: skill, on_failure: continue,").replace(
        "config: {skill: size_of, parameters: {value: \"{{ steps.big.output }}\"}}",
        "config: {skill: echo, parameters: {value: \"{{ [errors.big.error, upper(steps.big.output ?? '')] }}\"}}")
    assert start(compiled(text), {"n": 300_000}).output == {"read": ["PayloadTooLarge", ""]}


def test_results_side_by_side_add_up(blob: Skills) -> None:
    branches = "".join(
        f"{{steps: [{{id: b{number}, type: skill, config: {{skill: blob, parameters: {{bytes: 100000}}}}}}]}}, " for number in range(6))
    text = f"""
    steps:
      - {{id: p, type: parallel, branches: [{branches}]}}
      - {{id: after, type: skill, depends_on: [p], config: {{skill: size_of, parameters: {{value: "{{{{ steps.p.output }}}}"}}}}}}
    """
    result = start(compiled(text), {})
    assert result.error is None and result.output == {"after": 2}


LOOP = """
    inputs: {{n: {{type: integer, required: true}}}}
    steps:
      - {{id: many, type: foreach, items: "{{{{ range(0, 25) }}}}", {extra} steps: [{{id: one, type: skill, config: {{skill: blob, parameters: {{bytes: "{{{{ input.n }}}}"}}}}}}]}}
      - {{id: after, type: transform, depends_on: [many], config: {{data: ["{{{{ len(steps.many.output) }}}}", "{{{{ steps.many.output | length }}}}", "{{{{ errors.many.error }}}}"]}}}}
      - {{id: read, type: skill, depends_on: [many], config: {{skill: lengths, parameters: {{texts: "{{{{ steps.many.output }}}}"}}}}}}
"""


def test_many_small_results_add_up(blob: Skills) -> None:
    registry.register("lengths", lambda texts: [len(text) for text in texts])
    result = start(compiled(LOOP.format(extra="")), {"n": 20_000})
    assert result.error is None and result.output == {"after": [25, 25, None], "read": [20_000] * 25}


INPUT = """
    inputs: {t: {type: string}, list: {type: array, default: []}, n: {type: integer, default: 1}}
    steps:
      - {id: read, type: skill, when: "input.n > 0", config: {skill: size_of, parameters: {value: "{{ input.t }}"}}}
      - {id: whole, type: skill, config: {skill: names, parameters: {value: "{{ input }}"}}}
      - {id: loop, type: foreach, items: "{{ input.list }}", steps: [{id: one, type: skill, config: {skill: size_of, parameters: {value: "{{ input.t }}"}}}]}
"""


@pytest.mark.parametrize("text", ["x" * 300_000, "界" * 90_000, "x" * 3_000_000])
def test_a_large_input_arrives(blob: Skills, text: str) -> None:
    registry.register("names", lambda value: [*value, len(value["t"])])
    result = start(compiled(INPUT), {"t": text, "list": [1, 2], "n": 1})
    assert result.error is None
    assert result.output == {"read": len(text), "whole": ["t", "list", "n", len(text)], "loop": [len(text)] * 2}


def test_an_input_that_the_machine_looks_into_starts_nothing(blob: Skills) -> None:
    with pytest.raises(PayloadTooLarge, match=r"300,0\d\d bytes of JSON, of which the state machine itself reads 300,0\d\d .*/list"):
        start(compiled(INPUT), {"t": "", "list": ["x" * 300_000], "n": 1})
    assert blob.calls == []


@pytest.mark.parametrize("text", ["x" * 5_300_000, "界" * 1_800_000])
def test_an_input_that_is_too_large_for_all_starts_nothing(text: str) -> None:
    (compilation,) = compiled("inputs: {t: {type: string}}\nsteps: [{id: a, type: wait, seconds: 0}]")
    _, problems = prepare(compilation.workflow.inputs, {"t": text})
    assert [problem.pointer for problem in problems] == [""]
    assert f"{(len(text.encode()) + 8):,}" in problems[0].message
    _, problems = prepare(None, {"t": text})
    assert len(problems) == 1
    _, problems = prepare(None, {"t": text[:80_000]})
    assert problems == []
