"""Making definitions of templates and of other workflows, and looking for a better way to run one."""

from __future__ import annotations

import json
from dataclasses import replace as changed
from typing import Annotated, Any
from urllib.parse import quote

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter
from pydantic import ValidationError as PydanticError

from aslant import bootstrap, documents, serving
from aslant.errors import ConflictError, NotFoundError, PreconditionFailed, ValidationError
from aslant.inputs import declaration, prepare
from aslant.templates import TemplateRecord
from functions.api import editing_models, models
from functions.api.problems import InvalidBody
from functions.api.request import caller_of, check_unchanged, revision_of
from functions.api.things import etag_of
from functions.api.writing import answer, draft, written_of
from translator.comparison import compare
from translator.dialects.canonical.schema import Input
from translator.dialects.convert import dump
from translator.instantiation import filled, places
from translator.pipeline import Source, compile_sources

Json = Any
router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]


@router.get("/templates", tags=["authoring"], summary="Templates by id")
def all_of_them(
    category: Annotated[str | None, Query(max_length=100)] = None, q: Annotated[str | None, Query(max_length=200)] = None
) -> list[editing_models.TemplateSummary]:
    settings, caller = caller_of(router)
    found = serving.templates(settings).all(caller.tenant)
    return [
        editing_models.TemplateSummary(**_columns(one)) for one in found
        if category in (None, one.category) and (q or "").lower() in f"{one.id}\n{one.name}\n{one.description}".lower()
    ]


@router.post("/templates", tags=["authoring"], summary="Keep a definition as a template")
def create(body: editing_models.TemplateBody) -> Response[editing_models.TemplateDocument]:
    settings, caller = caller_of(router)
    _check(body)
    now = round(bootstrap.catalog(settings).clock())
    record = TemplateRecord(
        body.id, body.definition, caller.user, now, now, 1, body.name or body.id, body.description, body.category,
        body.parameters,
    )
    serving.templates(settings).write(caller.tenant, None, record)
    return _answer(201, record)


@router.get("/templates/<template_id>", tags=["authoring"], summary="A template")
def show(template_id: str) -> Response[editing_models.TemplateDocument]:
    return _answer(200, _found(template_id))


@router.put("/templates/<template_id>", tags=["authoring"], summary="Write it anew")
def replace(template_id: str, body: editing_models.TemplateBody) -> Response[editing_models.TemplateDocument]:
    settings, caller = caller_of(router)
    before = _unchanged(template_id)
    if body.id != template_id:
        raise ValidationError(f"the template is {template_id}, and stays so; `id` says {body.id}")
    _check(body)
    after = changed(
        before, text=body.definition, name=body.name or body.id, description=body.description, category=body.category,
        parameters=body.parameters, changed_at=round(bootstrap.catalog(settings).clock()), revision=before.revision + 1,
    )  # fmt: skip
    _write(before, after)
    return _answer(200, after)


@router.delete("/templates/<template_id>", tags=["authoring"], summary="Remove it; workflows made of it stay")
def remove(template_id: str) -> Response[None]:
    _write(_unchanged(template_id), None)
    return Response(status_code=204)


@router.post("/templates/<template_id>/instantiate", tags=["authoring"], summary="Make a workflow of it, as a draft")
def instantiate(template_id: str, body: editing_models.Instantiate) -> Response[models.WorkflowView]:
    record = _found(template_id)
    values, wrong = prepare(record.parameters, body.parameters)
    if wrong:
        raise InvalidBody([(f"/parameters{one.pointer}", one.message) for one in wrong])
    named = {"id": body.id, "name": body.name or body.id}
    lacking = sorted(places(record.text) - values.keys())
    if lacking:
        raise InvalidBody([(f"/parameters/{name}", f"{name} is not given, and has no default") for name in lacking])
    return _created(filled(record.text, values, {key: value for key, value in named.items() if value}), body.tags, body.dry_run)


@router.post("/compose", tags=["authoring"], summary="Make a workflow that calls others, as a draft")
def compose(body: editing_models.Compose) -> Response[models.WorkflowView]:
    steps: list[dict[str, Json]] = []
    for part in body.parts:
        before = part.depends_on if part.depends_on is not None else [steps[-1]["id"]] if steps else []
        step: dict[str, Json] = {"id": part.step or part.workflow, "type": "workflow", "workflow": part.workflow}
        step |= {key: value for key, value in (("depends_on", before), ("when", part.when), ("input", part.input)) if value}
        steps.append(step)
    document: dict[str, Json] = {"dialect": "canonical", "id": body.id, "name": body.name or body.id}
    document |= {"description": body.description} if body.description else {}
    document |= {"inputs": body.inputs} if body.inputs is not None else {}
    return _created(dump(document | {"steps": steps}), body.tags, body.dry_run)


