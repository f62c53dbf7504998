"""What the listed functions do. Each takes JSON values and gives one; `ExpressionError` for what does not fit."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any

from aslant.contracts import Json
from aslant.errors import ExpressionError
from translator.expressions import values
from translator.expressions.values import (
    KINDS,
    MAX_ITEMS,
    MAX_TEXT,
    is_number,
    same,
    shown,
    type_name,
)

_BLANK = " \t\n\r"


def _need(value: Json, kind: str, function: str) -> Any:
    if type_name(value) != kind:
        raise ExpressionError(f"{function} takes {KINDS[kind]}, not {shown(value)}")
    return value


def _bounded(text: str) -> str:
    if len(text) > MAX_TEXT:
        raise ExpressionError(f"a text of more than {MAX_TEXT:,} characters")
    return text


def _whole(value: Json, function: str) -> int:
    if not is_number(value) or not float(value).is_integer():
        raise ExpressionError(f"{function} takes a whole number, not {values.json_text(value)[:40]}")
    return int(value)


def length(value: Json) -> Json:
    if not isinstance(value, (str, list, dict)):
        raise ExpressionError(f"len takes a text, a list or an object, not {shown(value)}")
    return len(value)


def count(value: Json) -> Json:
    return len(_need(value, "array", "count"))


def to_int(value: Json) -> Json:
    """Cuts off the fraction; a text must hold a number; true is 1."""
    return values.number(math.trunc(to_number(value)))


def to_number(value: Json) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (int, float)):
        return values.number(value)
    if isinstance(value, str):
        try:
            found = json.loads(value.strip(_BLANK).removeprefix("+"))
        except (ValueError, RecursionError):
            found = None
        if is_number(found):
            return values.number(found)
        raise ExpressionError(f"not a number: {value[:40]!r}")
    raise ExpressionError(f"number takes a number or a text, not {shown(value)}")


def contains(holder: Json, item: Json) -> Json:
    if isinstance(holder, list):
        return any(same(item, one) for one in holder)
    if isinstance(holder, str):
        return _need(item, "string", "a search in a text") in holder
    if isinstance(holder, dict):
        return _need(item, "string", "a search for a key") in holder
    raise ExpressionError(f"nothing can be in {shown(holder)}")


def startswith(text: Json, prefix: Json) -> Json:
    return bool(_need(text, "string", "startswith").startswith(_need(prefix, "string", "startswith")))


def endswith(text: Json, suffix: Json) -> Json:
    return bool(_need(text, "string", "endswith").endswith(_need(suffix, "string", "endswith")))


def regex_match(text: Json, pattern: Json) -> Json:
    """Whether the pattern is found anywhere in the text; RE2 syntax, so the time is linear."""
    import re2

    subject = _need(text, "string", "regex_match")
    source = _need(pattern, "string", "regex_match")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 4 << 20
    try:
        return re2.compile(source, options).search(subject) is not None
    except (re2.error, UnicodeError) as error:
        raise ExpressionError(f"not a regular expression of RE2: {source[:60]!r}") from error


def default(value: Json, fallback: Json = None) -> Json:
    return fallback if value is None else value


def upper(text: Json) -> Json:
    return _need(text, "string", "upper").upper()


def lower(text: Json) -> Json:
    return _need(text, "string", "lower").lower()


def trim(text: Json) -> Json:
    """Without blanks, tabs and line breaks at both ends."""
    return _need(text, "string", "trim").strip(_BLANK)


def split(text: Json, separator: Json = " ") -> Json:
    """At each separator; an empty one gives the characters."""
    subject = _need(text, "string", "split")
    mark = _need(separator, "string", "split")
    parts = list(subject) if mark == "" else subject.split(mark)
    return _items(parts)


def join(items: Json, separator: Json = "") -> Json:
    """Items as text with the separator between them."""
    mark = _need(separator, "string", "join")
    return _bounded(mark.join(values.text(item) for item in _need(items, "array", "join")))


def replace(text: Json, old: Json, new: Json) -> Json:
    """Each occurrence of a text, from left to right; an empty `old` is an error."""
    subject = _need(text, "string", "replace")
    gone = _need(old, "string", "replace")
    put = _need(new, "string", "replace")
    if gone == "":
        raise ExpressionError("replace needs a text to look for")
    if len(subject) + subject.count(gone) * (len(put) - len(gone)) > MAX_TEXT:
        raise ExpressionError(f"a text of more than {MAX_TEXT:,} characters")
    return subject.replace(gone, put)


def keys(value: Json) -> Json:
    return list(_need(value, "object", "keys"))


def items_of(value: Json) -> Json:
    return list(_need(value, "object", "values").values())


def _numbers(given: tuple[Json, ...], function: str) -> list[Any]:
    items = given[0] if len(given) == 1 else list(given)
    for item in _need(items, "array", function):
        _need(item, "number", function)
    return [values.number(item) for item in items]


def smallest(*given: Json) -> Json:
    """Of a list of numbers or of several numbers; null of an empty list."""
    found = _numbers(given, "min")
    return min(found) if found else None


def largest(*given: Json) -> Json:
    found = _numbers(given, "max")
    return max(found) if found else None


def total(items: Json) -> Json:
    result: float = 0
    for item in _numbers((items,), "sum"):
        result = values.number(result + item)
    return result


def average(items: Json) -> Json:
    """Null of an empty list."""
    return values.number(total(items) / len(items)) if _need(items, "array", "avg") else None


def absolute(value: Json) -> Json:
    return values.number(abs(_need(value, "number", "abs")))


def rounded(value: Json, digits: Json = 0) -> Json:
    """To `digits` decimals (-15 to 15); halves go to the even neighbour of the number as it is written."""
    number = values.number(_need(value, "number", "round"))
    places = _whole(digits, "round")
    if not -15 <= places <= 15:
        raise ExpressionError("round takes -15 to 15 digits")
    exact = Context(prec=400, rounding=ROUND_HALF_EVEN)
    return values.number(float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-places), context=exact)))


def floor(value: Json) -> Json:
    return values.number(math.floor(_need(value, "number", "floor")))


def ceil(value: Json) -> Json:
    return values.number(math.ceil(_need(value, "number", "ceil")))


def to_json(value: Json) -> Json:
    return values.json_text(value)


def parse_json(text: Json) -> Json:
    def refuse(name: str) -> Json:
        raise ValueError(name)

    try:
        return json.loads(_need(text, "string", "parse_json"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ExpressionError("parse_json was given a text that is not JSON") from error


def number_range(first: Json, stop: Json = None, step: Json = 1) -> Json:
    """Whole numbers from `first` (0) up to, not including, `stop`."""
    start, end, by = (0, first, step) if stop is None else (first, stop, step)
    numbers = (_whole(start, "range"), _whole(end, "range"), _whole(by, "range"))
    if numbers[2] == 0:
        raise ExpressionError("range needs a step other than 0")
    span = range(*numbers)
    if (span.stop - span.start) // span.step > MAX_ITEMS:
        raise ExpressionError(f"a list of more than {MAX_ITEMS:,} items")
    return list(span)


def _items(items: list[Json]) -> list[Json]:
    if len(items) > MAX_ITEMS:
        raise ExpressionError(f"a list of more than {MAX_ITEMS:,} items")
    return items


def ordered(items: Json) -> Json:
    """Numbers by size or texts by their UTF-16 units; a mixture is an error."""
    kinds = {type_name(item) for item in _need(items, "array", "sort")}
    if not kinds <= {"number"} and not kinds <= {"string"}:
        raise ExpressionError("sort takes a list of numbers or a list of texts")
    return sorted(items, key=values.order_of if "string" in kinds else values.number)


def backwards(items: Json) -> Json:
    return _need(items, "array", "reverse")[::-1]


def unique(items: Json) -> Json:
    """Each value once, in the order of its first place."""
    seen: set[tuple[str, Json]] = set()
    result = []
    for item in _need(items, "array", "unique"):
        mark = _mark(item)
        if mark not in seen:
            seen.add(mark)
            result.append(item)
    return result


def _mark(value: Json) -> tuple[str, Json]:
    """Equal values have equal marks, whatever the order of their keys."""
    if isinstance(value, list | dict):
        return "json", _sorted_json(value)
    return type_name(value), values.number(value) if is_number(value) else value


def _sorted_json(value: Json) -> str:
    try:
        return json.dumps(_plain(value), sort_keys=True)
    except RecursionError as error:
        raise ExpressionError("the value is nested too deeply") from error


def _plain(value: Json) -> Json:
    if is_number(value):
        return values.number(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def first(items: Json) -> Json:
    return _need(items, "array", "first")[0] if items else _none_of(items, "first")


def last(items: Json) -> Json:
    return _need(items, "array", "last")[-1] if items else _none_of(items, "last")


def _none_of(items: Json, function: str) -> None:
    _need(items, "array", function)


def flatten(items: Json) -> Json:
    """One level: the items of lists inside take the place of these lists."""
    result: list[Json] = []
    for item in _need(items, "array", "flatten"):
        result.extend(item if isinstance(item, list) else [item])
        _items(result)
    return result


def any_of(items: Json) -> Json:
    return any(values.truth(item) for item in _need(items, "array", "any"))


def all_of(items: Json) -> Json:
    return all(values.truth(item) for item in _need(items, "array", "all"))


def cut(value: Json, start: Json, end: Json = None) -> Json:
    """`slice(x, start, end)` of a text or a list; negative places count from the end, `end` is not included."""
    if not isinstance(value, (str, list)):
        raise ExpressionError(f"slice takes a text or a list, not {shown(value)}")
    return value[_whole(start, "slice"):None if end is None else _whole(end, "slice")]


def substring(text: Json, start: Json, size: Json = None) -> Json:
    """`size` characters from `start` on; a negative start counts from the end."""
    subject = _need(text, "string", "substring")
    begin = _whole(start, "substring")
    begin = max(len(subject) + begin, 0) if begin < 0 else begin
    return subject[begin:] if size is None else subject[begin:begin + max(_whole(size, "substring"), 0)]


def merge(*objects: Json) -> Json:
    """Objects, or a list of them; keys of later ones win. Refuses `__proto__`, which JavaScript cannot copy."""
    given = objects[0] if len(objects) == 1 and isinstance(objects[0], list) else objects
    result: dict[str, Json] = {}
    for item in given:
        if "__proto__" in _need(item, "object", "merge"):
            raise ExpressionError("merge cannot copy the key __proto__")
        result.update(item)
    return result


def read(value: Json, key: Json) -> Json:
    """`value[key]`: null where there is no such item or key."""
    if isinstance(value, dict):
        return value.get(key) if isinstance(key, str) else None
    if isinstance(value, list) and is_number(key) and float(key).is_integer() and -len(value) <= key < len(value):
        return value[int(key)]
    return None


def get(value: Json, key: Json, fallback: Json = None) -> Json:
    found = read(value, key)
    return fallback if found is None else found


Evaluator = Callable[..., Json]
