"""canonical -> dialect -> canonical gives the same data, whatever the definition says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given

from tests.examples import few
from tests.unit.dialects.common.workflows import WORKFLOWS
from translator.diagnostics import NOWHERE, Findings
from translator.dialects.convert import convert, dump, tidied
from translator.dialects.holes import Part, parts, written
from translator.dialects.registry import read
from translator.expressions.parser import parse
from translator.expressions.tree import Literal
from translator.source import load, plain


def canonical(text: str) -> dict[str, Any]:
    findings = Findings()
    document = load(text, findings)
    assert document is not None, findings.items
    found = read(document, findings)
    assert found is not None, findings.items
    assert not findings.has_errors, findings.items
    result: dict[str, Any] = said(plain(tidied(found[1])))
    return result


def said(value: Any) -> Any:
    """The same with each hole that only says a text written as that text: both mean the same."""
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items()}
    if isinstance(value, list):
        return [said(item) for item in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    pieces = []
    for part in parts(value):
        node = parse(part.text, NOWHERE, Findings()) if part.hole else None
        pieces.append(Part(node.value) if isinstance(node, Literal) and isinstance(node.value, str) else part)
    return written(pieces, tidy=True)


def converted(text: str, to: str) -> str:
    findings = Findings()
    document = load(text, findings)
    assert document is not None
    written = convert(document, to, findings)
    assert written is not None, findings.items
    return written


@pytest.mark.parametrize("dialect", ["canonical", "steps", "stages"])
@few(12, derandomize=True, suppress_health_check=list(HealthCheck))
@given(workflow=WORKFLOWS)
def test_generated_workflows_come_back_the_same(dialect: str, workflow: dict[str, Any]) -> None:
    text = dump({"dialect": "canonical", **workflow})
    assert canonical(converted(text, dialect)) == canonical(text)
