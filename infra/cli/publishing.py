"""Publishes definitions from files, as `aslant push` and `aslant dev` do: their machines first, then the catalog keeps them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from infra.cli.siblings import compile_with_siblings, siblings
from infra.cli.target import TENANT
from translator.pipeline import Compilation, Source

if TYPE_CHECKING:
    from aslant.settings import Settings
    from functions.publish_definition.logic import Published


def publish_files(
    sources: Sequence[Source], compilations: Sequence[Compilation], settings: Settings, *, by: str, dialect: str | None = None,
    strategy: str | None = None,
) -> list[Published]:
    """`compilations` are those of `sources` and what they call. Raises MissingWorkflow."""
    from aslant import bootstrap
    from aslant.catalog import Written
    from functions.publish_definition.logic import publish

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        return compile_with_siblings(sources, dialect, versions, strategy) if versions else list(compilations)

    published = publish(compile, settings, TENANT, role="local")
    catalog, versions = bootstrap.catalog(settings), {one.workflow: one.version for one in published}
    for source, compiled in zip([*sources, *siblings(sources, dialect)], compilations, strict=True):
        workflow, text = compiled.workflow, source.text if isinstance(source.text, str) else source.text.decode()
        catalog.adopt(TENANT, Written(
            workflow.id, workflow.name, workflow.description, workflow.version, text, compiled.dialect,
            hashlib.sha256(text.encode()).hexdigest(),
        ), versions[workflow.id], by=by)  # fmt: skip
    return published
