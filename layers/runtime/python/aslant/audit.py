"""Who changed what by the API: a record that is written before the change, and completed after it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from aslant.errors import ValidationError

Json = Any
KEEP = 400 * 86_400  # seconds that a record is kept
_MONTHS = 14         # that a list goes back
_LONGEST = 300       # characters of a cursor


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """`at` is epoch milliseconds, `about` the ids in the path. `status` is that of the answer; 0 where none was given.

    `before` and `after` are hashes of the thing that the path names, empty where there is none.
    """

    id: str
    at: int
    user: str
    roles: tuple[str, ...]
    action: str  # the method and the route
    about: dict[str, str]
    status: int = 0
    before: str = ""
    after: str = ""
    detail: str = ""  # the code of the problem that was answered


class AuditStore(Protocol):
    def put(self, tenant: str, month: str, record: AuditRecord) -> None:
        """Writes a record, or writes it again."""

    def page(
        self, tenant: str, month: str, *, before: str | None, user: str | None, limit: int
    ) -> Sequence[tuple[str, AuditRecord]]:
        """Records of a month with their places, the newest first, that come after place `before`."""


def month_of(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m}"


def listed(
    store: AuditStore, tenant: str, *, now: int, user: str | None, limit: int, cursor: str | None
) -> tuple[list[AuditRecord], str | None]:
    """A page, the newest first, and the cursor of the next one. `now` is epoch milliseconds. Raises ValidationError."""
    month, before = _place(cursor) if cursor is not None else (month_of(now), None)
    oldest = _months_before(month_of(now), _MONTHS)
    found: list[AuditRecord] = []
    last = ""
    while month >= oldest:
        rows = store.page(tenant, month, before=before, user=user, limit=limit + 1 - len(found))
        for place, record in rows:
            if len(found) == limit:
                return found, _cursor(month, last)
            found.append(record)
            last = place
        month, before = _months_before(month, 1), None
        if len(found) == limit:
            # What is left may be nothing; then the next page is empty.
            return found, _cursor(month, "") if month >= oldest else None
    return found, None


def hash_of(thing: Json) -> str:
    """What tells two states of a thing apart; empty for none."""
    if thing is None:
        return ""
    data = asdict(thing) if is_dataclass(thing) and not isinstance(thing, type) else thing
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode("utf-8", "surrogatepass")).hexdigest()


def _months_before(month: str, number: int) -> str:
    count = int(month[:4]) * 12 + int(month[5:]) - 1 - number
    return f"{count // 12:04d}-{count % 12 + 1:02d}"


def _cursor(month: str, place: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([month, place]).encode()).decode().rstrip("=")


def _place(cursor: str) -> tuple[str, str | None]:
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        month, place = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        datetime.strptime(month, "%Y-%m")
        if len(month) != 7 or not isinstance(place, str):
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise ValidationError("this is no cursor of the audit trail") from None
    return month, place or None
