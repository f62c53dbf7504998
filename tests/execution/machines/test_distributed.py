"""Loops as Distributed Maps give what inline loops give."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant import skills as registry
from tests.execution.support import Skills, compile_text, run_text
from translator.asl.limits import measures

LOOP = """
    id: w
    inputs: {{n: {{type: integer}}, bad: {{type: integer, default: -1}}}}
    steps:
      - {{id: before, type: skill, config: {{skill: echo, parameters: {{value: [7]}}}}}}
      - id: many
        type: foreach
        items: "{{{{ [x * 2 for x in range(0, input.n)] }}}}"
        max_parallel: {limit}
        depends_on: [before]
        {extra}
        steps:
          - {{id: one, type: skill, config: {{skill: fail_if, parameters: {{n: "{{{{ item }}}}", bad: "{{{{ input.bad }}}}"}}}}}}
          - {{id: odd, type: choice, depends_on: [one], cases: [{{name: three, when: "index == 3"}}], default: other}}
          - {{id: two, type: transform, depends_on: [{{step: odd, on: [three]}}], config: {{data: "{{{{ [steps.before.output[0], steps.one.output] }}}}"}}}}
          - {{id: last, type: skill, depends_on: [two], config: {{skill: echo, parameters: {{value: "{{{{ [index, steps.one.output, steps.two.output, vars.v] }}}}"}}}}}}
    variables: {{v: "{{{{ input.n + 1 }}}}"}}
    outputs: {{many: "{{{{ steps.many.output }}}}", n: "{{{{ len(steps.many.output) }}}}"}}
"""


def both(extra: str = "", **given: Any) -> tuple[Any, Any]:
    return tuple(run_text(LOOP.format(limit=limit, extra=extra), input={"n": 6, "bad": -1} | given) for limit in (5, 50))  # type: ignore[return-value]


@pytest.mark.parametrize("extra", ["", "on_item_error: continue", "batch_size: 4"])
def test_the_results_are_those_of_an_inline_loop(skills: Skills, extra: str) -> None:
    inline, distributed = both(extra, bad=4 if "continue" in extra else -1)
    assert inline.error is None and distributed.error is None
    assert distributed.output == inline.output


def test_the_failure_is_that_of_an_inline_loop(skills: Skills) -> None:
    inline, distributed = both(bad=4)
    assert inline.error is not None and distributed.error is not None
    assert distributed.error == inline.error  # the step and its iteration too
    assert distributed.error.message == "step one[2]: 4 is bad"


@pytest.mark.parametrize("handler", ["on_failure: continue", "on_failure: {action: continue}"])
def test_a_failed_loop_can_be_gone_on_after(skills: Skills, handler: str) -> None:
    text = LOOP.replace("{{{{ len(steps.many.output) }}}}", "{{{{ [errors.many.error, errors.many.message] }}}}")
    results = [run_text(text.format(limit=limit, extra=handler), input={"n": 6, "bad": 4}).output for limit in (5, 50)]
    assert results[0] == results[1] == {"many": None, "n": ["NoisyError", "step one[2]: 4 is bad"]}


def test_loops_in_loops(skills: Skills) -> None:
    text = """
        steps:
          - {id: top, type: skill, config: {skill: echo, parameters: {value: 5}}}
          - id: outer
            type: foreach
            items: ["a", "b"]
            item_name: letter
            index_name: spot
            max_parallel: %s
            depends_on: [top]
            steps:
              - {id: name, type: skill, config: {skill: echo, parameters: {value: "{{ letter }}!"}}}
              - id: inner
                type: foreach
                items: [1, 2, 3]
                item_name: number
                index_name: place
                max_parallel: %s
                depends_on: [name]
                steps:
                  - {id: one, type: skill, config: {skill: echo, parameters: {
                      value: "{{ [steps.top.output, steps.name.output, letter, spot, number, place] }}"}}}
        outputs: {o: "{{ steps.outer.output }}"}
    """
    wanted = [[[5, f"{item}!", item, index, number, place] for place, number in enumerate([1, 2, 3])]
              for index, item in enumerate("ab")]
    for limits in ((50, 50), (2, 50), (50, 3)):
        result = run_text(text % limits)
        assert result.error is None and result.output == {"o": wanted}


def test_items_and_results_beyond_every_payload(skills: Skills) -> None:
    registry.register("blob", lambda size, char="x": char * size)
    text = """
        steps:
          - {id: texts, type: skill, config: {skill: rows}}
          - id: many
            type: foreach
            items: "{{ steps.texts.output }}"
            max_parallel: 41
            depends_on: [texts]
            steps: [{id: one, type: skill, config: {skill: blob, parameters: {size: 9000, char: "{{ item.char }}"}}}]
          - {id: read, type: skill, depends_on: [many], config: {skill: lengths, parameters: {texts: "{{ steps.many.output }}"}}}
        outputs: {lengths: "{{ steps.read.output }}", count: "{{ len(steps.many.output) }}"}
    """
    registry.register("rows", lambda: [{"char": chr(97 + number % 26), "rest": "r" * 10_000} for number in range(50)])
    registry.register("lengths", lambda texts: [len(text) for text in texts])
    result = run_text(text)
    assert result.error is None and result.output == {"lengths": [9000] * 50, "count": 50}


LONG = """
    steps:
      - id: many
        type: foreach
        items: "{{ range(0, 100000) }}"
        steps:
          - {id: a, type: skill, timeout: 120, config: {skill: echo, parameters: {value: "{{ item }}"}}}
          - {id: b, type: skill, timeout: 120, depends_on: [a], config: {skill: echo, parameters: {value: "{{ steps.a.output }}"}}}
    outputs: {n: "{{ len(steps.many.output) }}"}
