"""What a JSON value looks like inside a text, and how large it is."""

from __future__ import annotations

import json
from collections.abc import Callable

from aslant.contracts import Json

MAX_SAFE_INTEGER = 2**53


def render(value: Json) -> str:
    """A value as part of a text: null is empty, a text is itself, everything else is compact JSON (100.0 is `100`)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(_whole(value))


def _whole(value: Json) -> Json:
    """Floats with the digits that they have in an expression's text: 15 significant ones, and no `.0`."""
    if isinstance(value, float):
        value = float(f"{value:.15g}")
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return value


def compact(value: Json) -> str:
    """Compact JSON with keys in their order. Raises ValueError or TypeError for what is not JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def size(value: Json) -> int:
    """Bytes of the value's compact JSON in UTF-8."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


def exact(value: Json) -> Json:
    """The same value with integers beyond 2^53 as texts of their digits: a state machine's numbers would round them.

    From 10^21 on a number is no id any more: what is a double stays one.
    """
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        return value if abs(value) >= 10**21 and _is_double(value) else str(value)
    if isinstance(value, list | tuple):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(item) for key, item in value.items()}
    return value


def _is_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The same value with `change` applied to every text in it, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): map_texts(item, change) for key, item in value.items()}
    return value
