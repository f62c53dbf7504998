"""Patterns of EventBridge over JSON: which events they match.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html; of its operators those below.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Any

_OPERATORS = ("prefix", "suffix", "equals-ignore-case", "wildcard", "anything-but", "numeric", "exists")
_COMPARE = {"=", "<", "<=", ">", ">="}
_MISSING: Any = object()


def check_pattern(pattern: Any, path: str = "") -> dict[str, Json]:
    """The pattern. Raises ValueError with the place of what is none."""
    if not isinstance(pattern, dict):
        raise ValueError(f"{path or 'the pattern'} must be an object of names and lists")
    for name, part in pattern.items():
        place = f"{path}.{name}" if path else str(name)
        if isinstance(part, dict):
            check_pattern(part, place)
        elif not isinstance(part, list) or not part:
            raise ValueError(f"{place} takes a list of what it may be, as in [paid]")
        else:
            for one in part:
                _check_operator(one, place)
    return pattern


def matches(pattern: Mapping[str, Json], data: Json) -> bool:
    """Whether all of a pattern holds for an object. A list matches when one of its elements does."""
    for name, part in pattern.items():
        value = data.get(name, _MISSING) if isinstance(data, Mapping) else _MISSING
        if isinstance(part, Mapping):
            inner = value if isinstance(value, list) else [value]
            if not any(matches(part, each) for each in inner):
                return False
        elif not any(_holds(one, value) for one in part):
            return False
    return True


def wildcard(pattern: str, text: str) -> bool:
    """Whether a text is as a pattern says, in which `*` stands for any text, and nothing else for anything."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    *middle, last = rest
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    place, end = len(first), len(text) - len(last)
    for part in middle:  # the leftmost place of each leaves the most room for the others
        if (found := text.find(part, place, end)) < 0:
            return False
        place = found + len(part)
    return True


def _check_operator(one: Json, place: str) -> None:
    if isinstance(one, list):
        raise ValueError(f"{place}: a list in a list matches nothing")
    if not isinstance(one, dict):
        return
    name, value = next(iter(one.items()), ("", None))
    if len(one) != 1 or name not in _OPERATORS:
        raise ValueError(f"{place}: an operator is one of {', '.join(_OPERATORS)}")
    if name == "exists" and not isinstance(value, bool):
        raise ValueError(f"{place}: exists takes true or false")
    if name == "numeric":
        given = value if isinstance(value, list) else []
        pairs = list(zip(given[::2], given[1::2], strict=False))
        if not pairs or len(given) % 2 or any(op not in _COMPARE or not _number(number) for op, number in pairs):
            raise ValueError(f'{place}: numeric takes comparisons, as in [">", 0, "<=", 5]')
    if name == "anything-but":
        for each in value if isinstance(value, list) else [value]:
            _check_operator(each, place)
    if name in ("prefix", "suffix", "equals-ignore-case", "wildcard") and not isinstance(value, str):
        raise ValueError(f"{place}: {name} takes a text")


def _holds(one: Json, value: Json) -> bool:
    if isinstance(one, dict) and "exists" in one:
        return bool((value is not _MISSING) == one["exists"])
    if value is _MISSING:
        return False
    return any(_is(one, each) for each in value) if isinstance(value, list) else _is(one, value)


def _is(one: Json, value: Json) -> bool:
    if not isinstance(one, dict):
        return _same(one, value)
    name, given = next(iter(one.items()))
    if name == "anything-but":
        return not any(_is(each, value) for each in (given if isinstance(given, list) else [given]))
    if name == "numeric":
        pairs = zip(given[::2], given[1::2], strict=True)
        return _number(value) and all(_compared(op, float(value), float(number)) for op, number in pairs)
    if not isinstance(value, str):
        return False
    if name == "prefix":
        return str(value).startswith(str(given))
    if name == "suffix":
        return str(value).endswith(str(given))
    text = str(given)
    return str(value).lower() == text.lower() if name == "equals-ignore-case" else wildcard(text, value)


def _compared(op: Json, value: float, number: float) -> bool:
    if op == "=":
        return value == number
    if op in ("<", "<="):
        return value < number or (op == "<=" and value == number)
    return value > number or (op == ">=" and value == number)


def _same(one: Json, value: Json) -> bool:
    """Equal as JSON has it: true is not 1, and a text is no number."""
    if isinstance(one, bool) or isinstance(value, bool):
        return one is value
    return bool(one == value)


def _number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
