"""What a JSON value looks like inside a text, how large it is, and whether it counts as true."""

from __future__ import annotations

import json
from collections.abc import Callable

from aslant.contracts import Json

FALSE_VALUES = (None, False, 0, "", [], {})


def truthy(value: Json) -> bool:
    """False are null, false, 0, "", [] and {}; everything else is true, "false" and "0" too."""
    return value is not None and value is not False and value not in FALSE_VALUES[2:]


def render(value: Json) -> str:
    """A value as part of a text: null is empty, a text is itself, everything else is compact JSON (100.0 is `100`)."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(_whole(value))


def _whole(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e21:
        return int(value)
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


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The same value with `change` applied to every text in it, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key): map_texts(item, change) for key, item in value.items()}
    return value
