"""What a route reads of its request beside the arguments."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant.access import Caller
from aslant.bodies import NotJson
from aslant.errors import PreconditionFailed, ValidationError
from aslant.settings import Settings
from translator.nearest import nearest

Limit = Annotated[int, Query(ge=1, le=100, description="how many")]
PerPage = Annotated[int | None, Query(ge=1, le=100, description="another name for `limit`")]
PageNumber = Annotated[int | None, Query(ge=1, description="a page by its number, from 1; `next` reads less")]
Offset = Annotated[int | None, Query(ge=0, description="how many to leave out at the beginning; `next` reads less")]
Cursor = Annotated[str | None, Query(alias="next", max_length=4096, description="`next` of the page before")]


MAX_OFFSET = 1000  # what is left out has to be read


@dataclass(frozen=True, slots=True)
class Paging:
    """A part of a list: after `cursor`, without the first `skip`, at most `limit`."""

    limit: int
    skip: int = 0
    cursor: str | None = None


def paging(
    limit: int, cursor: str | None, per_page: int | None = None, page: int | None = None, offset: int | None = None
) -> Paging:
    """What the parameters of a list ask for. Raises ValidationError for several places at once, and for one too far."""
    limit = per_page or limit
    if sum(one is not None for one in (cursor, page, offset)) > 1:
        raise BadParameter("`next`, `page` and `offset` each say where a page begins; send one of them")
    skip = offset if offset is not None else (page - 1) * limit if page is not None else 0
    if skip > MAX_OFFSET:
        raise BadParameter(f"a page begins at {MAX_OFFSET:,} at most; go on with `next` of the page before instead")
    return Paging(limit, skip, cursor)


def check_query(given: Iterable[str], known: Collection[str]) -> None:
    """Raises BadParameter for parameters that a route does not have."""
    for name in given:
        if name not in known:
            close = nearest(name, known)
            meant = f"; did you mean {close}?" if close else f"; it has {', '.join(sorted(known)) or 'none'}"
            raise BadParameter(f"there is no parameter {name!r} here{meant}")


class BadParameter(ValidationError):
    """A query parameter that a route does not have, or several that do not go together."""


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


def tags_of(given: str) -> frozenset[str] | None:
    """The ETags that an `If-Match` names; None for any. Raises ValidationError."""
    if given.strip() == "*":
        return None
    tags = [re.fullmatch(r'(?:W/)?("[0-9a-f]{1,64}")', one.strip()) for one in given.split(",")]
    if not all(tags):
        raise ValidationError('If-Match takes an ETag as it was given, like "3", or *')
    return frozenset(tag[1] for tag in tags if tag)


def revision_of(router: APIGatewayHttpRouter) -> int | None:
    """The revision that `If-Match` asks for, which the thing had just now; None when it asks for none."""
    seen = router.context.get("seen")
    return None if seen is None else int(seen["revision"] if isinstance(seen, Mapping) else seen.revision)


def check_unchanged(router: APIGatewayHttpRouter, revision: int) -> None:
    """Raises PreconditionFailed when `If-Match` asks for another revision than there is by now."""
    if revision_of(router) not in (None, revision):
        raise PreconditionFailed(f"it has changed meanwhile: its revision is {revision}")


def body_of(event: Any) -> str:
    """A request's body as text. Raises NotJson for what is no UTF-8."""
    body = event.body or ""
    if not event.is_base64_encoded:
        return str(body)
    try:
        return base64.b64decode(body, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise NotJson("the body is no UTF-8 text") from None
