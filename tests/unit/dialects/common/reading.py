"""Reading a definition in a test: canonical data, findings by code, and edges in a short form."""

from __future__ import annotations

from typing import Any

from translator.diagnostics import Diagnostic, Findings, Severity
from translator.dialects.registry import read
from translator.source import load, plain


def read_all(text: str) -> tuple[dict[str, Any] | None, tuple[Diagnostic, ...]]:
    findings = Findings()
    document = load(text, findings)
    found = read(document, findings) if document is not None else None
    return (None if found is None else plain(found[1])), findings.sorted()


def canonical(text: str) -> dict[str, Any]:
    """The canonical data of a definition without errors."""
    data, found = read_all(text)
    errors = [diagnostic for diagnostic in found if diagnostic.severity is Severity.ERROR]
    assert not errors, errors
    assert data is not None
    return data


def problems(text: str) -> list[tuple[str, int, int]]:
    """Code, line and column of every finding."""
    return [(diagnostic.code, diagnostic.position.line, diagnostic.position.column) for diagnostic in read_all(text)[1]]


def steps_by_id(data: dict[str, Any], key: str = "steps") -> dict[str, dict[str, Any]]:
    return {step["id"]: step for step in data[key]}


def edges(data: dict[str, Any], key: str = "steps") -> dict[str, list[str]]:
    """`{"b": ["a", "route=true", "late?false"]}`: plain edges, outcomes, and guards."""
    return {step["id"]: [_edge(edge) for edge in step.get("depends_on", [])] for step in data[key]}


def _edge(edge: Any) -> str:
    if isinstance(edge, str):
        return edge
    return str(edge["step"]) + ("=" + "|".join(edge["on"]) if "on" in edge else "") + (
        "?" + edge["when"] if "when" in edge else "")
