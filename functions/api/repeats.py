"""`Idempotency-Key` on every POST: the same request again gives the first one's answer, for a day.

Starts have their own way: their key makes the execution's id, for as long as that is kept.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware

from aslant import clock, serving
from aslant.access import Caller
from aslant.errors import ConflictError, ValidationError
from aslant.settings import Settings

_KEEP = 86_400    # seconds
_LEASE = 60       # seconds after which a request without an answer may be made again
_LONGEST = 300_000  # bytes of an answer that is kept; a longer one is made anew
_OWN_WAY = "/workflows/{workflow_id}/execute"


def repeated(router: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Answers a POST with a key that was answered before as it was then. Raises ConflictError for another request."""
    event, caller = router.current_event, router.context.get("caller")
    key = event.headers.get("idempotency-key")
    path = str(router.context["_route"].openapi_path)
    if key is None or caller is None or event.http_method != "POST" or path.endswith(_OWN_WAY):
        return next_middleware(router)
    if not (0 < len(key) <= 200 and key.isprintable()):
        raise ValidationError("an Idempotency-Key has 1 to 200 printable characters")
    return _once(router, next_middleware, router.context["settings"], caller, key)


def _once(
    router: APIGatewayHttpResolver, next_middleware: NextMiddleware, settings: Settings, caller: Caller, key: str
) -> Response[Any]:
    event, repeats = router.current_event, serving.repeats(settings)
    digest = _hash([caller.user, event.path, key])
    asked = _hash([event.body or "", sorted((event.query_string_parameters or {}).items())])
    found = repeats.begin(caller.tenant, digest, asked, now=int(clock.now()), lease=_LEASE, keep=_KEEP)
    if found is not None and found.asked != asked:
        raise ConflictError("this Idempotency-Key came with another request already")
    if found is not None and found.answer is None:
        raise ConflictError("the first request with this Idempotency-Key is still being worked on", retry_after=1)
    if found is not None and found.answer is not None:
        answer = json.loads(found.answer)
        return Response(answer["status"], answer["type"], answer["body"], answer["headers"] | {"Idempotent-Replayed": "true"})
    try:
        response = next_middleware(router)
    except Exception:
        repeats.forget(caller.tenant, digest)
        raise
    text = json.dumps({
        "status": response.status_code, "type": response.content_type, "body": _body(response), "headers": response.headers,
    })  # fmt: skip
    if response.status_code < 300 and len(text.encode()) <= _LONGEST:
        repeats.finish(caller.tenant, digest, text)
    else:
        repeats.forget(caller.tenant, digest)
    return response


def _body(response: Response[Any]) -> str | None:
    body = response.body
    return body if body is None or isinstance(body, str) else json.dumps(body)


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
