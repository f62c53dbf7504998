"""What a caller gives a workflow, checked against the inputs that its definition declares.

A schema is a mapping of input names to rows in the words of JSON Schema (`type`, `default`, `enum`, `minimum`, …,
also spelled `min_length`); `required` stands on the row itself. `format` is checked for
texts, as far as `aslant.formats` knows it.
"""

from __future__ import annotations

import copy
import difflib
import json
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from aslant.contracts import LARGEST_INPUT
from aslant.formats import FORMATS
from aslant.values import MAX_SAFE_INTEGER, size

MAX_DEPTH = 100

Row = Mapping[str, Any]
_KINDS = frozenset({"string", "number", "integer", "boolean", "array", "object", "null", "any"})


class InputProblem(NamedTuple):
    """One thing that is wrong with an input; `pointer` is the JSON pointer (RFC 6901) of the value."""

    pointer: str
    message: str


def prepare(schema: Mapping[str, Row] | None, given: Any) -> tuple[dict[str, Any], list[InputProblem]]:
    """The complete input of an execution, and every problem with what was given.

    Only an absent name takes its default: a given false, 0, "" or null stays. Nothing is converted, but a whole number
    written as 7.0 becomes 7 for an integer. Without a schema any object is taken. Numbers must survive JSON:
    integers beyond 2^53, NaN and infinities are problems wherever they stand.
    """
    if not isinstance(given, Mapping):
        return {}, [InputProblem("", f"the input is an object with names and values, not {_kind(given)}")]
    problems = [*_unsafe(given, "", 0)]
    if schema is None:
        return dict(given), problems or [*_too_large(given)]
    result: dict[str, Any] = {}
    for name, row in schema.items():
        pointer = f"/{_escaped(name)}"
        if name in given:
            result[name] = _whole(row, given[name])
            problems += _check(row, result[name], pointer, name)
        elif "default" in row:
            result[name] = copy.deepcopy(row["default"])
            problems += _unsafe(result[name], pointer, 0)
        elif row.get("required") is True:
            note = f" ({row['description']})" if row.get("description") else ""
            problems.append(InputProblem(pointer, f"{name} is required{note}"))
    problems += [_unknown(name, schema) for name in given if name not in schema]
    return result, problems or [*_too_large(result)]


def _too_large(given: Mapping[str, Any]) -> Iterator[InputProblem]:
    length = size(dict(given))
    if length > LARGEST_INPUT:
        yield InputProblem("", f"the input has {length:,} bytes of JSON; an execution takes {LARGEST_INPUT:,} at most")


def declaration(name: str, row: Row) -> list[InputProblem]:
    """What is wrong with a row itself: a pattern that cannot be read, what no value fits, a default that the row refuses.

    A default of null is none: the input is then null when it is not given. Pointers begin at the row.
    """
    problems = [*_impossible(row, "", name)]
    if isinstance(row.get("pattern"), str):
        try:
            _compiled(row["pattern"])
        except ValueError as error:
            problems.append(InputProblem("/pattern", f"the pattern of {name} cannot be read: {error}"))
    if not problems and row.get("default") is not None:
        checked = _check(row, _whole(row, row["default"]), "/default", f"the default of {name}")
        problems += [*_unsafe(row["default"], "/default", 0), *checked]
    return problems


_BOUNDS = (("minimum", "minimum", "maximum", "maximum"), *(
    (f"min_{what}", f"min{what.title()}", f"max_{what}", f"max{what.title()}") for what in ("length", "items")))


