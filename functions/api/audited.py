"""The audit trail of the API: every change that somebody makes, or is refused, and how to read it.

A change whose record cannot be written is not made. Reads leave none, nor do calls of webhooks and answers by signed links,
which have no caller: their executions and approvals say what started or decided them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import audit, clock, documents, serving
from aslant.access import Action, Caller
from aslant.audit import AuditRecord, hash_of
from aslant.errors import StepError
from aslant.settings import Settings
from functions.api import models
from functions.api.problems import status_of
from functions.api.request import Cursor, Limit, caller_of
from functions.api.things import thing_of
from translator.diagnostics import TranslatorError

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]
_LONGEST = 200  # characters of an id that is kept


@router.get("/audit", tags=["service"], summary="Who changed what, the newest first")
def trail(
    limit: Limit = 20, next: Cursor = None, user: Annotated[str | None, Query(max_length=200)] = None
) -> models.AuditPage:
    settings, caller = caller_of(router)
    store, now = serving.audit_store(settings), round(clock.now() * 1000)
    found, following = audit.listed(store, caller.tenant, now=now, user=user, limit=limit, cursor=next)
    return models.AuditPage(items=[_document(one) for one in found], next=following)


def _document(one: AuditRecord) -> models.AuditDocument:
    return models.AuditDocument(
        id=one.id, at=documents.moment(one.at) or "", user=one.user, roles=list(one.roles), action=one.action,
        about=one.about, status=one.status or None, before=one.before or None, after=one.after or None,
        detail=one.detail or None,
    )


def audited(resolver: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Notes a change before and after it is made."""
    caller, action = resolver.context.get("caller"), resolver.context.get("action")
    if caller is None or action in (None, "read", "audit"):
        return next_middleware(resolver)
    settings, look = resolver.context["settings"], _looker(resolver)
    record = replace(_record(resolver, caller), before=hash_of(look()))
    _write(settings, caller, record)
    try:
        response = next_middleware(resolver)
    except Exception as error:
        status = status_of(error) if isinstance(error, StepError) else 422 if isinstance(error, TranslatorError) else 500
        _write(settings, caller, replace(record, status=status, detail=type(error).__name__))
        raise
    after = hash_of(look()) if record.about else ""
    _write(settings, caller, replace(record, status=response.status_code, after=after))
    return response


def refused(resolver: Any, settings: Settings, caller: Caller, action: Action) -> None:
    """Notes a change that somebody may not make."""
    if action != "read":
        _write(settings, caller, replace(_record(resolver, caller), status=403, detail="AuthorizationError"))


def _record(resolver: Any, caller: Caller) -> AuditRecord:
    route = resolver.context["_route"]
    named = set(re.findall(r"\{(\w+)\}", route.openapi_path))  # of the arguments those in the path
    about = {name: str(value)[:_LONGEST] for name, value in resolver.context["_route_args"].items() if name in named}
    return AuditRecord(
        str(uuid.uuid4()), round(clock.now() * 1000), caller.user, tuple(sorted(caller.roles)),
        f"{resolver.current_event.http_method} {route.openapi_path}", about,
    )


def _looker(resolver: APIGatewayHttpResolver) -> Callable[[], Any]:
    """Reads the record of the thing that the path names, if there is one."""
    settings, caller, given = resolver.context["settings"], resolver.context["caller"], resolver.context["_route_args"]

    def look() -> Any:
        started = "workflow_id" in given and resolver.context["action"] == "execute"  # a start changes nothing of it
        return None if started and "execution_id" not in given else thing_of(settings, caller.tenant, given)

    return look


def _write(settings: Settings, caller: Caller, record: AuditRecord) -> None:
    serving.audit_store(settings).put(caller.tenant, audit.month_of(record.at), record)
