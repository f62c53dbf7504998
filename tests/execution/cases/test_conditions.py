"""Conditions: precedence, mistakes in them, and inputs that are false, zero or empty."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant.inputs import prepare
from tests.execution.cases.spelling import compiled, errors_of, in_every_dialect, ran, spelled, start
from tests.execution.support import Skills

PRECEDENCE = """
    name: prec
    inputs: {a: {type: boolean, required: true}, b: {type: boolean, required: true}, c: {type: boolean, required: true}}
    steps:
      - {id: p, type: skill, when: "a || b && !c", config: {skill: echo}}
      - {id: q, type: skill, when: "(a || b) && !c", config: {skill: echo}}
      - {id: r, type: skill, when: "not a and b or c", config: {skill: echo}}
"""
TABLE = [((1, 0, 1), "pr"), ((0, 1, 0), "pqr"), ((0, 0, 0), ""), ((0, 0, 1), "r"), ((1, 1, 1), "pr"), ((1, 1, 0), "pq")]


@in_every_dialect
def test_not_binds_tighter_than_and_and_and_tighter_than_or(skills: Skills, dialect: str) -> None:
    compilations = compiled(PRECEDENCE, dialect=dialect)
    for values, expected in TABLE:
        assert ran(start(compilations, dict(zip("abc", map(bool, values), strict=True)))) == set(expected)


MISTAKES = [("a ||", "E001"), ("a = b", "E002"), ("input.typo == 1", "E012"), ("steps.nope.output == 1", "E011"), ("a b", "E001"),
            ("(a", "E001"), ("'a", "E003"), ("typo", "E010"), ("a | nope", "E014"), ("", "E001"), ("{{ a", "E001")]


@pytest.mark.parametrize(("condition", "code"), MISTAKES)
@pytest.mark.parametrize("place", ["when", "case", "edge"])
def test_a_mistake_in_a_condition_is_refused_where_it_stands(condition: str, code: str, place: str) -> None:
    written = json.dumps(condition)
    lines = {
        "when": f"  - {{id: x, type: transform, config: {{expression: '1'}}, when: {written}}}",
        "case": f"  - {{id: x, type: choice, cases: [{{name: y, when: {written}}}]}}",
        "edge": f"  - {{id: x, type: transform, config: {{expression: '1'}}, depends_on: [{{step: s, when: {written}}}]}}",
    }
    found = errors_of("inputs: {a: {type: boolean}, b: {type: boolean}}\nsteps:\n"
                      "  - {id: s, type: transform, config: {expression: '1'}}\n" + lines[place])
    assert [one.code for one in found] == [code]
    assert found[0].position.line == 5  # the dialect's line goes before
    quote = lines[place].index(written) + 1
    assert quote < found[0].position.column < quote + len(written)


TYPED = """
    name: typed
    inputs:
      dry_run: {type: boolean, default: true}
      n: {type: integer, default: 5}
      s: {type: string, default: dflt}
    steps:
      - {id: a, type: skill, config: {skill: echo, parameters: {value: {d: "{{ input.dry_run }}", n: "{{ input.n }}", s: "{{ input.s }}"}}}}
      - {id: wet, type: skill, when: "not input.dry_run", config: {skill: echo}}
"""


@in_every_dialect
@pytest.mark.parametrize(("given", "expected"), [
    ({}, {"d": True, "n": 5, "s": "dflt"}),
    ({"dry_run": False, "n": 0, "s": ""}, {"d": False, "n": 0, "s": ""}),
    ({"n": 7.0}, {"d": True, "n": 7, "s": "dflt"}),
])
def test_only_an_absent_input_takes_its_default(skills: Skills, dialect: str, given: Any, expected: Any) -> None:
    result = start(compiled(TYPED, dialect=dialect), given)
    (seen,) = (value for _, value in skills.calls if value is not None)
    assert seen == expected
    assert [type(value) for value in seen.values()] == [bool, int, str]
    assert ("wet" in ran(result)) is (not expected["d"])


@pytest.mark.parametrize("given", [
    {"dry_run": "false"}, {"dry_run": None}, {"dry_run": 0}, {"n": "7"}, {"n": True}, {"n": 7.5}, {"n": None}, {"s": 1}, {"s": None},
    {"typo": 1},
])
def test_an_input_of_another_type_is_refused_and_never_converted(given: dict[str, Any]) -> None:
    (compilation,) = compiled(TYPED)
    _, problems = prepare(compilation.workflow.inputs, given)
    assert [problem.pointer for problem in problems] == [f"/{next(iter(given))}"]


@pytest.mark.parametrize("row", [
    "{type: integer, default: '5'}", "{type: integer, default: true}", "{type: boolean, default: 'false'}", "{type: string, default: 1}",
    "{type: integer, default: 5, maximum: 4}", "{type: string, enum: [NO, SE], default: no}", "{type: array, default: {}}",
    "{type: string, pattern: '(', default: x}",
])
def test_a_default_that_its_own_input_refuses_is_a_finding(row: str) -> None:
    found = errors_of(f"inputs: {{n: {row}}}\nsteps: [{{id: a, type: transform, config: {{expression: '1'}}}}]")
    assert [(one.code, one.position.line) for one in found] == [("G025", 2)]


@in_every_dialect
def test_a_default_of_the_wrong_type_is_refused_in_every_dialect(dialect: str) -> None:
    text = spelled("inputs: {n: {type: integer, default: '5'}}\nsteps: [{id: a, type: transform, config: {expression: '1'}}]", dialect)
    found = errors_of(text, whole=True)
    assert [one.code for one in found] == ["G025"]


ASKED = """
    name: asked
    inputs: {s: {type: string, default: a}}
    steps:
      - {id: k_skill, type: skill, when: CONDITION, config: {skill: echo}}
      - {id: k_wait, type: wait, when: CONDITION, seconds: 1}
      - {id: k_choice, type: choice, when: CONDITION, cases: [{name: a, when: "true"}]}
      - {id: k_parallel, type: parallel, when: CONDITION, branches: [{steps: [{id: in_p, type: skill, config: {skill: echo}}]}]}
      - {id: k_loop, type: foreach, when: CONDITION, items: [1], steps: [{id: in_l, type: skill, config: {skill: echo}}]}
      - {id: loop, type: foreach, items: [1, 2], steps: [{id: inner, type: skill, when: CONDITION, config: {skill: echo}}]}
      - {id: same, type: foreach, items: [1, 2], steps: [{id: native, type: skill, when: "input.s == 'b'", config: {skill: echo}}]}
"""


def test_what_a_condition_passes_by_is_told_as_skipped_whoever_evaluates_it(skills: Skills) -> None:
    result = start(compiled(ASKED.replace("CONDITION", json.dumps("matches(input.s, '^b')"))))
    assert result.status == "completed" and skills.calls == []
    told = {one.label: str(one.status) for one in result.steps}
    assert {label for label, status in told.items() if status != "skipped"} == {"loop", "same"}
    assert {"inner[0]", "inner[1]", "native[0]", "native[1]", "in_p"} < set(told)
