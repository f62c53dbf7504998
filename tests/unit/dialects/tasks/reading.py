"""What the tests of the tasks, agents and graph dialects share: reading a definition and looking at the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from translator.diagnostics import Diagnostic, Findings, Severity
from translator.dialects.registry import read
from translator.source import load, plain

Data = dict[str, Any]


def lowered(text: str, dialect: str = "") -> tuple[Data, list[Diagnostic]]:
    """The canonical data of a definition that has no errors, and its findings in the order of the source."""
    data, found = attempted(text, dialect)
    assert data is not None, found
    assert not [each for each in found if each.severity is Severity.ERROR], found
    return data, found


def attempted(text: str, dialect: str = "") -> tuple[Data | None, list[Diagnostic]]:
    """The same for a definition that may have errors."""
    findings = Findings()
    document = load(text, findings)
    if document is None:
        return None, list(findings.sorted())
    result = read(document, findings)
    if result is None:
        return None, list(findings.sorted())
    assert not dialect or result[0].name == dialect
    return plain(result[1]), list(findings.sorted())


def steps(data: Data) -> dict[str, Data]:
    """The steps of a workflow by id."""
    return {step["id"]: step for step in data["steps"]}


def places(found: list[Diagnostic]) -> list[tuple[str, int, int]]:
    """(code, line, column) of each finding."""
    return [(each.code, each.position.line, each.position.column) for each in found]


def data_file(test: str, name: str) -> str:
    """A definition beside a test module."""
    return (Path(test).parent / "data" / name).read_text("utf-8")
