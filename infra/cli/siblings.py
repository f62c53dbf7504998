"""Definitions that others call: found by their id in the folder of the caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from infra.cli.errors import UsageError
from infra.cli.files import definitions_in, read
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, Source, compile_sources

MAX_FILES = 500  # of one folder that are looked into


def compile_with_siblings(sources: Sequence[Source], dialect: str | None = None) -> list[Compilation]:
    """`sources` compiled, one result each in their order, then the definitions of the same folders that they call.

    Only sub-workflows that are called, directly or not, and not among `sources` are looked for. What is not found stays
    missing, with a warning. Raises TranslatorError.
    """
    compilations = compile_sources(sources, dialect=dialect)
    extra = siblings(sources, compilations)
    return compile_sources([*sources, *extra], dialect=dialect) if extra else compilations


def siblings(sources: Sequence[Source], compilations: Sequence[Compilation]) -> list[Source]:
    """The definitions from the folders of `sources` that these call."""
    found: dict[str, Source] = {}
    known = {compilation.workflow.id for compilation in compilations}
    wanted = [*missing(compilations)]
    candidates: list[tuple[Source, Compilation]] | None = None
    while wanted:
        workflow = wanted.pop()
        if workflow in known or workflow in found:
            continue
        if candidates is None:
            candidates = [*_candidates(sources)]
        for source, compiled in candidates:
            if compiled.workflow.id == workflow:
                found[workflow] = source
                wanted += compiled.workflows.values()
                break
    return [*found.values()]


def missing(compilations: Sequence[Compilation]) -> dict[str, Compilation]:
    """Ids of sub-workflows that nobody defines, each with a workflow that calls it."""
    known = {compilation.workflow.id for compilation in compilations}
    return {
        workflow: compilation
        for compilation in compilations
        for workflow in compilation.workflows.values()
        if workflow not in known
    }


def _candidates(sources: Sequence[Source]) -> Iterator[tuple[Source, Compilation]]:
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
            try:
                yield source, compile_sources([source])[0]
            except TranslatorError:
                continue
