"""What a route reads of its request beside the arguments."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant.access import Caller
from aslant.errors import ValidationError
from aslant.settings import Settings

Limit = Annotated[int, Query(ge=1, le=100, description="how many")]
Cursor = Annotated[str | None, Query(alias="next", max_length=4096, description="`next` of the page before")]


def caller_of(router: APIGatewayHttpRouter) -> tuple[Settings, Caller]:
    """The installation's settings, and who calls."""
    return router.context["settings"], router.context["caller"]


def header(router: APIGatewayHttpRouter, name: str) -> str | None:
    value = router.current_event.headers.get(name)
    return None if value is None else str(value)


def key_of(router: APIGatewayHttpRouter) -> str | None:
    """The Idempotency-Key. Raises ValidationError."""
    key = header(router, "idempotency-key")
    if key is not None and not (0 < len(key) <= 200 and key.isprintable()):
        raise ValidationError("an Idempotency-Key has 1 to 200 printable characters")
    return key


def revision_of(router: APIGatewayHttpRouter) -> int | None:
    """The revision that `If-Match` names (RFC 9110, 13.1.1). Raises ValidationError."""
    given = header(router, "if-match")
    if given is None or given.strip() == "*":
        return None
    if found := re.fullmatch(r'(?:W/)?"(\d{1,12})"', given.strip()):
        return int(found[1])
    raise ValidationError('If-Match takes an ETag as it was given, like "3", or *')


def body_of(event: Any) -> str:
    """A request's body as text. Raises ValidationError for what is no UTF-8."""
    body = event.body or ""
    if not event.is_base64_encoded:
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise ValidationError("the body is no UTF-8 text") from None
