"""What databases give, as JSON; bounded while it is read."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from aslant.contracts import MAX_PAYLOAD, Json
from aslant.errors import PayloadTooLarge
from aslant.values import MAX_SAFE_INTEGER, compact, exact


def cell(value: Any) -> Json:
    """A value as JSON: binary as base64, moments as ISO 8601 texts, and what a double cannot say as text."""
    if value is None or isinstance(value, bool | str | int):
        return exact(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else {"inf": "Infinity", "-inf": "-Infinity"}.get(str(value), "NaN")
    if isinstance(value, Decimal):
        return decimal(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): cell(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cell(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted((cell(item) for item in value), key=compact)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    return exact(str(value))


def decimal(value: Decimal) -> Json:
    """A number where a double reads back as the same decimal, else its digits."""
    if not value.is_finite():
        return {"NaN": "NaN", "sNaN": "NaN"}.get(str(value), str(value))
    if value == value.to_integral_value() and abs(value) <= MAX_SAFE_INTEGER:
        return int(value)
    near = float(value)
    if abs(near) < float("inf") and Decimal(repr(near)) == value and value != value.to_integral_value():
        return near
    return format(value, "f") if -400 < value.adjusted() < 400 else str(value)


def moment(text: str) -> str:
    """`2026-01-02 03:04:05+00` as ISO 8601; what is no such text stays."""
    if len(text) > 10 and text[4:5] == "-" and text[10:11] == " " and text[:4].isdigit():
        text = text[:10] + "T" + text[11:]
        return text[:-3] + "Z" if text.endswith("+00") else text
    return text


class Rows:
    """Collects rows within bounds."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: list[list[Json]] = []
        self.more = False
        self._size = 0

    def add(self, row: Iterable[Any]) -> bool:
        """Whether there is room for more. Raises PayloadTooLarge beyond what a state may pass on."""
        if len(self.rows) >= self.most:
            self.more = True
            return False
        cells = [cell(value) for value in row]
        self._size += len(compact(cells).encode("utf-8", "surrogatepass"))
        if self._size > MAX_PAYLOAD:
            raise PayloadTooLarge(f"the rows have more than {MAX_PAYLOAD:,} bytes of JSON; ask for fewer rows or columns")
        self.rows.append(cells)
        return True
