"""What a JSON value looks like inside a text, and how large it is."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

from aslant.contracts import Json

MAX_SAFE_INTEGER = 2**53
MAX_DEPTH = 200  # levels of lists and objects: a multiple of what inputs may have, and far from where recursion ends

_SURROGATE = re.compile("[\ud800-\udfff]")


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


def read_json(text: str | bytes | bytearray) -> Json:
    """What a JSON text says. Raises ValueError for what is none, or is beyond what JSON's other readers take: more than
    `MAX_DEPTH` levels, NaN, infinities, numbers such as 1e400.
    """
    try:
        value = json.loads(text, parse_constant=no_constant, parse_float=finite)
    except RecursionError:
        raise ValueError(f"nested more than {MAX_DEPTH} levels deep") from None
    return well_formed(value)


def no_constant(name: str) -> Json:
    """Refuses NaN and infinities, for json.loads."""
    raise ValueError(f"{name} is not JSON")


def finite(text: str) -> float:
    """A number's value. Raises ValueError for one that a double cannot hold."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:40]} is out of range")
    return value


def well_formed(value: Json) -> Json:
    """The same value with halves of surrogate pairs replaced (no UTF-8 can say them).

    Raises ValueError for more than `MAX_DEPTH` levels, for NaN and infinities, and for keys that JSON cannot tell apart.
    """
    return _formed(value, 0, whole_text)


def _formed(value: Json, depth: int, whole: Callable[[str], str]) -> Json:
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value} is not JSON")
    if isinstance(value, list | tuple | dict):
        if depth >= MAX_DEPTH:
            raise ValueError(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            found = {_key(key, whole): _formed(item, depth + 1, whole) for key, item in value.items()}
            if len(found) < len(value):
                raise ValueError("two keys of an object are the same text in JSON, so one of them would be lost")
            return found
        return [_formed(item, depth + 1, whole) for item in value]
    return value


def _key(key: Json, whole: Callable[[str], str]) -> Json:
    """A key as JSON has it: true, false, null and numbers are texts."""
    if isinstance(key, str):
        return whole(key)
    return json.dumps(key) if key is None or isinstance(key, bool | int | float) else key


def whole_text(text: str) -> str:
    """The text with surrogate pairs as their character, and each half of one as U+FFFD."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _no_halves(text: str) -> str:
    whole = whole_text(text)
    if whole.count("\ufffd") > text.count("\ufffd"):
        raise ValueError("a text has half of a surrogate pair in it, which is no character")
    return whole


def compact(value: Json) -> str:
    """Compact JSON with keys in their order. Raises ValueError or TypeError for what is not JSON."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def size(value: Json) -> int:
    """Bytes of the value's compact JSON in UTF-8."""
    return len(compact(value).encode("utf-8", "surrogatepass"))


def exact(value: Json) -> Json:
    """The well-formed value with integers beyond 2^53 as texts of their digits: a state machine's numbers would round them.

    From 10^21 on a number is no id any more: what is a double stays one. Raises ValueError as `well_formed` does, and for
    halves of surrogate pairs.
    """
    return _exact(_formed(value, 0, _no_halves))


def _exact(value: Json) -> Json:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > MAX_SAFE_INTEGER:
        return value if abs(value) >= 10**21 and _is_double(value) else str(value)
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    return value


def _is_double(value: int) -> bool:
    try:
        return int(float(value)) == value
    except OverflowError:
        return False


def map_texts(value: Json, change: Callable[[str], str]) -> Json:
    """The same value with `change` applied to every text in it, keys too. A tuple becomes a list."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list | tuple):
        return [map_texts(item, change) for item in value]
    if isinstance(value, dict):
        return {change(key) if isinstance(key, str) else key: map_texts(item, change) for key, item in value.items()}
    return value
