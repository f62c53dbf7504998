"""What JSON values mean in an expression: truth, equality, order, text. The reference for every engine.

Numbers are doubles: integers are exact up to 2^53, and what an operation gives is an integer whenever it is whole.
Text of a number: 15 significant digits below 1e15 (`100.0` is `100`, `0.1 + 0.2` is `0.3`), from there on it is rounded to
a whole number with all the digits that a double has (`9007199254740991`, `1e+21`). The notation is JavaScript's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from aslant.contracts import Json
from aslant.errors import ExpressionError

MAX_SAFE = 2**53
MAX_TEXT = 1_000_000  # characters; a state machine's payload holds 262,144 bytes
MAX_ITEMS = 100_000
SHOWN = 60  # characters of a text in a message

_FIFTEEN_DIGITS = Context(prec=15, rounding=ROUND_HALF_UP)
_EXACT = Context(prec=400)


def type_name(value: Json) -> str:
    """`null`, `boolean`, `number`, `string`, `array` or `object`."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "array" if isinstance(value, list) else "object"


KINDS = {
    "null": "null", "boolean": "true or false", "number": "a number", "string": "a text", "array": "a list",
    "object": "an object",
}


def shown(value: Json) -> str:
    """A value in a message: itself, cut, or what it is when it holds others."""
    if isinstance(value, (list, dict)):
        return KINDS[type_name(value)]
    text = json.dumps(value[:SHOWN] if isinstance(value, str) else value, ensure_ascii=False)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a character cannot be printed
    return f"{text[:-1]}…\"" if isinstance(value, str) and len(value) > SHOWN else text


def is_number(value: Json) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def truth(value: Json) -> bool:
    """False are false, null, 0, "", [] and {}; everything else is true, "false" and "0" too."""
    return bool(value)


def number(value: float) -> int | float:
    """A result as JSON has it. Raises `ExpressionError` for what is no finite number."""
    if isinstance(value, int):
        if -MAX_SAFE <= value <= MAX_SAFE:
            return value
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
    if not math.isfinite(value):
        raise ExpressionError("the result is not a finite number")
    if value.is_integer() and abs(value) <= MAX_SAFE:
        return int(value)
    return value


def same(left: Json, right: Json) -> bool:
    """Typed deep equality: `1 == 1.0`, but `1 != true`. Needs no recursion."""
    stack = [(left, right)]
    while stack:
        a, b = stack.pop()
        if isinstance(a, dict):
            if not isinstance(b, dict) or a.keys() != b.keys():
                return False
            stack.extend((item, b[key]) for key, item in a.items())
        elif isinstance(a, list):
            if not isinstance(b, list) or len(a) != len(b):
                return False
            stack.extend(zip(a, b, strict=True))
        elif isinstance(a, bool) or isinstance(b, bool):
            if a is not b:
                return False
        elif is_number(a) and is_number(b):
            if number(a) != number(b):
                return False
        elif a != b:
            return False
    return True


def order_of(text: str) -> bytes:
    """What texts are ordered by: their UTF-16 units, as in JavaScript."""
    return text.encode("utf-16-be", "surrogatepass")


def weight(value: Json, limit: int) -> int:
    """How many values and characters / 16 there are, every one counted where it stands. Stops counting at the limit."""
    total = 0
    stack = [value]
    while stack and total <= limit:
        here = stack.pop()
        total += 1
        if isinstance(here, str):
            total += len(here) >> 4
        elif isinstance(here, list):
            stack.extend(here if len(here) <= limit else here[:limit + 1])
        elif isinstance(here, dict):
            stack.extend(here.values())
            total += len(here)
    return total


def number_text(value: float) -> str:
    value = number(value)
    if isinstance(value, int):
        return str(value)
    return shortest(value) if abs(value) < 1e15 else digits(round(value))


def shortest(value: float) -> str:
    """A number with at most 15 significant digits."""
    return _notation(_FIFTEEN_DIGITS.create_decimal(Decimal(value)))


def digits(value: int) -> str:
    """A whole number with the fewest digits that tell its double from others; zeros stand for the rest."""
    return str(value) if abs(value) <= MAX_SAFE else _notation(Decimal(repr(float(value))))


def _notation(decimal: Decimal) -> str:
    """As JavaScript writes a number: an exponent from 21 digits on, and below 1e-6."""
    if not decimal:
        return "0"
    sign, figures, exponent = decimal.normalize(_EXACT).as_tuple()
    assert isinstance(exponent, int)
    body = "".join(map(str, figures))
    point = len(body) + exponent  # digits before the decimal point
    if exponent >= 0 and point <= 21:
        body = body.ljust(point, "0")
    elif 0 < point <= 21:
        body = f"{body[:point]}.{body[point:]}"
    elif -6 < point <= 0:
        body = "0." + "0" * -point + body
    else:
        fraction = f".{body[1:]}" if len(body) > 1 else ""
        body = f"{body[0]}{fraction}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return "-" + body if sign else body


def quoted(text: str) -> str:
    """A text as JSON, with characters beyond ASCII as they are."""
    return json.dumps(text, ensure_ascii=False)


def json_text(value: Json, of_number: Callable[[float], str] = number_text) -> str:
    """Compact JSON, keys in their order. Raises `ExpressionError` beyond the limit of a text."""
    if weight(value, MAX_TEXT) > MAX_TEXT:
        raise ExpressionError("the value is too large for a text")
    parts: list[str] = []
    stack: list[Any] = [_Value(value)]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        here = item.value
        if isinstance(here, list):
            stack.append("]")
            for index in range(len(here) - 1, -1, -1):
                stack.append(_Value(here[index]))
                stack.append("," if index else "[")
            if not here:
                stack.append("[")
        elif isinstance(here, dict):
            stack.append("}")
            for index, (key, inner) in reversed(list(enumerate(here.items()))):
                stack.append(_Value(inner))
                stack.append(("," if index else "{") + quoted(key) + ":")
            if not here:
                stack.append("{")
        else:
            parts.append(_scalar(here, of_number))
    return "".join(parts)


class _Value:
    """Tells a value that is still to be written from text that is already JSON."""

    __slots__ = ("value",)

    def __init__(self, value: Json) -> None:
        self.value = value


def _scalar(value: Json, of_number: Callable[[float], str]) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return quoted(value) if isinstance(value, str) else of_number(value)


def text(value: Json) -> str:
    """A value inside of text: null is nothing, a text itself, everything else its JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json_text(value) if isinstance(value, (list, dict)) else _scalar(value, number_text)