@router.post(
    "/optimize", tags=["authoring"], summary="The ways in which a graph can run, with what each takes",
    description="Changes nothing. `settings.strategy` of the definition chooses; without it the compiler has chosen already.",
)
def optimize(body: editing_models.Optimize) -> editing_models.OptimizeDocument:
    settings, caller = caller_of(router)
    if (body.workflow is None) == (body.definition is None):
        raise ValidationError("send a `workflow` or a `definition`")
    dialect: str | None = None
    text = body.definition or ""
    if body.workflow is not None:
        kept = bootstrap.catalog(settings).definition(caller.tenant, body.workflow, body.version)
        text, dialect = kept.text, kept.dialect
    (made,) = compile_sources([Source(text)], dialect=dialect)
    rows = compare([made], lambda strategy: compile_sources([Source(text)], dialect=dialect, strategy=strategy))
    found = [
        editing_models.StrategyFigures(
            strategy=name, makespan=one.makespan, transitions=one.transitions, states=one.states,
            lambda_calls=one.lambda_calls, usd_per_1000=one.usd_per_1000,
        )
        for name, one in rows.get(made.workflow.id, {}).items()
    ]
    best = min(found, key=lambda one: (one.makespan, one.usd_per_1000[1]), default=None)
    return editing_models.OptimizeDocument(
        workflow=made.workflow.id, taken=sorted({one.strategy for one in made.arrangements}),
        best=best.strategy if best is not None else None, strategies=found,
        findings=[f"{one.code} {one.message}" for one in made.diagnostics],
    )


def _created(text: str, tags: list[str], dry_run: bool) -> Response[models.WorkflowView]:
    settings, caller = caller_of(router)
    made, written = written_of(text, None, tags)
    catalog = bootstrap.catalog(settings)
    if dry_run:
        return answer(200, draft(catalog, caller.tenant, caller.user, written), text, made, settings)
    return answer(201, catalog.create(caller.tenant, written, by=caller.user), text, made, settings)


def _check(body: editing_models.TemplateBody) -> None:
    """Raises InvalidInput for places and parameters that do not fit together."""
    wrong: list[tuple[str, str]] = []
    for name, row in body.parameters.items():
        try:
            Input.model_validate(row)
        except PydanticError as error:
            wrong += [(f"/parameters/{name}/" + "/".join(map(str, one["loc"])), str(one["msg"])) for one in error.errors()]
        else:
            wrong += [(f"/parameters/{name}{one.pointer}", one.message) for one in declaration(name, row)]
    found = places(body.definition)
    for name in sorted(found ^ body.parameters.keys()):
        says = "is in the definition, and no parameter" if name in found else "is nowhere in the definition"
        wrong.append((f"/parameters/{name}", f"<<{name}>> {says}"))
    if wrong:
        raise InvalidBody(wrong)


def _found(template_id: str) -> TemplateRecord:
    settings, caller = caller_of(router)
    found = serving.templates(settings).read(caller.tenant, template_id)
    if found is None:
        raise NotFoundError(f"there is no template {template_id}")
    return found


def _unchanged(template_id: str) -> TemplateRecord:
    """A template that is to be changed. Raises PreconditionFailed when `If-Match` asks for another revision."""
    found = _found(template_id)
    check_unchanged(router, found.revision)
    return found


def _write(before: TemplateRecord, after: TemplateRecord | None) -> None:
    settings, caller = caller_of(router)
    try:
        serving.templates(settings).write(caller.tenant, before, after)
    except ConflictError as error:
        raise PreconditionFailed(str(error)) if revision_of(router) is not None else error from None


def _columns(record: TemplateRecord) -> dict[str, Json]:
    return {
        "id": record.id, "name": record.name, "description": record.description, "category": record.category,
        "parameters": json.loads(json.dumps(record.parameters)), "owner": record.owner,
        "created_at": documents.moment(record.created_at), "changed_at": documents.moment(record.changed_at),
        "revision": record.revision,
    }  # fmt: skip


def _answer(status: int, record: TemplateRecord) -> Response[editing_models.TemplateDocument]:
    headers = {"ETag": etag_of(record)}
    if status == 201:
        headers["Location"] = f"/api/v1/templates/{quote(record.id, safe='')}"
    body = editing_models.TemplateDocument(**_columns(record), definition=record.text)
    return Response(status_code=status, content_type="application/json", body=body, headers=headers)
