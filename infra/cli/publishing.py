"""Publishes definitions from files, as `aslant push` and `aslant dev` do: their machines first, then the catalog keeps them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from functions.publish_definition.logic import digest_of
from infra.cli.target import TENANT
from translator.pipeline import Compilation, compile_sources

if TYPE_CHECKING:
    from aslant.catalog import Written
    from aslant.settings import Settings
    from functions.publish_definition.logic import Published
    from infra.local.home import Home


def publish_files(
    compilations: Sequence[Compilation], settings: Settings, *, by: str, dialect: str | None = None, strategy: str | None = None
) -> list[Published]:
    """Raises MissingWorkflow."""
    from aslant import bootstrap
    from functions.publish_definition.logic import publish

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        if not versions:
            return list(compilations)
        sources = [one.source for one in compilations]
        return compile_sources(sources, dialect=dialect, versions=versions, strategy=strategy)

    catalog, kept = bootstrap.catalog(settings), {one.workflow.id: written_of(one) for one in compilations}
    return publish(
        compile, settings, TENANT, role="local",
        note=lambda workflow, version: catalog.adopting(TENANT, kept[workflow], version, by=by),
    )  # fmt: skip


def note_files(home: Home, compilations: Sequence[Compilation]) -> None:
    """Remembers what the files of published definitions held; see `overtaken`."""
    for one in compilations:
        file = Path(one.source.file)
        if file.is_file():
            home.note_published(file, digest_of(one))


def overtaken(home: Home, compilations: Sequence[Compilation], settings: Settings) -> dict[str, str]:
    """Workflows that a restart leaves as they are, with their published versions (empty for one that is archived).

    Something else was published after the file, which holds the same as then; and files that hold the same and call one of
    those, since they would be bound to it anew.
    """
    from aslant import bootstrap
    from aslant.errors import NotFoundError

    catalog = bootstrap.catalog(settings)
    same = {one.workflow.id: one for one in compilations if home.published_as(Path(one.source.file)) == digest_of(one)}
    versions: dict[str, str] = {}
    kept: set[str] = set()
    for id, one in same.items():
        with contextlib.suppress(NotFoundError):  # nothing is known of it, or of what was published
            known = catalog.get(TENANT, id)
            versions[id] = "" if known.status == "archived" else known.published
            if not versions[id] or catalog.definition(TENANT, id, versions[id]).sha256 != digest_of(one):
                kept.add(id)
    while callers := {id for id in versions if id not in kept and kept.intersection(same[id].workflows.values())}:
        kept |= callers
    return {id: versions[id] for id in same if id in kept}


def text_of(one: Compilation) -> str:
    text = one.source.text
    return text if isinstance(text, str) else text.decode()


def written_of(compiled: Compilation) -> Written:
    """What the catalog keeps of a definition."""
    from aslant.catalog import Written

    workflow = compiled.workflow
    return Written(
        workflow.id, workflow.name, workflow.description, workflow.version, text_of(compiled), compiled.dialect,
        digest_of(compiled),
    )  # fmt: skip
