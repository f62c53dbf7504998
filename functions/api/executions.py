"""Executions: start, look at, control."""

from __future__ import annotations

import contextlib
import time
from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import analytics, bootstrap, completions, documents, serving
from aslant.errors import InvalidTransition, NotFoundError
from aslant.executions.plan import Plan
from aslant.executions.records import Execution
from aslant.executions.states import FINAL
from functions.api import models
from functions.api.figures import figures_of, today
from functions.api.request import Cursor, Limit, Offset, PageNumber, Paging, PerPage, caller_of, key_of, paging, revision_of

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

_WAIT = 25.0   # seconds that a start waits for the end at most; the gateway gives up after 30
_LOOK = 0.25   # seconds between two looks
Status = Annotated[str | None, Query(description="only those with this status")]


def _document(execution: Execution) -> models.ExecutionDocument:
    return models.ExecutionDocument.model_validate(documents.execution(execution))


def _plan(plan: Plan) -> models.PlanDocument:
    return models.PlanDocument.model_validate(documents.plan(plan))


@router.post("/workflows/<workflow_id>/execute", tags=["executions"], summary="Start an execution")
def start(workflow_id: str, body: models.Start = models.Start()) -> Response[models.ExecutionDocument]:
    settings, caller = caller_of(router)
    executions = bootstrap.executions(settings)
    if body.version is not None:
        with contextlib.suppress(NotFoundError):  # it may be published from files
            if bootstrap.catalog(settings).get(caller.tenant, workflow_id).status == "archived":
                raise InvalidTransition(f"{workflow_id} is archived")
    # Keys of callers are apart from those of triggers.
    given = key_of(router)
    key = None if given is None else f"api:{given}"
    asked = {name: body.said(name) for name in ("timeout_seconds", "priority", "webhook_url")}
    options = {name: value for name, value in asked.items() if value is not None}
    if "webhook_url" in options:
        completions.check_secret(bootstrap.secrets(settings), caller.tenant)
    started = executions.start(
        caller.tenant, workflow_id, body.input, user=caller.user, version=body.version, key=key,
        context=body.context, labels=body.labels, trigger={"type": "api"}, options=options,
    )  # fmt: skip
    if not body.said("asynchronous"):
        until = time.monotonic() + _WAIT
        while started.status not in FINAL and started.status != "paused" and time.monotonic() < until:
            time.sleep(_LOOK)
            started = executions.get(caller.tenant, started.id)
    status = 200 if started.status in FINAL else 202
    return Response(
        status_code=status, content_type="application/json", body=_document(started),
        headers={"Location": f"/api/v1/executions/{started.id}"},
    )


@router.get("/workflows/<workflow_id>/executions", tags=["executions"], summary="Executions of a workflow, and their figures")
def of_workflow(
    workflow_id: str, limit: Limit = 20, next: Cursor = None, per_page: PerPage = None, page: PageNumber = None,
    offset: Offset = None, status: Status = None,
) -> models.WorkflowExecutionPage:
    settings, caller = caller_of(router)
    part = paging(limit, next, per_page, page, offset)
    found = _page(part, status, workflow_id)
    figures = None
    if part.cursor is None and not part.skip:  # the first page tells how the last days were
        rows = serving.stats(settings).days(caller.tenant, workflow_id, *analytics.period(None, None, today()))
        figures = models.Figures(**figures_of(analytics.summary(counts for _, counts in rows)))
    return models.WorkflowExecutionPage(items=found.items, next=found.next, figures=figures)


@router.get("/executions", tags=["executions"], summary="Executions, the newest first")
def all_of_them(
    limit: Limit = 20, next: Cursor = None, per_page: PerPage = None, page: PageNumber = None, offset: Offset = None,
    status: Status = None, workflow: Annotated[str | None, Query()] = None,
) -> models.ExecutionPage:
    return _page(paging(limit, next, per_page, page, offset), status, workflow)


