"""Definitions: write them, look at what they compile to, publish versions of them."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import re
from datetime import UTC, datetime
from itertools import islice
from typing import Annotated, Any, Literal
from urllib.parse import quote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, clock, documents, schedules, serving, webhooks
from aslant import triggers as starting
from aslant.catalog import MAX_DEFINITION, Catalog, DefinitionRecord, WorkflowRecord, Written
from aslant.errors import ConflictError, InvalidTransition, NotFoundError, PayloadTooLarge, ValidationError
from aslant.releases import EventFacts, TriggerFacts, WebhookFacts
from functions.api import models
from functions.api.problems import PreconditionFailed
from functions.api.request import Cursor, Limit, body_of, caller_of, header, revision_of
from translator.diagnostics import Diagnostic
from translator.diagram.draw import draw
from translator.pipeline import Compilation, compile_source

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

PUBLISHER = "aslant-publish-definition"
Version = Annotated[str | None, Query(max_length=100, description="a version; the latest without")]
Increment = Annotated[
    Literal["major", "minor", "patch"], Query(description="what is raised when the definition says no higher version")
]
Dialect = Annotated[str | None, Query(max_length=40, description="the dialect, instead of finding it out")]
_IN_A_PATH = re.compile(r"[-._~()'!*:@,;=+&$%<> \[\]{}|^\w]+")  # what the router takes for a part of a path
DryRun = Annotated[bool, Query(description="only check it")]


@router.post("/workflows", tags=["workflows"], summary="Create a workflow from a definition: YAML or JSON, any dialect")
def create(dialect: Dialect = None, dry_run: DryRun = False) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    compiled, written = _written(dialect)
    if dry_run:
        catalog = bootstrap.catalog(settings)
        return _answer(200, _draft(catalog, caller.tenant, caller.user, written), written.text, compiled)
    record = bootstrap.catalog(settings).create(caller.tenant, written, by=caller.user)
    return _answer(201, record, written.text, compiled)


@router.get("/workflows", tags=["workflows"], summary="Workflows by id")
def all_of_them(
    limit: Limit = 20, next: Cursor = None, status: Annotated[str | None, Query()] = None,
    tag: Annotated[str | None, Query()] = None,
) -> models.WorkflowPage:
    settings, caller = caller_of(router)
    found, following = bootstrap.catalog(settings).page(caller.tenant, limit=limit, after=next)
    kept = [one for one in found if (status is None or one.status == status) and (tag is None or tag in one.tags)]
    return models.WorkflowPage(items=[_document(one) for one in kept], next=following)


@router.get("/workflows/<workflow_id>", tags=["workflows"], summary="A workflow with its definition")
def show(workflow_id: str, version: Version = None) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    record = catalog.get(caller.tenant, workflow_id)
    if header(router, "if-none-match") == _etag(record):
        return Response(status_code=304, headers={"ETag": _etag(record)})
    definition = catalog.definition(caller.tenant, workflow_id, version)
    return _answer(200, record, definition.text, _compiled(definition))


@router.put("/workflows/<workflow_id>", tags=["workflows"], summary="Give it another definition, as a further version")
def replace(
    workflow_id: str, dialect: Dialect = None, version_increment: Increment = "patch"
) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    compiled, written = _written(dialect)
    revision = revision_of(router)
    try:
        record = bootstrap.catalog(settings).replace(
            caller.tenant, workflow_id, written, by=caller.user, revision=revision, increment=version_increment
        )
    except ConflictError as error:
        raise (PreconditionFailed(str(error)) if revision is not None else error) from None
    return _answer(200, record, written.text, compiled)


@router.delete("/workflows/<workflow_id>", tags=["workflows"], summary="Archive it; what runs goes on")
def archive(workflow_id: str) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    done = bootstrap.catalog(settings).mark(caller.tenant, workflow_id, "archived", revision=revision_of(router))
    releases = bootstrap.releases(settings)
    with contextlib.suppress(NotFoundError):  # nothing is published, or this call is repeated
        before = releases.get(caller.tenant, workflow_id)
        starting.follow(bootstrap.schedules(settings), serving.subscriptions(settings), caller.tenant, before, None)
        releases.withdraw(caller.tenant, workflow_id)
    return _document(done)


@router.post("/workflows/<workflow_id>/validate", tags=["workflows"], summary="Check a version again")
def validate(workflow_id: str, version: Version = None) -> list[models.FindingDocument]:
    compiled = _of(workflow_id, version)[1]
    return [_finding(found) for found in compiled.diagnostics]


@router.post("/workflows/<workflow_id>/publish", tags=["workflows"], summary="Let new executions take a version")
def publish(workflow_id: str, version: Version = None) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    record = catalog.get(caller.tenant, workflow_id)
    if record.status == "archived":
        raise InvalidTransition(f"{workflow_id} is archived")
    wanted = catalog.definition(caller.tenant, workflow_id, version).version
    bootstrap.functions(settings).invoke(
        PUBLISHER, {"tenant": caller.tenant, "workflow": workflow_id, "version": wanted}
    )
    return _document(catalog.get(caller.tenant, workflow_id))


@router.post("/workflows/<workflow_id>/rollback", tags=["workflows"], summary="Publish an earlier version again")
def rollback(workflow_id: str, version: Version = None) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    record = catalog.get(caller.tenant, workflow_id)
    if version is None:
        numbers = [one.version for one in catalog.versions(caller.tenant, workflow_id)]  # the newest first
        earlier = numbers[numbers.index(record.published) + 1 :] if record.published in numbers else []
        if not earlier:
            raise NotFoundError(f"{workflow_id} has no version before {record.published or 'the first'}")
        version = earlier[0]
    return publish(workflow_id, version)


@router.post("/workflows/<workflow_id>/deprecate", tags=["workflows"], summary="Mark it as not to be used any more")
def deprecate(workflow_id: str) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    done = bootstrap.catalog(settings).mark(caller.tenant, workflow_id, "deprecated", revision=revision_of(router))
    return _document(done)


@router.get("/workflows/<workflow_id>/versions", tags=["workflows"], summary="Its versions, the newest first")
def versions(workflow_id: str) -> list[models.VersionDocument]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    published = catalog.get(caller.tenant, workflow_id).published
    found = catalog.versions(caller.tenant, workflow_id)
    return [_version(one, published) for one in found]


@router.get("/workflows/<workflow_id>/versions/<version>", tags=["workflows"], summary="A version as it was written")
def version(workflow_id: str, version: str) -> Response[str]:
    settings, caller = caller_of(router)
    found = bootstrap.catalog(settings).definition(caller.tenant, workflow_id, version)
    return Response(status_code=200, content_type="text/plain; charset=utf-8", body=found.text)


@router.get("/workflows/<workflow_id>/diff", tags=["workflows"], summary="What two versions differ in")
def diff(
    workflow_id: str, earlier: Annotated[str, Query(alias="from", max_length=100)],
    later: Annotated[str, Query(alias="to", max_length=100)],
) -> Response[str]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    before, after = (
        catalog.definition(caller.tenant, workflow_id, one).text.splitlines(keepends=True) for one in (earlier, later)
    )
    lines = difflib.unified_diff(before, after, f"{workflow_id} {earlier}", f"{workflow_id} {later}")
    return Response(status_code=200, content_type="text/plain; charset=utf-8", body="".join(lines))


@router.get("/workflows/<workflow_id>/asl", tags=["workflows"], summary="The state machine that a version compiles to")
def asl(workflow_id: str, version: Version = None) -> dict[str, Any]:
    return dict(_of(workflow_id, version)[1].definition)


@router.get("/workflows/<workflow_id>/graph", tags=["workflows"], summary="Its steps as a picture")
def graph(
    workflow_id: str, version: Version = None, format: Annotated[Literal["mermaid", "dot", "svg"], Query()] = "mermaid"
) -> Response[str]:
    body = draw(_of(workflow_id, version)[1].workflow, format)
    kind = "image/svg+xml" if format == "svg" else "text/plain; charset=utf-8"
    return Response(status_code=200, content_type=kind, body=body)


@router.get("/workflows/<workflow_id>/estimate", tags=["workflows"], summary="What an execution takes")
def estimate(workflow_id: str, version: Version = None) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(_of(workflow_id, version)[1].estimate)


@router.get("/workflows/<workflow_id>/schema", tags=["workflows"], summary="What its input is, as it declares it")
def schema(workflow_id: str, version: Version = None) -> dict[str, Any]:
    inputs = _of(workflow_id, version)[1].workflow.inputs
    return {"inputs": None if inputs is None else {name: dict(value) for name, value in inputs.items()}}


@router.get("/workflows/<workflow_id>/triggers", tags=["workflows"], summary="What starts the published version by itself")
def triggers(workflow_id: str) -> models.TriggersDocument:
    settings, caller = caller_of(router)
    release = bootstrap.releases(settings).get(caller.tenant, workflow_id)
    now = datetime.fromtimestamp(clock.now(), UTC)

    def schedule(one: TriggerFacts) -> models.ScheduleDocument:
        found = islice(schedules.moments(schedules.read(one["expression"], one["timezone"]), now), 5)
        return models.ScheduleDocument(
            id=one["id"], expression=one["expression"], timezone=one["timezone"], overlap=one["overlap"],
            enabled=one["enabled"], next=[moment.isoformat().replace("+00:00", "Z") for moment in found],
        )

    def webhook(one: WebhookFacts) -> models.WebhookDocument:
        path = webhooks.address(webhooks.Hook(caller.tenant, workflow_id, one["id"]))
        url = f"{settings.public_url.rstrip('/')}/api/v1/hooks/{path}"
        return models.WebhookDocument(
            id=one["id"], url=url, secret=one["secret"], header=one["header"], timestamp=one["timestamp"]
        )

    def event(one: EventFacts) -> models.EventTriggerDocument:
        return models.EventTriggerDocument(
            id=one["id"], events=one["events"], source=one["source"] or None, workflow=one["workflow"] or None,
            filter=one["filter"], conditional=one["where"] is not None,
        )

    return models.TriggersDocument(
        schedules=[schedule(one) for one in release.get("triggers", ())],
        webhooks=[webhook(one) for one in release.get("webhooks", ())],
        events=[event(one) for one in release.get("events", ())],
    )


def _written(dialect: str | None) -> tuple[Compilation, Written]:
    """The definition that a request's body is. Raises TranslatorError with all findings."""
    text = body_of(router.current_event)
    if not text.strip():
        raise ValidationError("send a definition as the body: YAML or JSON")
    if len(text.encode()) > MAX_DEFINITION:
        raise PayloadTooLarge(f"a definition has {MAX_DEFINITION:,} bytes at most")
    compiled = compile_source(text, dialect=dialect)
    workflow = compiled.workflow
    if not _IN_A_PATH.fullmatch(workflow.id):
        raise ValidationError(f"the id {workflow.id!r} cannot stand in an address; give it an `id` without / # ? and the like")
    return compiled, Written(
        workflow.id, workflow.name, workflow.description, workflow.version, text, compiled.dialect,
        hashlib.sha256(text.encode()).hexdigest(),
    )


