"""The events of an execution: a page, or server-sent events; both can wait for the next one."""

from __future__ import annotations

import json
import time
from itertools import islice
from typing import Annotated, Any, Literal

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, clock, serving
from aslant.errors import ValidationError
from aslant.executions.states import FINAL
from functions.api import editing_models, models
from functions.api.request import Limit, caller_of, header

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

SENT = "text/event-stream"
_LOOK = 0.5      # seconds between two looks
_SETTLE = 5_000  # milliseconds after its end in which events of an execution may still come
_RETRY = 1000    # milliseconds after which a browser asks again
_LEVELS = ("INFO", "WARNING", "ERROR")
_MOST_READ = 2000  # events that one request looks at
_LONGEST = 20    # seconds that a request waits; the gateway gives up after 30


@router.get(
    "/workflows/executions/<execution_id>/events", tags=["executions"], summary="The same, by another path",
    responses={200: {"description": "Events", "content": {"application/json": {"model": models.EventPage}}}},
)  # fmt: skip
@router.get(
    "/executions/<execution_id>/events", tags=["executions"], summary="What has happened, in order",
    responses={200: {"description": "Events", "content": {"application/json": {"model": models.EventPage}}}},
    description="`Accept: text/event-stream` gives server-sent events, for which `Last-Event-ID` is a cursor too; 204 says that"
    " there will be no more.",
)  # fmt: skip
def events(
    execution_id: str, limit: Limit = 100,
    after: Annotated[str, Query(max_length=200, description="a cursor; what came after it")] = "",
    wait: Annotated[int, Query(ge=0, le=_LONGEST, description="seconds to wait for something")] = 0,
) -> Response[Any]:
    settings, caller = caller_of(router)
    sent = SENT in (header(router, "accept") or "")
    after = (header(router, "last-event-id") or "") if sent and not after else after
    if len(after) > 200 or not after.isascii():
        raise ValidationError("this is no cursor of events")
    until = time.monotonic() + (wait or (_LONGEST if sent else 0))
    log, executions = serving.event_log(settings), bootstrap.executions(settings)
    while True:
        execution = executions.get(caller.tenant, execution_id)
        over = execution.status in FINAL and clock.now() * 1000 > (execution.finished_at or 0) + _SETTLE
        found = list(islice(log.read(caller.tenant, execution_id, after), limit))
        if found or over or time.monotonic() >= until:
            break
        time.sleep(_LOOK)
    last = found[-1][0] if found else after
    if not sent:
        items = [models.EventItem(cursor=place, event=detail) for place, detail in found]
        page = models.EventPage(items=items, next=last or None, over=over and len(found) < limit)
        return Response(status_code=200, content_type="application/json", body=page.model_dump_json())
    if over and not found:
        return Response(status_code=204)
    return _sent(found)


@router.get(
    "/executions/<execution_id>/logs", tags=["executions"], summary="What has happened, as lines",
    description="What is recorded of it. What its functions print is in their log groups, under this execution's id.",
)  # fmt: skip
def logs(
    execution_id: str, limit: Limit = 100,
    after: Annotated[str, Query(max_length=200, description="a cursor; what came after it")] = "",
    level: Annotated[Literal["INFO", "WARNING", "ERROR"], Query(description="that and what is worse")] = "INFO",
) -> editing_models.LogPage:
    settings, caller = caller_of(router)
    if not after.isascii():
        raise ValidationError("this is no cursor of events")
    execution = bootstrap.executions(settings).get(caller.tenant, execution_id)
    lines: list[editing_models.LogLine] = []
    read, last = 0, after
    for last, detail in serving.event_log(settings).read(caller.tenant, execution_id, after):
        read += 1
        line = _line(last, detail)
        if _LEVELS.index(line.level) >= _LEVELS.index(level):
            lines.append(line)
        if len(lines) == limit or read == _MOST_READ:
            break
    over = execution.status in FINAL and len(lines) < limit and read < _MOST_READ
    return editing_models.LogPage(items=lines, next=last or None, over=over)


def _line(cursor: str, detail: dict[str, Any]) -> editing_models.LogLine:
    payload, kind = detail.get("payload") or {}, str(detail["event_type"])
    step = payload.get("step")
    label = None if step is None else str(step) + "".join(f"[{index}]" for index in payload.get("iteration") or [])
    error = payload.get("error") or {}
    words = [kind.replace("_", " "), label or ""]
    words += [f"(attempt {payload['attempt']})" if (payload.get("attempt") or 1) > 1 else ""]
    words += [f"after {payload['duration_ms'] / 1000:.1f} s" if payload.get("duration_ms") else ""]
    said = f"{error.get('error')}: {error.get('message', '')}".rstrip(": ") if error else str(payload.get("reason") or "")
    text = " ".join(word for word in words if word) + (f": {said}" if said else "")
    level: Literal["INFO", "WARNING", "ERROR"] = "INFO"
    if kind.endswith(("_failed", "_timed_out")):
        level = "ERROR"
    elif kind in ("node_retrying", "sla_breached", "approval_expired", "circuit_opened", "workflow_cancelled"):
        level = "WARNING"
    return editing_models.LogLine(at=detail["timestamp"], level=level, message=text, step=label, cursor=cursor)


def _sent(found: list[tuple[str, dict[str, Any]]]) -> Response[Any]:
    """https://html.spec.whatwg.org/multipage/server-sent-events.html: the browser comes back by itself, with the last id."""
    lines = [f"retry: {_RETRY}\n"]
    for place, detail in found:
        lines.append(f"id: {place}\nevent: {detail['event_type']}\ndata: {json.dumps(detail, ensure_ascii=False)}\n")
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Response(status_code=200, content_type=SENT, body="\n".join(lines) + "\n", headers=dict(headers))