def _page(part: Paging, status: str | None, workflow: str | None) -> models.ExecutionPage:
    settings, caller = caller_of(router)
    cursor, skip = part.cursor, part.skip
    executions = bootstrap.executions(settings)
    while skip:
        before = executions.list(caller.tenant, workflow=workflow, status=status, limit=skip, cursor=cursor)
        if (cursor := before.next) is None:
            return models.ExecutionPage(items=[], next=None)
        skip -= len(before.items)
    page = executions.list(caller.tenant, workflow=workflow, status=status, limit=part.limit, cursor=cursor)
    return models.ExecutionPage(items=[_document(one) for one in page.items], next=page.next)


@router.get("/executions/<execution_id>", tags=["executions"], summary="An execution with its steps, cost and output")
def show(execution_id: str) -> Response[models.ExecutionView]:
    found, revision = _view(execution_id)
    # It tells two states of the execution apart, for changes of it. Its steps go on meanwhile, so nothing is answered by 304.
    headers = {"ETag": f'"{revision}"', "Cache-Control": "no-cache"}
    return Response(status_code=200, content_type="application/json", body=found, headers=headers)


def _view(execution_id: str) -> tuple[models.ExecutionView, int]:
    settings, caller = caller_of(router)
    view = bootstrap.views(settings).view(caller.tenant, execution_id)
    store, done = bootstrap.execution_store(settings), view.execution.status == "completed"
    return models.ExecutionView.model_validate(documents.view(view) | {
        "input": store.input(caller.tenant, execution_id)["input"],
        "output": store.output(caller.tenant, execution_id) if done else None,
    }), view.execution.revision  # fmt: skip


@router.get("/workflows/executions/<execution_id>", tags=["executions"], summary="The same, by another path")
def show_by_path(execution_id: str) -> Response[models.ExecutionView]:
    return show(execution_id)


@router.get("/workflows/<workflow_id>/executions/<execution_id>", tags=["executions"], summary="One of a workflow's executions")
def show_of_workflow(workflow_id: str, execution_id: str) -> models.ExecutionView:
    found, _ = _view(execution_id)
    if found.workflow != workflow_id:
        raise NotFoundError("there is no such execution")
    return found


@router.get("/executions/<execution_id>/timeline", tags=["executions"], summary="Steps in the order of their start")
def timeline(execution_id: str) -> list[models.StepDocument]:
    settings, caller = caller_of(router)
    view = bootstrap.views(settings).view(caller.tenant, execution_id)
    return [models.StepDocument.model_validate(documents.step(one) | {"steps": []}) for one in view.timeline]


@router.get("/executions/<execution_id>/transitions", tags=["executions"], summary="Every change of the status")
def transitions(execution_id: str) -> list[models.TransitionDocument]:
    settings, caller = caller_of(router)
    found = bootstrap.executions(settings).transitions(caller.tenant, execution_id)
    return [models.TransitionDocument.model_validate(documents.transition(one)) for one in found]


@router.post("/workflows/executions/<execution_id>/pause", tags=["control"], summary="The same, by another path")
@router.post("/executions/<execution_id>/pause", tags=["control"], summary="Stop it until it is resumed")
def pause(execution_id: str, body: models.Reason = models.Reason()) -> models.ExecutionDocument:
    settings, caller = caller_of(router)
    done = bootstrap.executions(settings).pause(
        caller.tenant, execution_id, by=caller.user, reason=body.reason, revision=revision_of(router)
    )
    return _document(done)


@router.post("/workflows/executions/<execution_id>/cancel", tags=["control"], summary="The same, by another path")
@router.post("/executions/<execution_id>/cancel", tags=["control"], summary="End it, with its children and approvals")
def cancel(execution_id: str, body: models.Cancel = models.Cancel()) -> models.ExecutionDocument:
    settings, caller = caller_of(router)
    done = bootstrap.executions(settings).cancel(
        caller.tenant, execution_id, by=caller.user, reason=body.reason, compensate=body.compensate,
        revision=revision_of(router),
    )  # fmt: skip
    return _document(done)


@router.post("/workflows/executions/<execution_id>/resume", tags=["control"], summary="The same, by another path")
@router.post("/executions/<execution_id>/resume", tags=["control"], summary="Go on with a paused one")
def resume(execution_id: str, body: models.Again = models.Again()) -> models.ExecutionDocument | models.PlanDocument:
    return _again(execution_id, "resume", body)


