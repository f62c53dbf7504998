"""Publishing what the catalog has: the definition of a version, together with those of the workflows that it calls."""

from __future__ import annotations

from collections.abc import Mapping

from aslant.catalog import Catalog, Change, Written
from aslant.errors import NotFoundError, ValidationError
from aslant.settings import Settings
from functions.publish_definition.logic import Published, publish
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, MissingWorkflow, Source, compile_sources


def publish_stored(
    settings: Settings, catalog: Catalog, tenant: str, workflow: str, version: str, revision: int | None = None
) -> Published:
    """Publishes a version. Workflows that it calls are those that are published already.

    Raises PreconditionFailed when the workflow's record has another `revision` by now.
    """
    definition = catalog.definition(tenant, workflow, version)
    source = Source(definition.text, f"{workflow} {version}")

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        return compile_sources([source], dialect=definition.dialect, versions=versions)

    def note(workflow: str, taken: str) -> Change:
        if taken == version:
            return catalog.publishing(tenant, workflow, version, revision=revision)
        # That version was published with other contents: what runs now is one of its own.
        record = catalog.get(tenant, workflow)
        written = Written(
            workflow, record.name, record.description, version, definition.text, definition.dialect, definition.sha256,
            record.tags,
        )  # fmt: skip
        return catalog.adopting(tenant, written, taken, by=definition.created_by, revision=revision)

    try:
        (published,) = publish(
            compile, settings, tenant, role=settings.machine_role, versions={workflow: version}, note=note
        )
    except TranslatorError as error:
        raise ValidationError("; ".join(found.message for found in error.diagnostics[:5])) from None
    except MissingWorkflow as error:
        raise NotFoundError(f"{error.caller} calls the workflow {error.workflow}, which is not published") from None
    return published
