"""A text literal that looks like another dialect's hole stays a text in every dialect."""

from __future__ import annotations

import pytest

from tests.unit.dialects.common.test_round_trip import canonical, converted
from translator.diagnostics import NOWHERE, Findings
from translator.dialects.convert import dump
from translator.dialects.registry import DIALECTS
from translator.expressions.evaluate import evaluate
from translator.expressions.resolve import Names, resolve
from translator.expressions.template import parse_template
from translator.expressions.tree import Literal
from translator.expressions.unparse import unparse_template
from translator.pipeline import Source, check_sources

LITERALS = ['"${x}"', "'{input.x}'", '"a \\\\${input.x} b"', "'$${x}{state.y}'", '"\\{input.x}"', "'it\\'s {input.x}'", '"{other.x}"']


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@pytest.mark.parametrize("literal", LITERALS)
def test_literals_in_conditions_come_back_the_same(dialect: str, literal: str) -> None:
    guard = f"input.x == {literal}"
    text = dump({
        "dialect": "canonical", "name": "w", "inputs": {"x": {"type": "string"}},
        "steps": [
            {"id": "a", "type": "wait", "seconds": 1, "when": guard},
            {"id": "c", "type": "choice", "cases": [{"name": "true", "when": guard}], "default": "false", "depends_on": ["a"]},
            {"id": "m", "type": "choice", "cases": [{"name": "x", "when": guard}, {"name": "y", "when": "true"}]},
            {"id": "b", "type": "wait", "seconds": 1, "depends_on": [{"step": "c", "on": ["true"]}]},
            {"id": "d", "type": "wait", "seconds": 1, "depends_on": [{"step": "a", "when": guard}]},
            {"id": "e", "type": "transform", "config": {"expression": guard}},
        ],
    })
    assert canonical(converted(text, dialect)) == canonical(text)


TEXTS = [
    "${input.x}", "{{ input.x }}", "{input.x}", "a ${input.x} b {{ input.x }}c", "$${input.x}", "\\${state.k}", "{{ {input.x} }}",
    "{{ it's }} ${input.x}", "${{ input.x }}", '{{ "}}" }} {input.x}', "${input.x}{input.x}",
]


@pytest.mark.parametrize("to", sorted(DIALECTS))
@pytest.mark.parametrize("literal", TEXTS)
@pytest.mark.parametrize("hole", ["", " {{ input.x }}"], ids=["alone", "with a hole"])
def test_texts_are_the_same_values_in_every_dialect(to: str, literal: str, hole: str) -> None:
    """Said as an expression where they would look like a slip, so that nobody is warned of them."""
    written = unparse_template(Literal(literal)) + hole
    text = dump({
        "dialect": "canonical", "name": "w", "inputs": {"x": {"type": "string", "required": True}},
        "variables": {"v": written}, "outputs": {"o": [written]},
        "steps": [
            {"id": "a", "type": "skill", "output_key": "k", "config": {"skill": "f", "parameters": {"p": [{"q": written}]}}},
        ],
    })
    converted_text = converted(text, to)
    assert [found.message for found in check_sources([Source(converted_text)]) if found.code in ("D034", "D048", "D112")] == []
    for back in (converted_text, converted(converted_text, "canonical")):
        data = canonical(back)
        for value in (data["variables"]["v"], data["outputs"]["o"][0], data["steps"][0]["config"]["parameters"]["p"][0]["q"]):
            assert evaluated(value) == literal + (" X" if hole else "")


def evaluated(text: str) -> object:
    """What a template gives for the input {x: X}."""
    findings = Findings()
    node = parse_template(text, NOWHERE, findings)
    resolved = resolve(node, Names(inputs={"x": {"type": "string"}}), findings)
    assert findings.items == []
    return evaluate(resolved, lambda slot: {"x": "X"} if slot.kind == "input" else None)


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_what_is_written_is_read_without_findings(dialect: str) -> None:
    """A step after a choice whatever its outcome, and a skill whose name is close to that of a type."""
    text = dump({
        "dialect": "canonical", "name": "w", "steps": [
            {"id": "c", "type": "choice", "cases": [{"name": "true", "when": "1 < 2"}], "default": "false"},
            {"id": "b", "type": "wait", "seconds": 1, "depends_on": ["c"]},
            {"id": "s", "type": "skill", "config": {"skill": "emial", "parameters": {"a": 1}}, "depends_on": ["b"]},
        ],
    })
    written = converted(text, dialect)
    assert canonical(written) == canonical(text)
    assert [found.message for found in check_sources([Source(written)])] == [
        found.message for found in check_sources([Source(text)])]