@router.post("/workflows/executions/<execution_id>/retry", tags=["control"], summary="The same, by another path")
@router.post("/executions/<execution_id>/retry", tags=["control"], summary="Go on with one that has failed or was ended")
def retry(execution_id: str, body: models.Again = models.Again()) -> models.ExecutionDocument | models.PlanDocument:
    return _again(execution_id, "retry", body)


def _again(
    execution_id: str, what: str, body: models.Again
) -> models.ExecutionDocument | models.PlanDocument:
    settings, caller = caller_of(router)
    executions = bootstrap.executions(settings)
    if body.dry_run:
        return _plan(executions.plan(caller.tenant, execution_id, what, version=body.version))
    act = executions.resume if what == "resume" else executions.retry
    return _document(act(
        caller.tenant, execution_id, by=caller.user, version=body.version, revision=revision_of(router)
    ))


@router.post("/executions/<execution_id>/rerun", tags=["control"], summary="Run a step and what depends on it again")
def rerun(execution_id: str, body: models.Rerun) -> models.ExecutionDocument | models.PlanDocument:
    settings, caller = caller_of(router)
    executions = bootstrap.executions(settings)
    if body.dry_run:
        return _plan(executions.plan(caller.tenant, execution_id, "rerun", step=body.step, version=body.version))
    return _document(executions.rerun(
        caller.tenant, execution_id, body.step, by=caller.user, version=body.version, revision=revision_of(router)
    ))


@router.post("/workflows/executions/<execution_id>/rollback", tags=["control"], summary="The same, by another path")
@router.post("/executions/<execution_id>/rollback", tags=["control"], summary="Undo what has completed")
def rollback(execution_id: str) -> models.ExecutionDocument:
    settings, caller = caller_of(router)
    done = bootstrap.executions(settings).rollback(
        caller.tenant, execution_id, by=caller.user, revision=revision_of(router)
    )
    return _document(done)


@router.get("/executions/<execution_id>/checkpoints", tags=["checkpoints"], summary="Its checkpoints")
def checkpoints(execution_id: str) -> list[models.CheckpointDocument]:
    settings, caller = caller_of(router)
    found = bootstrap.executions(settings).checkpoints(caller.tenant, execution_id)
    return [models.CheckpointDocument.model_validate(documents.checkpoint(one)) for one in found]


@router.post("/executions/<execution_id>/checkpoints", tags=["checkpoints"], summary="Take one now")
def checkpoint(execution_id: str, body: models.Label = models.Label()) -> models.CheckpointDocument:
    settings, caller = caller_of(router)
    taken = bootstrap.executions(settings).checkpoint(
        caller.tenant, execution_id, by=caller.user, label=body.label
    )
    return models.CheckpointDocument.model_validate(documents.checkpoint(taken))


@router.get("/executions/<execution_id>/checkpoints/<number>", tags=["checkpoints"], summary="One of them")
def read_checkpoint(execution_id: str, number: int) -> models.CheckpointDocument:
    settings, caller = caller_of(router)
    found = bootstrap.executions(settings).read_checkpoint(caller.tenant, execution_id, number)
    return models.CheckpointDocument.model_validate(documents.checkpoint(found))


@router.post("/executions/<execution_id>/checkpoints/<number>/restore", tags=["checkpoints"], summary="Go on from it")
def restore(execution_id: str, number: int) -> models.ExecutionDocument:
    settings, caller = caller_of(router)
    if number > 10**8:
        raise NotFoundError("there is no such checkpoint")
    done = bootstrap.executions(settings).restore(
        caller.tenant, execution_id, number, by=caller.user, revision=revision_of(router)
    )
    return _document(done)


@router.delete("/executions/<execution_id>/checkpoints/<number>", tags=["checkpoints"], summary="Remove it")
def delete_checkpoint(execution_id: str, number: int) -> Response[None]:
    settings, caller = caller_of(router)
    bootstrap.executions(settings).delete_checkpoint(caller.tenant, execution_id, number)
    return Response(status_code=204)
