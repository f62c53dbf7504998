"""Publishing what the catalog has: the definition of a version, together with those of the workflows that it calls."""

from __future__ import annotations

from collections.abc import Mapping

from aslant.catalog import Catalog, Written
from aslant.errors import NotFoundError, ValidationError
from aslant.settings import Settings
from functions.publish_definition.logic import Published, publish
from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, MissingWorkflow, Source, compile_sources


def publish_stored(settings: Settings, catalog: Catalog, tenant: str, workflow: str, version: str) -> Published:
    """Publishes a version. Workflows that it calls are those that are published already."""
    definition = catalog.definition(tenant, workflow, version)
    source = Source(definition.text, f"{workflow} {version}")

    def compile(versions: Mapping[str, str]) -> list[Compilation]:
        return compile_sources([source], dialect=definition.dialect, versions=versions)

    try:
        (published,) = publish(compile, settings, tenant, role=settings.machine_role, versions={workflow: version})
    except TranslatorError as error:
        raise ValidationError("; ".join(found.message for found in error.diagnostics[:5])) from None
    except MissingWorkflow as error:
        raise NotFoundError(f"{error.caller} calls the workflow {error.workflow}, which is not published") from None
    if published.version == version:
        catalog.mark(tenant, workflow, "published", published=version)
    else:  # that version was published with other contents: what runs now is one of its own
        record = catalog.get(tenant, workflow)
        written = Written(
            workflow, record.name, record.description, version, definition.text, definition.dialect, definition.sha256,
            record.tags,
        )  # fmt: skip
        catalog.adopt(tenant, written, published.version, by=definition.created_by)
    return published
