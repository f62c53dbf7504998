"""Values larger than a state may pass on are refused, with the step and the size; bytes count, not characters."""

from __future__ import annotations

import pytest

from aslant import skills as registry
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


@pytest.mark.parametrize(("given", "fits"), [
    ({"n": 100_000}, True), ({"n": 200_000, "char": "界"}, True), ({"n": 300_000}, False), ({"n": LIMIT}, False),
    ({"n": LIMIT - 10}, False), ({"n": 270_000, "char": "界"}, False), ({"n": 300_000, "char": "é"}, False),
])
def test_a_large_result_arrives_or_is_refused_with_its_size(blob: Skills, given: dict[str, object], fits: bool) -> None:
    result = start(compiled(ONE), given)
    if fits:
        assert result.output == {"read": int(str(given["n"])) // len(str(given.get("char", "x")).encode())}
        return
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("PayloadTooLarge", "big")
    assert f"{int(str(given['n'])) // 1000}," in result.error.message and f"{LIMIT:,}" in result.error.message


def test_the_refusal_can_be_handled(blob: Skills) -> None:
    text = ONE.replace("{id: big, type: skill,", "{id: big, type: skill, on_failure: continue,").replace(
        "config: {skill: size_of, parameters: {value: \"{{ steps.big.output }}\"}}",
        "config: {skill: echo, parameters: {value: \"{{ errors.big.error }}\"}}")
    assert start(compiled(text), {"n": 300_000}).output == {"read": "PayloadTooLarge"}


LOOP = """
    inputs: {{n: {{type: integer, required: true}}}}
    steps:
      - {{id: many, type: foreach, items: "{{{{ range(0, 100) }}}}", {extra} steps: [{{id: one, type: skill, config: {{skill: blob, parameters: {{bytes: "{{{{ input.n }}}}"}}}}}}]}}
      - {{id: after, type: transform, depends_on: [many], config: {{data: ["{{{{ len(steps.many.output) }}}}", "{{{{ errors.many.error }}}}"]}}}}
"""


def test_many_small_results_add_up(blob: Skills) -> None:
    assert start(compiled(LOOP.format(extra="")), {"n": 2000}).output == {"after": [100, None]}
    result = start(compiled(LOOP.format(extra="")), {"n": 5000})
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("States.DataLimitExceeded", "many")
    assert "262144" in result.error.message.replace(",", "")


@pytest.mark.parametrize("text", ["x" * 300_000, "界" * 90_000])
def test_an_input_that_is_too_large_starts_nothing(text: str) -> None:
    (compilation,) = compiled("inputs: {t: {type: string}}\nsteps: [{id: a, type: wait, seconds: 0}]")
    _, problems = prepare(compilation.workflow.inputs, {"t": text})
    assert [problem.pointer for problem in problems] == [""]
    assert f"{len(text.encode()) // 1000},0" in problems[0].message
    _, problems = prepare(None, {"t": text})
    assert len(problems) == 1
    _, problems = prepare(None, {"t": text[:80_000]})
    assert problems == []
