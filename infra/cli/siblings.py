"""Definitions that others call: found by their id in the folder of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

from infra.cli.errors import UsageError
from infra.cli.files import definitions_in, read
from translator.diagnostics import Diagnostic, Findings
from translator.model.build import build
from translator.model.workflow import Workflow
from translator.passes.triggers import check_awaited
from translator.pipeline import Compilation, Source, canonical_data, compile_sources

MAX_FILES = 500  # of one folder that are looked into


def compile_with_siblings(
    sources: Sequence[Source], dialect: str | None = None, versions: Mapping[str, str] | None = None,
    strategy: str | None = None, now: datetime | None = None,
) -> list[Compilation]:
    """`sources` compiled, one result each in their order, then the definitions of the same folders that they call.

    Only sub-workflows that are called, directly or not, and not among `sources` are looked for. What is not found stays
    missing, with a warning. `versions` and `strategy` count in place of what the definitions say. Raises TranslatorError.
    """
    everything = [*sources, *siblings(sources, dialect)]
    return compile_sources(everything, dialect=dialect, versions=versions, strategy=strategy, now=now)


def siblings(sources: Sequence[Source], dialect: str | None = None) -> list[Source]:
    """The definitions from the folders of `sources` that these call, whatever mistakes there are in either."""
    models = [model for source in sources if (model := _model(source, dialect)) is not None]
    known = {model.id for model in models}
    wanted = [workflow for model in models for workflow in _called(model)]
    found: dict[str, Source] = {}
    candidates: list[tuple[Source, Workflow]] | None = None
    while wanted:
        workflow = wanted.pop()
        if workflow in known or workflow in found:
            continue
        if candidates is None:
            candidates = [*_candidates(sources, dialect)]
        for source, model in candidates:
            if model.id == workflow:
                found[workflow] = source
                wanted += _called(model)
                break
    return [*found.values()]


def awaited(sources: Sequence[Source], dialect: str | None = None) -> tuple[Diagnostic, ...]:
    """Warnings about triggers that wait for the end of a workflow that is neither among `sources` nor in their folders."""
    models = [model for source in sources if (model := _model(source, dialect)) is not None]
    findings = Findings()

    @cache
    def known() -> frozenset[str]:
        return frozenset(model.id for model in (*models, *(model for _, model in _candidates(sources, dialect))))

    for model in models:
        check_awaited(model, known, findings)
    return findings.sorted()


def missing(compilations: Sequence[Compilation]) -> dict[str, Compilation]:
    """Ids of sub-workflows that nobody defines, each with a workflow that calls it."""
    known = {compilation.workflow.id for compilation in compilations}
    return {
        workflow: compilation
        for compilation in compilations
        for workflow in compilation.workflows.values()
        if workflow not in known
    }


def _model(source: Source, dialect: str | None) -> Workflow | None:
    """What a definition says, without its mistakes; None when it cannot be read at all."""
    findings = Findings()
    data = canonical_data(source, findings, dialect=dialect)
    return build(data[1], findings) if data is not None else None


def _called(workflow: Workflow) -> list[str]:
    return [step.workflow for step in workflow.all_steps() if step.type == "workflow" and step.workflow]


def _candidates(sources: Sequence[Source], dialect: str | None) -> Iterator[tuple[Source, Workflow]]:
    given = {Path(source.file).resolve() for source in sources}
    folders = dict.fromkeys(Path(source.file).parent for source in sources if Path(source.file).is_file())
    for folder in folders:
        for file in [*definitions_in(folder, deep=False)][:MAX_FILES]:
            if file.resolve() in given:
                continue
            try:
                source = read(str(file))
            except UsageError:
                continue
            model = _model(source, dialect)
            if model is not None:
                yield source, model
