"""Versions of a workflow, and what they compile to."""

from __future__ import annotations

import difflib
from dataclasses import asdict
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap
from functions.api import editing_models, models, writing
from functions.api.request import caller_of, header
from translator.diagram.draw import draw
from translator.differences import differences
from translator.editing import canonical
from translator.pipeline import Compilation

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

Version = Annotated[str | None, Query(max_length=100, description="a version; the latest without")]


def _made(workflow_id: str, version: str | None) -> Compilation:
    settings, caller = caller_of(router)
    return writing.compiled(bootstrap.catalog(settings).definition(caller.tenant, workflow_id, version))


@router.get("/workflows/<workflow_id>/versions", tags=["workflows"], summary="Its versions, the newest first")
def versions(workflow_id: str) -> list[models.VersionDocument]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    workflow = catalog.get(caller.tenant, workflow_id)
    published = bootstrap.releases(settings).versions(caller.tenant, workflow_id)
    return [writing.version(one, workflow, published) for one in catalog.versions(caller.tenant, workflow_id)]


@router.get("/workflows/<workflow_id>/versions/<version>", tags=["workflows"], summary="A version as it was written")
def version(workflow_id: str, version: str) -> Response[str]:
    settings, caller = caller_of(router)
    found = bootstrap.catalog(settings).definition(caller.tenant, workflow_id, version)
    return Response(status_code=200, content_type="text/plain; charset=utf-8", body=found.text)


@router.get(
    "/workflows/<workflow_id>/diff", tags=["workflows"], summary="What two versions differ in",
    responses={200: {"description": "Differences", "content": {"application/json": {"model": editing_models.DiffDocument}}}},
    description="As lines of the texts, or with `Accept: application/json` (or `format=json`) as changes of what they say.",
)
def diff(
    workflow_id: str, earlier: Annotated[str, Query(alias="from", max_length=100)],
    later: Annotated[str, Query(alias="to", max_length=100)],
    format: Annotated[Literal["text", "json"] | None, Query()] = None,
) -> Response[Any]:
    settings, caller = caller_of(router)
    catalog = bootstrap.catalog(settings)
    before, after = (catalog.definition(caller.tenant, workflow_id, one) for one in (earlier, later))
    if format == "json" or (format is None and "application/json" in (header(router, "accept") or "")):
        old, new = (canonical(one.text, dialect=one.dialect)[1] for one in (before, after))
        document = editing_models.DiffDocument.model_validate({"from": earlier, "to": later, "changes": [
            {"kind": one.kind, "path": list(one.path), "step": one.step or None, "before": one.before, "after": one.after}
            for one in differences(old, new)
        ]})  # fmt: skip
        return Response(status_code=200, content_type="application/json", body=document.model_dump_json(by_alias=True))
    lines = difflib.unified_diff(
        before.text.splitlines(keepends=True), after.text.splitlines(keepends=True), f"{workflow_id} {earlier}",
        f"{workflow_id} {later}",
    )  # fmt: skip
    return Response(status_code=200, content_type="text/plain; charset=utf-8", body="".join(lines))


@router.get("/workflows/<workflow_id>/asl", tags=["workflows"], summary="The state machine that a version compiles to")
def asl(workflow_id: str, version: Version = None) -> dict[str, Any]:
    return dict(_made(workflow_id, version).definition)


@router.get("/workflows/<workflow_id>/graph", tags=["workflows"], summary="Its steps as a picture")
def graph(
    workflow_id: str, version: Version = None, format: Annotated[Literal["mermaid", "dot", "svg"], Query()] = "mermaid"
) -> Response[str]:
    body = draw(_made(workflow_id, version).workflow, format)
    kind = "image/svg+xml" if format == "svg" else "text/plain; charset=utf-8"
    return Response(status_code=200, content_type=kind, body=body)


@router.get("/workflows/<workflow_id>/estimate", tags=["workflows"], summary="What an execution takes")
def estimate(workflow_id: str, version: Version = None) -> dict[str, Any]:
    return asdict(_made(workflow_id, version).estimate)


@router.get("/workflows/<workflow_id>/schema", tags=["workflows"], summary="What its input is, as it declares it")
def schema(workflow_id: str, version: Version = None) -> dict[str, Any]:
    inputs = _made(workflow_id, version).workflow.inputs
    return {"inputs": None if inputs is None else {name: dict(value) for name, value in inputs.items()}}
