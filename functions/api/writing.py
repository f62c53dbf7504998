"""Definitions as requests bring them and answers show them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import Response

from aslant import bootstrap, documents, skill_calls
from aslant.catalog import MAX_DEFINITION, Catalog, DefinitionRecord, WorkflowRecord, Written
from aslant.errors import PayloadTooLarge, ValidationError
from aslant.settings import Settings
from functions.api import models
from functions.api.things import etag_of
from translator.diagnostics import Diagnostic, Findings
from translator.passes.check_skills import check_skills
from translator.passes.triggers import check_awaited
from translator.pipeline import Compilation, compile_source

_IN_A_PATH = re.compile(r"[-._~()'!*:@,;=+&$%<> \[\]{}|^\w]+")  # what the router takes for a part of a path


def written_of(text: str, dialect: str | None, tags: Sequence[str] = ()) -> tuple[Compilation, Written]:
    """A definition that somebody sent. Raises TranslatorError with all findings."""
    if not text.strip():
        raise ValidationError("send a definition as the body: YAML or JSON")
    if len(text.encode()) > MAX_DEFINITION:
        raise PayloadTooLarge(f"a definition has {MAX_DEFINITION:,} bytes at most")
    made = compile_source(text, dialect=dialect)
    workflow = made.workflow
    if not _IN_A_PATH.fullmatch(workflow.id):
        raise ValidationError(f"the id {workflow.id!r} cannot stand in an address; give it an `id` without / # ? and the like")
    return made, Written(
        workflow.id, workflow.name, workflow.description, workflow.version, text, made.dialect,
        hashlib.sha256(text.encode()).hexdigest(), tuple(tags) or _tags(workflow.labels),
    )


def _tags(labels: Mapping[str, Any]) -> tuple[str, ...]:
    given = labels.get("tags")
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list | tuple) else ()


def compiled(definition: DefinitionRecord) -> Compilation:
    return compile_source(definition.text, dialect=definition.dialect)


def draft(catalog: Catalog, tenant: str, user: str, written: Written) -> WorkflowRecord:
    now = catalog.clock()
    return WorkflowRecord(
        tenant, written.id, written.name, "draft", written.version, user, now, now, 0, written.description, "",
        written.tags,
    )


def answer(
    status: int, record: WorkflowRecord, text: str, made: Compilation, settings: Settings
) -> Response[models.WorkflowView]:
    """A workflow with its definition and all findings; errors about skills, which may change, only forbid to publish it."""
    body = models.WorkflowView(
        **_columns(record), definition=text, dialect=made.dialect,
        findings=[finding(found) for found in (*made.diagnostics, *of_installation(made, settings, record.tenant))],
    )
    headers = {"ETag": etag_of(record)}
    if status == 201:
        headers["Location"] = f"/api/v1/workflows/{quote(record.id, safe='')}"
    return Response(status_code=status, content_type="application/json", body=body, headers=headers)


def document(record: WorkflowRecord) -> models.WorkflowDocument:
    return models.WorkflowDocument(**_columns(record))


def published_document(record: WorkflowRecord, found: Sequence[Diagnostic]) -> models.PublishedDocument:
    return models.PublishedDocument(**_columns(record), findings=[finding(each) for each in found])


def of_installation(made: Compilation, settings: Settings, tenant: str) -> tuple[Diagnostic, ...]:
    """What is wrong with the skills that a definition calls and the workflows it waits for, as they are now."""
    findings = Findings()
    check_skills(made.workflow, skill_calls.known(settings, tenant), findings, unregistered=True)
    check_awaited(made.workflow, lambda: bootstrap.catalog(settings).published_ids(tenant), findings)
    return findings.sorted()


def _columns(record: WorkflowRecord) -> dict[str, Any]:
    return {
        "id": record.id, "name": record.name, "description": record.description, "status": record.status,
        "latest": record.latest, "published": record.published or None, "tags": list(record.tags), "owner": record.owner,
        "created_at": documents.moment(record.created_at), "changed_at": documents.moment(record.changed_at),
        "revision": record.revision,
    }  # fmt: skip


def version(record: DefinitionRecord, workflow: WorkflowRecord, published: Collection[str]) -> models.VersionDocument:
    """`published` are the versions that were published ever."""
    status: models.VersionStatus = "draft" if record.version not in published else "superseded"
    if record.version == workflow.published:
        status = "published" if workflow.status != "archived" else "archived"
    return models.VersionDocument(
        workflow=record.workflow, version=record.version, status=status,
        created_at=documents.moment(record.created_at) or "", created_by=record.created_by, dialect=record.dialect,
        sha256=record.sha256,
    )


def finding(found: Diagnostic) -> models.FindingDocument:
    return models.FindingDocument(
        code=found.code, severity=str(found.severity), message=found.message, line=found.position.line,
        column=found.position.column, hint=found.hint,
    )