def _impossible(row: Row, pointer: str, name: str) -> Iterator[InputProblem]:
    """What no value can fit: an unknown type inside, bounds that exclude each other, options that the row itself refuses."""
    for kind in _types(row) if pointer else ():
        if kind not in _KINDS:
            yield InputProblem(f"{pointer}/type", f"{kind!r} is no type; there are {', '.join(sorted(_KINDS))}")
    for low_key, low_name, high_key, high_name in _BOUNDS:
        low, high = _bound(row, low_key, low_name), _bound(row, high_key, high_name)
        if low is not None and high is not None and low > high:
            yield InputProblem(
                f"{pointer}/{low_key}", f"no value fits {name}: at least {low} and at most {high} exclude each other"
            )
    options = _list(row.get("enum"))
    if options is not None and not options:
        yield InputProblem(f"{pointer}/enum", f"no value fits {name}: its `enum` is empty")
    rest = {key: value for key, value in row.items() if key != "enum"}
    for index, option in enumerate(options or ()):
        if option is not None:
            yield from _check(rest, option, f"{pointer}/enum/{index}", f"an option of {name}")
    for key, inner in _inner(row):
        _, inside, last = key.rpartition("/")
        yield from _impossible(inner, f"{pointer}/{key}", f"{name}.{last}" if inside else f"an item of {name}")


def _inner(row: Row) -> Iterator[tuple[str, Row]]:
    """The rows of items and properties with their pointers."""
    if isinstance(row.get("items"), Mapping):
        yield "items", row["items"]
    properties = row.get("properties")
    for key, inner in properties.items() if isinstance(properties, Mapping) else ():
        if isinstance(inner, Mapping):
            yield f"properties/{_escaped(str(key))}", inner


def misfits(schema: Row, value: Any, name: str) -> list[InputProblem]:
    """What does not fit about any value (an answer, an argument, a result), which the messages call `name`.

    Of JSON Schema the keywords of inputs are checked, anyOf, oneOf, allOf and not; others, `$ref` among them, are not.
    """
    return [*_check(schema, value, "", name)]


def from_text(row: Row | None, text: str) -> Any:
    """The value that `text` stands for where a value of `row`'s type is wanted (`-i name=text`).

    Raises ValueError with a message for people. A text input takes the text as it is; one without a declared type is
    read as JSON when it is JSON, else as text.
    """
    kinds = _types(row or {})
    if kinds == ["string"]:
        return text
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    except OverflowError:
        if not kinds or "string" in kinds:
            return text
        raise ValueError(f"{text!r} is out of range") from None
    except (ValueError, RecursionError):
        if not kinds or "string" in kinds:
            return text
        raise ValueError(f"{text!r} is not {_expected(kinds)}") from None
    if "string" in kinds and not any(_is(kind, value) for kind in kinds):
        return text
    if kinds and not any(_is(kind, value) for kind in kinds):
        raise ValueError(f"{text!r} is not {_expected(kinds)}")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise OverflowError(text)
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _unsafe(value: Any, pointer: str, depth: int) -> Iterator[InputProblem]:
    if depth > MAX_DEPTH:
        yield InputProblem(pointer, f"nested more than {MAX_DEPTH} levels deep")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str):
                yield from _unsafe(item, f"{pointer}/{_escaped(key)}", depth + 1)
            else:
                yield InputProblem(pointer, f"the key {key!r} is not text")
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _unsafe(item, f"{pointer}/{index}", depth + 1)
    elif isinstance(value, bool) or value is None or isinstance(value, str):
        return
    elif isinstance(value, int):
        if abs(value) > MAX_SAFE_INTEGER:
            yield InputProblem(pointer, f"{value} is beyond 2^53 and would lose digits; give it as a text")
    elif isinstance(value, float):
        if not math.isfinite(value):
            yield InputProblem(pointer, "the number is out of range" if math.isinf(value) else f"{value} is not a JSON number")
    else:
        yield InputProblem(pointer, f"{type(value).__name__} is not a JSON value")