def _of(workflow_id: str, version: str | None) -> tuple[DefinitionRecord, Compilation]:
    settings, caller = caller_of(router)
    definition = bootstrap.catalog(settings).definition(caller.tenant, workflow_id, version)
    return definition, _compiled(definition)


def _compiled(definition: DefinitionRecord) -> Compilation:
    return compile_source(definition.text, dialect=definition.dialect)


def _draft(catalog: Catalog, tenant: str, user: str, written: Written) -> WorkflowRecord:
    now = catalog.clock()
    return WorkflowRecord(
        tenant, written.id, written.name, "draft", written.version, user, now, now, 0, written.description
    )


def _answer(status: int, record: WorkflowRecord, text: str, compiled: Compilation) -> Response[models.WorkflowView]:
    body = models.WorkflowView(
        **_columns(record), definition=text, dialect=compiled.dialect,
        findings=[_finding(found) for found in compiled.diagnostics],
    )
    headers = {"ETag": _etag(record)}
    if status == 201:
        headers["Location"] = f"/api/v1/workflows/{quote(record.id, safe='')}"
    return Response(status_code=status, content_type="application/json", body=body, headers=headers)


def _etag(record: WorkflowRecord) -> str:
    return json.dumps(str(record.revision))


def _document(record: WorkflowRecord) -> models.WorkflowDocument:
    return models.WorkflowDocument(**_columns(record))


def _columns(record: WorkflowRecord) -> dict[str, Any]:
    return {
        "id": record.id, "name": record.name, "description": record.description, "status": record.status,
        "latest": record.latest, "published": record.published or None, "tags": list(record.tags), "owner": record.owner,
        "created_at": documents.moment(record.created_at), "changed_at": documents.moment(record.changed_at),
        "revision": record.revision,
    }  # fmt: skip


def _version(record: DefinitionRecord, published: str) -> models.VersionDocument:
    return models.VersionDocument(
        workflow=record.workflow, version=record.version, status="published" if record.version == published else "draft",
        created_at=documents.moment(record.created_at) or "", created_by=record.created_by, dialect=record.dialect,
        sha256=record.sha256,
    )


def _finding(found: Diagnostic) -> models.FindingDocument:
    return models.FindingDocument(
        code=found.code, severity=str(found.severity), message=found.message, line=found.position.line,
        column=found.position.column, hint=found.hint,
    )
