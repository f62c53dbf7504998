"""A text literal that looks like another dialect's hole stays a text in every dialect."""

from __future__ import annotations

import pytest

from tests.unit.dialects.common.test_round_trip import canonical, converted
from translator.dialects.convert import dump
from translator.dialects.registry import DIALECTS
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