"""


def test_a_loop_of_100_000_items_is_inside_of_all_limits(skills: Skills) -> None:
    (compiled,) = compile_text(LONG)
    assert measures(compiled.definition, lengths=dict.fromkeys(["many spread"], 100_000)) == []
    assert [one.code for one in compiled.diagnostics if one.severity != "info"] == []
    state = next(state for name, state in compiled.definition["States"].items() if state["Type"] == "Map")
    assert state["ItemProcessor"]["ProcessorConfig"] == {"Mode": "DISTRIBUTED", "ExecutionType": "EXPRESS"}
    # The same with 60 of them, run.
    result = run_text(LONG.replace("100000", "60").replace("type: foreach", "type: foreach\n        max_parallel: 45"))
    assert result.error is None and result.output == {"n": 60}
    assert len(skills.calls) == 120


@pytest.mark.parametrize(("body", "kind"), [
    ("{id: a, type: skill, timeout: 100, config: {skill: echo}}", "EXPRESS"),
    ("{id: a, type: skill, config: {skill: echo}}", "STANDARD"),
    ("{id: a, type: skill, timeout: 100, retry: {max_attempts: 4}, config: {skill: echo}}", "STANDARD"),
    ("{id: a, type: wait, seconds: 299}", "EXPRESS"),
    ("{id: a, type: wait, seconds: 301}", "STANDARD"),
    ("{id: a, type: approval, config: {message: ok}}", "STANDARD"),
    ("{id: a, type: transform, config: {data: 1}}", "EXPRESS"),
])
def test_children_are_express_where_they_end_in_time(body: str, kind: str) -> None:
    (compiled,) = compile_text(f"steps: [{{id: l, type: foreach, items: [1], max_parallel: 41, steps: [{body}]}}]")
    text = json.dumps(compiled.definition)
    assert f'"ExecutionType": "{kind}"' in text and measures(compiled.definition) == []


@pytest.mark.parametrize(("count", "mode"), [(2800, "INLINE"), (2900, "DISTRIBUTED")])
def test_the_heaviest_loop_is_distributed_when_events_run_out(count: int, mode: str) -> None:
    (compiled,) = compile_text(f"""
        steps:
          - {{id: few, type: foreach, items: [1, 2], steps: [{{id: x, type: skill, config: {{skill: echo}}}}]}}
          - {{id: many, type: foreach, items: "{{{{ range(0, {count}) }}}}", steps: [{{id: y, type: skill, config: {{skill: echo}}}}]}}
    """)
    text = json.dumps(compiled.definition)
    assert (f'"Mode": "{mode}"' in text) and text.count('"Mode": "INLINE"') == (2 if mode == "INLINE" else 1)
