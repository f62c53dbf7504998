"""Numbers keep their digits, or are refused; they never change on the way."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant import skills as registry
from aslant.inputs import prepare
from tests.execution.cases.spelling import compiled, errors_of, in_every_dialect, start, start_as
from tests.execution.support import Skills

INTS = """
    name: ints
    inputs: {n: {type: integer, required: true}, f: {type: number, default: 1}}
    steps:
      - id: a
        type: skill
        config: {skill: echo, parameters: {value: {n: "{{ input.n }}", s: "id={{ input.n }}", plus: "{{ input.n + 1 }}", f: "{{ input.f }}", fs: "{{ input.f }}%"}}}
      - {id: b, type: transform, depends_on: [a], config: {data: {again: "{{ steps.a.output }}", s: "{{ steps.a.output.n }}/{{ steps.a.output.f }}"}}}
"""


@in_every_dialect
@pytest.mark.parametrize("n", [20200219, 9007199254740991, -9007199254740990, 0])
def test_integers_keep_every_digit(skills: Skills, dialect: str, n: int) -> None:
    output = start_as(dialect, INTS, given={"n": n, "f": 100.0}).output["b"]
    assert output["again"] == {"n": n, "s": f"id={n}", "plus": n + 1, "f": 100, "fs": "100%"}
    assert output["s"] == f"{n}/100"
    assert all(type(output["again"][key]) is int for key in ("n", "plus"))
    assert skills.calls[0][1]["s"] == f"id={n}"


@pytest.mark.parametrize(("f", "text"), [(0.1, "0.1"), (1e21, "1e+21"), (123456789012.5, "123456789012.5"), (1.5e-7, "1.5e-7"), (-0.25, "-0.25")])
def test_fractions_are_written_as_javascript_writes_them(skills: Skills, f: float, text: str) -> None:
    output = start_as("canonical", INTS, given={"n": 1, "f": f}).output["b"]["again"]
    assert (output["f"], output["fs"]) == (f, f"{text}%")


@pytest.mark.parametrize("n", [356686000032329832, 2**53 + 1, -(10**30)])
def test_an_input_that_would_lose_digits_is_refused(n: int) -> None:
    (compilation,) = compiled(INTS)
    _, problems = prepare(compilation.workflow.inputs, {"n": n})
    assert [problem.pointer for problem in problems] == ["/n"]
    assert str(n) in problems[0].message


@pytest.mark.parametrize("text", [
    "steps: [{id: a, type: transform, config: {data: {n: 356686000032329832}}}]",
    "steps: [{id: a, type: transform, config: {expression: '356686000032329832 + 1'}}]",
    "inputs: {n: {type: integer, default: 9007199254740993}}\nsteps: [{id: a, type: wait, seconds: 0}]",
])
def test_an_integer_of_a_definition_that_would_lose_digits_is_refused(text: str) -> None:
    found = errors_of(text)
    assert [one.code in ("S011", "E007") for one in found] == [True]


def test_a_long_id_as_a_text_goes_everywhere(skills: Skills) -> None:
    result = start_as("canonical", """
        inputs: {id: {type: string, default: "356686000032329832"}}
        steps:
          - {id: a, type: skill, config: {skill: echo, parameters: {value: ["{{ input.id }}", "id={{ input.id }}"]}}}
    """)
    assert result.output == {"a": ["356686000032329832", "id=356686000032329832"]}


def test_a_long_integer_of_a_step_becomes_a_text_with_all_its_digits(skills: Skills) -> None:
    def answer() -> Any:
        return {"id": 356686000032329832, "ids": [2**53, 2**53 + 1], "small": 7, "yes": True}

    registry.register("answer", answer)
    result = start(compiled("""
        outputs: {all: "{{ steps.a.output }}", text: "{{ steps.b.output }}"}
        steps:
          - {id: a, type: skill, config: {skill: answer}}
          - {id: b, type: transform, depends_on: [a], config: {data: "id={{ steps.a.output.id }}"}}
    """))
    assert result.output == {
        "all": {"id": "356686000032329832", "ids": [2**53, "9007199254740993"], "small": 7, "yes": True},
        "text": "id=356686000032329832",
    }
    assert json.loads(json.dumps(result.output)) == result.output
