"""Requests for approval, and answers to them."""

from __future__ import annotations

from typing import Annotated

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, documents
from aslant.access import Caller
from aslant.approvals.rules import Decision, Person
from functions.api import models
from functions.api.request import Cursor, Limit, caller_of, revision_of
from functions.api.things import etag_of

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]


def _person(caller: Caller) -> Person:
    return Person(caller.user, caller.email, tuple(sorted(caller.groups)))


@router.get("/approvals", tags=["approvals"], summary="Requests that wait for an answer, the oldest first")
def waiting(
    limit: Limit = 20, next: Cursor = None, mine: Annotated[bool, Query(description="only those the caller may answer")] = False
) -> models.ApprovalPage:
    settings, caller = caller_of(router)
    found, following = bootstrap.approvals(settings).pending(
        caller.tenant, person=_person(caller) if mine else None, limit=limit, after=next
    )
    items = [models.ApprovalDocument.model_validate(documents.approval(one)) for one in found]
    return models.ApprovalPage(items=items, next=following)


@router.get("/approvals/<approval_id>", tags=["approvals"], summary="A request")
def show(approval_id: str) -> Response[models.ApprovalDocument]:
    settings, caller = caller_of(router)
    found = bootstrap.approvals(settings).read(caller.tenant, approval_id)
    body = models.ApprovalDocument.model_validate(documents.approval(found))
    return Response(status_code=200, content_type="application/json", body=body, headers={"ETag": etag_of(found)})


@router.post("/approvals/<approval_id>/approve", tags=["approvals"], summary="Say yes")
def approve(approval_id: str, body: models.Answer = models.Answer()) -> models.Decided:
    return _decide(approval_id, "approve", body)


@router.post("/approvals/<approval_id>/reject", tags=["approvals"], summary="Say no")
def reject(approval_id: str, body: models.Answer = models.Answer()) -> models.Decided:
    return _decide(approval_id, "reject", body)


@router.post("/approvals/<approval_id>/answer", tags=["approvals"], summary="Answer with a text or a choice")
def answer(approval_id: str, body: models.Answer = models.Answer()) -> models.Decided:
    return _decide(approval_id, "answer", body)


def _decide(approval_id: str, decision: Decision, body: models.Answer) -> models.Decided:
    settings, caller = caller_of(router)
    made = bootstrap.approvals(settings).decide(
        caller.tenant, approval_id, decision, by=_person(caller), comment=body.comment, answer=body.answer,
        revision=revision_of(router),
    )  # fmt: skip
    return models.Decided.model_validate(made)