def _check(row: Row, value: Any, pointer: str, name: str) -> Iterator[InputProblem]:
    kinds = _types(row)
    if kinds and not any(_is(kind, value) for kind in kinds):
        yield InputProblem(pointer, f"{name} is {_kind(value)}, {_expected(kinds)} is wanted")
        return
    options = _list(row.get("enum"))
    if options is not None and not any(_same(value, option) for option in options):
        known = ", ".join(json.dumps(option, ensure_ascii=False) for option in options)
        yield InputProblem(pointer, f"{name} is {_brief(value)}, which is none of {known}")
    if "const" in row and not _same(value, row["const"]):
        yield InputProblem(pointer, f"{name} is {_brief(value)}, {_brief(row['const'])} is wanted")
    yield from _check_choices(row, value, pointer, name)
    if isinstance(value, str):
        yield from _check_text(row, value, pointer, name)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from _check_number(row, value, pointer, name)
    elif isinstance(value, list | tuple):
        yield from _check_array(row, value, pointer, name)
    elif isinstance(value, Mapping):
        yield from _check_object(row, value, pointer, name)


def _check_choices(row: Row, value: Any, pointer: str, name: str) -> Iterator[InputProblem]:
    for part in _schemas(row, "allOf"):
        yield from _check(part, value, pointer, name)
    for word in ("anyOf", "oneOf"):
        parts = _schemas(row, word)
        fitting = sum(not any(_check(part, value, pointer, name)) for part in parts)
        if parts and fitting == 0:
            yield InputProblem(pointer, f"{name} is {_brief(value)}, which fits none of {word}")
        elif word == "oneOf" and fitting > 1:
            yield InputProblem(pointer, f"{name} is {_brief(value)}, which fits {fitting} of oneOf")
    refused = row.get("not")
    if isinstance(refused, Mapping) and not any(_check(refused, value, pointer, name)):
        yield InputProblem(pointer, f"{name} is {_brief(value)}, which `not` refuses")


def _schemas(row: Row, word: str) -> list[Row]:
    return [part for part in _list(row.get(word)) or [] if isinstance(part, Mapping)]


def _check_text(row: Row, value: str, pointer: str, name: str) -> Iterator[InputProblem]:
    yield from _check_size(row, len(value), "length", "characters", pointer, name)
    form = FORMATS.get(str(row.get("format")))
    if form is not None and not form.fits(value):
        yield InputProblem(pointer, f"{name} is {_brief(value)}, which is no {row['format']} such as {form.example}")
    pattern = row.get("pattern")
    if isinstance(pattern, str):
        try:
            fits = _compiled(pattern).search(value) is not None
        except ValueError as error:
            yield InputProblem(pointer, f"the pattern of {name} cannot be read: {error}")
        else:
            if not fits:
                yield InputProblem(pointer, f"{name} is {_brief(value)}, which does not match {pattern}")


def _compiled(pattern: str) -> Any:
    """RE2 writes what it cannot read to stderr unless it is told not to. Raises ValueError."""
    import re2  # slow, and few rows have patterns

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except (re2.error, UnicodeError) as error:
        raise ValueError(_reason(error)) from None


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeError):
        return "half of a surrogate pair is no character"
    text = error.args[0] if error.args else ""
    return (text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text))[:100]


def _check_number(row: Row, value: float, pointer: str, name: str) -> Iterator[InputProblem]:
    if (low := _bound(row, "minimum")) is not None and value < low:
        yield InputProblem(pointer, f"{name} is {value}, the minimum is {low}")
    if (high := _bound(row, "maximum")) is not None and value > high:
        yield InputProblem(pointer, f"{name} is {value}, the maximum is {high}")
    if (low := _bound(row, "exclusiveMinimum")) is not None and value <= low:
        yield InputProblem(pointer, f"{name} is {value}, it must be more than {low}")
    if (high := _bound(row, "exclusiveMaximum")) is not None and value >= high:
        yield InputProblem(pointer, f"{name} is {value}, it must be less than {high}")
    step = _bound(row, "multipleOf")
    exact = step and math.isfinite(step) and math.isfinite(value)
    if exact and (Fraction(str(value)) / Fraction(str(step))).denominator != 1:
        yield InputProblem(pointer, f"{name} is {value}, which is no multiple of {step}")


