"""The Lambda function behind the WebSocket API: who may follow an execution, and what it has missed.

Connect with `?execution=ID` and a token (`Authorization: Bearer …`, or `?token=…` from a browser). Then send
`{"action": "resume", "cursor": "…"}` for what came before, an empty cursor for all of it; everything after comes by itself.
An event may come twice around that moment: its `event_id` says so. `{"action": "ping"}` is answered.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from aslant import bootstrap, clock, observability, serving
from aslant.callers import authenticated
from aslant.errors import AuthenticationError, AuthorizationError, NotFoundError, StepError
from aslant.event_log import Connection
from aslant.settings import Settings

Json = Any

_LONGEST = 7200  # seconds that API Gateway keeps a connection
_AT_ONCE = 1000  # events that a resume sends; `more` says that there are others


def handler(event: Any, context: Any) -> dict[str, int]:
    """`event` is one of API Gateway's WebSocket APIs; a status other than 200 refuses a connection."""
    observability.listen()
    settings = Settings.read()
    about = event["requestContext"]
    id, route = str(about["connectionId"]), about["routeKey"]
    try:
        if route == "$connect":
            _connect(settings, id, event)
        elif route == "$disconnect":
            serving.connections(settings).remove(id)
        else:
            _message(settings, id, str(event.get("body") or ""))
    except (AuthenticationError, AuthorizationError, NotFoundError) as error:
        return {"statusCode": {AuthenticationError: 401, AuthorizationError: 403}.get(type(error), 404)}
    except StepError as error:
        observability.log("ERROR", str(error), {"connection": id})
        return {"statusCode": 500}
    return {"statusCode": 200}


def _connect(settings: Settings, id: str, event: Any) -> None:
    query = event.get("queryStringParameters") or {}
    headers = {str(name).lower(): str(value) for name, value in (event.get("headers") or {}).items()}
    header = headers.get("authorization") or f"Bearer {query.get('token', '')}"
    caller = authenticated(header, settings)
    execution = bootstrap.executions(settings).get(caller.tenant, str(query.get("execution") or ""))
    caller.require("read", execution.user)
    expires = int(clock.now()) + _LONGEST
    serving.connections(settings).add(Connection(id, caller.tenant, execution.id, caller.user, expires))


def _message(settings: Settings, id: str, body: str) -> None:
    connections, sender = serving.connections(settings), serving.sender(settings)
    connection = connections.get(id)
    if connection is None:
        raise NotFoundError("this connection is not known")
    try:
        message = json.loads(body)
        action, cursor = message.get("action"), message.get("cursor") or ""
    except (ValueError, AttributeError, RecursionError):
        action, cursor = None, ""
    if action == "ping":
        _send(sender, id, {"type": "pong"})
    elif action == "resume" and isinstance(cursor, str) and len(cursor) <= 200:
        found = list(islice(serving.event_log(settings).read(connection.tenant, connection.execution, cursor), _AT_ONCE + 1))
        for place, detail in found[:_AT_ONCE]:
            if not _send(sender, id, {"type": "event", "cursor": place, "event": detail}):
                connections.remove(id)
                return
        last = found[:_AT_ONCE][-1][0] if found else cursor
        _send(sender, id, {"type": "resumed", "cursor": last, "more": len(found) > _AT_ONCE})
    else:
        _send(sender, id, {"type": "error", "detail": 'send {"action": "resume", "cursor": "…"} or {"action": "ping"}'})


def _send(sender: Any, id: str, message: dict[str, Json]) -> bool:
    return bool(sender.send(id, json.dumps(message, ensure_ascii=False).encode()))
