"""The same workflow in every dialect: written in the canonical spelling, converted, compiled and run."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import Any

import pytest

from aslant.inputs import prepare
from infra.local.runner import RunResult, run
from translator.diagnostics import Diagnostic, Findings, Severity, TranslatorError
from translator.dialects.convert import convert
from translator.pipeline import Compilation, Source, compile_sources
from translator.source import load

DIALECTS = ("canonical", "steps", "stages", "graph", "tasks", "agents")
in_every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def spelled(text: str, dialect: str) -> str:
    """`text`, in the canonical spelling, as a definition in `dialect`."""
    body = "dialect: canonical\n" + textwrap.dedent(text)
    if dialect == "canonical":
        return body
    findings = Findings()
    document = load(body, findings)
    written = None if document is None else convert(document, dialect, findings)
    assert written is not None, findings.items
    lost = [found for found in findings.items if found.severity in (Severity.ERROR, Severity.UNSUPPORTED)]
    assert not lost, lost
    return written


def compiled(*texts: str, dialect: str = "canonical") -> list[Compilation]:
    return compile_sources([Source(spelled(text, dialect), f"{n}.yaml") for n, text in enumerate(texts)])


def as_written(*texts: str) -> list[Compilation]:
    """Definitions in whichever dialect they are in."""
    return compile_sources([Source(textwrap.dedent(text), f"{n}.yaml") for n, text in enumerate(texts)])


def start(
    compilations: list[Compilation], given: Mapping[str, Any] | None = None, *, time_scale: float = 60, **more: Any
) -> RunResult:
    """Run the first definition with `given`, which must be what its inputs ask for."""
    complete, problems = prepare(compilations[0].workflow.inputs, dict(given or {}))
    assert not problems, problems
    return run(compilations, complete, time_scale=time_scale, timeout=60, **more)


def start_as(dialect: str, *texts: str, given: Mapping[str, Any] | None = None, **more: Any) -> RunResult:
    return start(compiled(*texts, dialect=dialect), given, **more)


def errors_of(*texts: str, whole: bool = False) -> list[Diagnostic]:
    """The errors that keep definitions (canonical ones, unless `whole`) from being compiled."""
    with pytest.raises(TranslatorError) as caught:
        as_written(*texts) if whole else compiled(*texts)
    return [found for found in caught.value.diagnostics if found.severity is Severity.ERROR]


def ran(result: RunResult) -> set[str]:
    return {one.step for one in result.steps if one.status == "completed"}
