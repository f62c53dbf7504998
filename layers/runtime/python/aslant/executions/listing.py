"""Pages of executions: the newest first, by start and id, each seen exactly once.

A cursor is a place in that order, bound to tenant and filters. It is no secret: whoever makes one up only gets to another
place in the same list.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from typing import Any

from aslant.errors import ValidationError
from aslant.executions.records import Page
from aslant.executions.states import STATUSES
from aslant.executions.store import ExecutionStore

MAX_LIMIT = 1000
_LONGEST = 4096  # characters of a cursor


def listed(
    store: ExecutionStore, tenant: str, *, workflow: str | None, status: str | None, limit: Any, cursor: Any
) -> Page:
    """A page, full unless it is the last. Raises ValidationError for a limit, status or cursor that is none."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise ValidationError(f"limit is a number from 1 to {MAX_LIMIT:,}")
    if status is not None and status not in STATUSES:
        raise ValidationError(f"a status is one of {', '.join(STATUSES)}")
    bound = _bound(tenant, workflow, status)
    before = None if cursor is None else _place(cursor, bound)
    # One more than asked for says whether there is another page.
    found = store.page(tenant, workflow=workflow, status=status, limit=limit + 1, before=before)
    following = _cursor(found[limit - 1][0], bound) if len(found) > limit else None
    return Page(tuple(execution for _, execution in found[:limit]), following)


def _bound(tenant: str, workflow: str | None, status: str | None) -> str:
    return hashlib.sha256(json.dumps([tenant, workflow, status]).encode()).hexdigest()[:16]


def _cursor(place: str, bound: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([bound, place]).encode()).decode().rstrip("=")


def _place(cursor: Any, bound: str) -> str:
    try:
        if not isinstance(cursor, str) or len(cursor) > _LONGEST:
            raise ValueError
        data = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        made_for, place = data
        if not isinstance(place, str) or not place or len(place) > _LONGEST:
            raise ValueError
        place.encode()
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise ValidationError("this is no cursor of a list of executions") from None
    if made_for != bound:
        raise ValidationError("this cursor belongs to another list: the filters must stay the same from page to page")
    return place
