"""Publishes definitions from files, as `aslant push` and `aslant dev` do: their machines first, then the catalog keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infra.cli.errors import UsageError
from infra.cli.target import TENANT
from translator.pipeline import Compilation, compile_sources

if TYPE_CHECKING:
    from aslant.settings import Settings
    from functions.publish_definition.logic import Published


def publish_files(
    compilations: Sequence[Compilation], settings: Settings, *, by: str, dialect: str | None = None, strategy: str | None = None
) -> list[Published]:
    """Raises MissingWorkflow, and UsageError for a version of which somebody has written another draft by the API."""
    from aslant import bootstrap
    from aslant.catalog import Written
    from functions.publish_definition.logic import publish

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        if not versions:
            return list(compilations)
        sources = [one.source for one in compilations]
        return compile_sources(sources, dialect=dialect, versions=versions, strategy=strategy)

    catalog, found = bootstrap.catalog(settings), []
    for compiled in compilations:
        workflow, text = compiled.workflow, compiled.source.text
        text = text if isinstance(text, str) else text.decode()
        found.append(Written(
            workflow.id, workflow.name, workflow.description, workflow.version, text, compiled.dialect,
            hashlib.sha256(text.encode()).hexdigest(),
        ))  # fmt: skip
        if catalog.is_other_draft(TENANT, found[-1], bootstrap.releases(settings)):
            raise UsageError(f"{workflow.id} {workflow.version} is a draft of something else in the catalog; raise the version")
    published = publish(compile, settings, TENANT, role="local")
    versions = {one.workflow: one.version for one in published}
    for written in found:
        catalog.adopt(TENANT, written, versions[written.id], by=by)
    return published
