"""Definitions: write them, change them, publish versions of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, TypeVar, cast

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, serving
from aslant import triggers as starting
from aslant.bodies import read_body
from aslant.catalog import Increment, WorkflowRecord
from aslant.errors import ConflictError, InvalidTransition, NotFoundError, PreconditionFailed, StepError, ValidationError
from aslant.installation import installed
from functions.api import editing_models, models
from functions.api.problems import InvalidBody, NotOffered
from functions.api.request import (
    Cursor,
    Limit,
    Offset,
    PageNumber,
    PerPage,
    body_of,
    caller_of,
    check_unchanged,
    header,
    paging,
    revision_of,
)
from functions.api.things import etag_of
from functions.api.writing import answer, compiled, document, draft, finding, of_installation, published_document, written_of
from translator import editing
from translator.diagnostics import Severity, TranslatorError

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

Made = TypeVar("Made")
PUBLISHER = "aslant-publish-definition"
_TRIES = 10  # times that a workflow is changed again because somebody else was faster
Version = Annotated[str | None, Query(max_length=100, description="a version; the latest without")]
Raised = Annotated[
    Literal["major", "minor", "patch"], Query(description="what is raised when the definition says no higher version")
]
Dialect = Annotated[str | None, Query(max_length=40, description="the dialect, instead of finding it out")]
DryRun = Annotated[bool, Query(description="only check it")]
Tags = Annotated[str | None, Query(max_length=1000, description="its tags, with commas between them")]
_NO_WORDS = (
    "a description in words is not made into a definition: no language model belongs to the service. Send the definition"
    " itself, in any dialect, or make one of a template: POST /templates/{template_id}/instantiate"
)


@router.post("/workflows", tags=["workflows"], summary="Create a workflow from a definition: YAML or JSON, any dialect")
def create(dialect: Dialect = None, dry_run: DryRun = False, tags: Tags = None) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    text = body_of(router.current_event)
    made, written = written_of(text, dialect, _listed(tags))
    catalog = bootstrap.catalog(settings)
    if dry_run:
        return answer(200, draft(catalog, caller.tenant, caller.user, written), text, made, settings)
    return answer(201, catalog.create(caller.tenant, written, by=caller.user), text, made, settings)


@router.post("/workflows/create", tags=["workflows"], summary="Create one from words: refused, with the reason")
def create_from_words(body: editing_models.Words) -> Response[models.WorkflowView]:
    raise NotOffered(_NO_WORDS)


@router.get("/workflows", tags=["workflows"], summary="Workflows by id")
def all_of_them(
    limit: Limit = 20, next: Cursor = None, per_page: PerPage = None, page: PageNumber = None, offset: Offset = None,
    status: Annotated[str | None, Query(description="draft, published (or active), deprecated or archived")] = None,
    tag: Annotated[str | None, Query()] = None,
    tags: Annotated[str | None, Query(description="all of these, comma-separated")] = None,
    q: Annotated[str | None, Query(max_length=200, description="a part of its id, name or description")] = None,
) -> models.WorkflowPage:
    settings, caller = caller_of(router)
    part = paging(limit, next, per_page, page, offset)
    wanted, marks = {"active": "published"}.get(status or "", status), {*_listed(tags), *([tag] if tag else [])}

    def fits(one: WorkflowRecord) -> bool:
        said = f"{one.id}\n{one.name}\n{one.description}".lower()
        return wanted in (None, one.status) and marks <= set(one.tags) and (q is None or q.lower() in said)

    found, following = bootstrap.catalog(settings).page(
        caller.tenant, limit=part.skip + part.limit, after=part.cursor, wanted=fits
    )
    return models.WorkflowPage(items=[document(one) for one in found[part.skip :]], next=following)


@router.get("/workflows/<workflow_id>", tags=["workflows"], summary="A workflow with its definition")
def show(workflow_id: str, version: Version = None) -> Response[models.WorkflowView | None]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    record = catalog.get(caller.tenant, workflow_id)
    if header(router, "if-none-match") == etag_of(record):
        return Response(status_code=304, headers={"ETag": etag_of(record)})
    definition = catalog.definition(caller.tenant, workflow_id, version)
    return cast(Response[models.WorkflowView | None], answer(200, record, definition.text, compiled(definition), settings))


@router.put("/workflows/<workflow_id>", tags=["workflows"], summary="Give it another definition, as a further version")
def replace(
    workflow_id: str, dialect: Dialect = None, version_increment: Raised = "patch", tags: Tags = None
) -> Response[models.WorkflowView]:
    text = body_of(router.current_event)
    if _is_words(text):
        raise NotOffered(_NO_WORDS)
    return _further(200, workflow_id, text, dialect, version_increment, tags)


@router.post("/workflows/<workflow_id>/versions", tags=["workflows"], summary="The same: a further version of it")
def add_version(
    workflow_id: str, dialect: Dialect = None, version_increment: Raised = "patch", tags: Tags = None
) -> Response[models.WorkflowView]:
    return _further(201, workflow_id, body_of(router.current_event), dialect, version_increment, tags)


@router.patch(
    "/workflows/<workflow_id>", tags=["workflows"], summary="Change parts of it, as a further version",
    description="Steps and fields are given in the canonical spelling; the definition keeps its dialect, not its comments.",
)
def modify(workflow_id: str, body: editing_models.Patch) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)

    def modified(record: WorkflowRecord) -> Response[models.WorkflowView]:
        if body.tags is not None:
            record = catalog.tag(caller.tenant, workflow_id, tuple(body.tags), revision=record.revision)
        definition = catalog.definition(caller.tenant, workflow_id, record.latest)
        if body.changes_nothing:
            return answer(200, record, definition.text, compiled(definition), settings)
        text = editing.edited(definition.text, partial(_change, body), dialect=definition.dialect)
        return further(200, workflow_id, text, definition.dialect, body.version_increment, revision=record.revision)

    return _of_record(workflow_id, modified)


@router.delete("/workflows/<workflow_id>", tags=["workflows"], summary="Archive it; what runs goes on")
def archive(workflow_id: str) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    done = bootstrap.catalog(settings).mark(caller.tenant, workflow_id, "archived", revision=revision_of(router))
    releases = bootstrap.releases(settings)
    with contextlib.suppress(NotFoundError):  # nothing is published, or this call is repeated
        before = releases.get(caller.tenant, workflow_id)
        starting.follow(bootstrap.schedules(settings), serving.subscriptions(settings), caller.tenant, before, None)
        releases.withdraw(caller.tenant, workflow_id)
    return document(done)


@router.post("/workflows/<workflow_id>/validate", tags=["workflows"], summary="Check a version again")
def validate(workflow_id: str, version: Version = None) -> list[models.FindingDocument]:
    settings, caller = caller_of(router)
    made = compiled(bootstrap.catalog(settings).definition(caller.tenant, workflow_id, version))
    return [finding(found) for found in (*made.diagnostics, *of_installation(made, settings, caller.tenant))]


@router.post("/workflows/<workflow_id>/publish", tags=["workflows"], summary="Let new executions take a version")
def publish(workflow_id: str, version: Version = None) -> models.PublishedDocument:
    return _of_record(workflow_id, lambda record: publish_of(record, version))


@router.post("/workflows/<workflow_id>/rollback", tags=["workflows"], summary="Publish an earlier version again")
def rollback(
    workflow_id: str, version: Version = None, body: models.Rollback = models.Rollback()
) -> models.PublishedDocument:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)

    def rolled(record: WorkflowRecord) -> models.PublishedDocument:
        target = version or body.target_version
        if target is None:
            numbers = [one.version for one in catalog.versions(caller.tenant, workflow_id)]  # the newest first
            earlier = numbers[numbers.index(record.published) + 1 :] if record.published in numbers else []
            if not earlier:
                raise NotFoundError(f"{workflow_id} has no version before {record.published or 'the first'}")
            target = earlier[0]
        return publish_of(record, target)

    return _of_record(workflow_id, rolled)


@router.post("/workflows/<workflow_id>/deprecate", tags=["workflows"], summary="Mark it as not to be used any more")
def deprecate(workflow_id: str) -> models.WorkflowDocument:
    settings, caller = caller_of(router)
    done = bootstrap.catalog(settings).mark(caller.tenant, workflow_id, "deprecated", revision=revision_of(router))
    return document(done)


def _further(
    status: int, workflow_id: str, text: str, dialect: str | None, increment: Increment, tags: str | None
) -> Response[models.WorkflowView]:
    return further(status, workflow_id, text, dialect, increment, _listed(tags), revision_of(router))


def further(
    status: int, workflow_id: str, text: str, dialect: str | None, increment: Increment, tags: tuple[str, ...] = (),
    revision: int | None = None,
) -> Response[models.WorkflowView]:
    """Keeps a further version of a workflow."""
    settings, caller = caller_of(router)
    made, written = written_of(text, dialect, tags)
    record = bootstrap.catalog(settings).replace(
        caller.tenant, workflow_id, written, by=caller.user, revision=revision, increment=increment
    )
    return answer(status, record, text, made, settings)


def publish_of(record: WorkflowRecord, version: str | None = None) -> models.PublishedDocument:
    """Publishes a version, or the latest one, of a workflow as somebody has seen it."""
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    if record.status == "archived":
        raise InvalidTransition(f"{record.id} is archived")
    definition = catalog.definition(caller.tenant, record.id, version or record.latest)
    found = of_installation(compiled(definition), settings, caller.tenant)
    if any(each.severity is Severity.ERROR for each in found):
        raise TranslatorError(found)
    bootstrap.functions(settings).invoke(installed(PUBLISHER, settings.name), {
        "tenant": caller.tenant, "workflow": record.id, "version": definition.version, "revision": record.revision,
    })  # fmt: skip
    return published_document(catalog.get(caller.tenant, record.id), found)


def _of_record(workflow_id: str, work: Callable[[WorkflowRecord], Made]) -> Made:
    """What `work` does with a workflow as it is; again when somebody was faster, unless `If-Match` says how it has to be."""
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    for _ in range(_TRIES):
        record = catalog.get(caller.tenant, workflow_id)
        check_unchanged(router, record.revision)
        try:
            return work(record)
        except StepError as error:  # another function's errors are known by their names only
            if type(error).__name__ != PreconditionFailed.__name__ or revision_of(router) is not None:
                raise
    raise ConflictError(f"the workflow {workflow_id} keeps changing")


def _change(body: editing_models.Patch, data: dict[str, Any]) -> None:
    for number, one in enumerate(body.operations):
        try:
            one.apply(data)
        except editing.EditError as error:
            raise InvalidBody([(f"/operations/{number}", str(error))]) from None
    for name in ("name", "description"):
        if (value := getattr(body, name)) is not None:
            data[name] = value


def _listed(tags: str | None) -> tuple[str, ...]:
    return tuple(one.strip() for one in (tags or "").split(",") if one.strip())


def _is_words(text: str) -> bool:
    """Whether a body says in words what is to be changed."""
    if not text.lstrip().startswith("{"):
        return False
    try:
        data = read_body(text)
    except ValidationError:  # what it is, the reader of definitions says
        return False
    return isinstance(data, dict) and "description" in data and data.keys() <= editing_models.Words.model_fields.keys()