def _check_array(row: Row, value: Any, pointer: str, name: str) -> Iterator[InputProblem]:
    yield from _check_size(row, len(value), "items", "items", pointer, name)
    if row.get("uniqueItems") is True:
        for index, item in enumerate(value):
            if any(_same(item, other) for other in value[:index]):
                yield InputProblem(f"{pointer}/{index}", f"{name}[{index}] is there already")
    items = row.get("items")
    if isinstance(items, Mapping):
        for index, item in enumerate(value):
            yield from _check(items, item, f"{pointer}/{index}", f"{name}[{index}]")


def _check_object(row: Row, value: Mapping[str, Any], pointer: str, name: str) -> Iterator[InputProblem]:
    properties = row.get("properties")
    known = properties if isinstance(properties, Mapping) else {}
    required = [key for key, inner in known.items() if isinstance(inner, Mapping) and inner.get("required") is True]
    required += [key for key in _list(row.get("required")) or [] if key not in required]
    for key in required:
        if key not in value:
            yield InputProblem(f"{pointer}/{_escaped(str(key))}", f"{name}.{key} is required")
    others = row.get("additionalProperties")
    for key, item in value.items():
        inner = known.get(key, others)
        if isinstance(inner, Mapping):
            yield from _check(inner, item, f"{pointer}/{_escaped(str(key))}", f"{name}.{key}")
        elif inner is False:
            yield _unknown(str(key), known, pointer, name)


def _check_size(row: Row, size: int, what: str, unit: str, pointer: str, name: str) -> Iterator[InputProblem]:
    low = _bound(row, f"min_{what}", f"min{what.title()}")
    high = _bound(row, f"max_{what}", f"max{what.title()}")
    if low is not None and size < low:
        yield InputProblem(pointer, f"{name} has {size} {unit}, at least {low} are wanted")
    if high is not None and size > high:
        yield InputProblem(pointer, f"{name} has {size} {unit}, at most {high} are allowed")


def _bound(row: Row, *names: str) -> float | None:
    """The first number under one of `names`; a whole number stays an int for the messages."""
    for name in names:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    return None


def _unknown(name: str, known: Mapping[str, Any], pointer: str = "", owner: str = "") -> InputProblem:
    close = difflib.get_close_matches(name, [str(key) for key in known], 1, 0.7)
    hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(map(str, known))}" if known else ""
    what = f"{owner} has no property {name}" if owner else f"there is no input {name}"
    return InputProblem(f"{pointer}/{_escaped(name)}", what + hint)


def _types(row: Row) -> list[str]:
    """The type names of a row; empty when any value is taken."""
    declared = row.get("type", "any")
    kinds = [str(kind) for kind in declared] if isinstance(declared, list | tuple) else [str(declared)]
    if "any" in kinds:
        return []
    return [*kinds, "null"] if row.get("nullable") is True else kinds


def _is(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if isinstance(value, int | float):
        return kind == "number" or (kind == "integer" and (isinstance(value, int) or value.is_integer()))
    return {
        "string": isinstance(value, str), "array": isinstance(value, list | tuple), "null": value is None,
        "object": isinstance(value, Mapping),
    }.get(kind, False)


def _whole(row: Row, value: Any) -> Any:
    if isinstance(value, float) and "integer" in _types(row) and value.is_integer():
        return int(value)
    return value


def _same(left: Any, right: Any) -> bool:
    """Typed equality: 1 and 1.0 are the same, 1 and true are not."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(_same(item, right[key]) for key, item in left.items())
    return bool(left == right)


def _list(value: Any) -> list[Any] | None:
    return list(value) if isinstance(value, list | tuple) else None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    for kind, words in _WORDS.items():
        if _is(kind, value):
            return f"{words} ({_brief(value)})" if kind in ("boolean", "integer", "number", "string") else words
    return type(value).__name__


_WORDS = {"boolean": "a boolean", "integer": "an integer", "number": "a number", "string": "a text",
    "array": "an array", "object": "an object", "null": "null"}


def _expected(kinds: list[str]) -> str:
    return " or ".join(_WORDS.get(kind, kind) for kind in kinds)


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
