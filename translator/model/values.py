"""Walking over `Value` structures: JSON in which every text is an expression tree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import is_
from typing import Any, get_args

from translator.expressions.references import slots
from translator.expressions.tree import Literal, Node, Slot
from translator.model.workflow import Step, Value

_NODES = frozenset(get_args(Node))
_UNITS = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_TIMES = re.compile(r"\s*(?:([0-9]+(?:\.[0-9]+)?)\s*(ms|sec|s|min|m|h|d|w))", re.IGNORECASE)
_ISO = re.compile(r"P(?:([0-9.]+)W)?(?:([0-9.]+)D)?(?:T(?:([0-9.]+)H)?(?:([0-9.]+)M)?(?:([0-9.]+)S)?)?", re.IGNORECASE)
_FIELDS = ("config", "cache", "items", "seconds", "until", "input")  # of a step: values with expressions in them


def is_node(value: Any) -> bool:
    return type(value) in _NODES


def seconds_of(text: str) -> float | None:
    """The number of seconds that a text says; None when it says none."""
    try:
        seconds = float(text)
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def duration(text: str) -> float | None:
    """The seconds of a text such as `30s`, `1h30m` or `PT15M`; None for any other."""
    iso = _ISO.fullmatch(text)
    if iso and any(iso.groups()):
        try:
            amounts = [float(part) if part else 0.0 for part in iso.groups()]
        except ValueError:
            return None
        return sum(amount * unit for amount, unit in zip(amounts, (604_800, 86_400, 3600, 60, 1), strict=True))
    total, index = 0.0, 0
    while match := _TIMES.match(text, index):
        if len(match[1]) > 20:
            return None
        total += float(match[1]) * _UNITS[match[2].lower()]
        index = match.end()
    return total if index and index == len(text) else None


def map_nodes(value: Value, change: Callable[[Node], Node]) -> Value:
    """The structure with every expression changed; the same one when nothing is."""
    if isinstance(value, dict):
        mapped = {key: map_nodes(item, change) for key, item in value.items()}
        return value if all(mapped[key] is item for key, item in value.items()) else mapped
    if isinstance(value, list):
        items = [map_nodes(item, change) for item in value]
        return value if all(map(is_, items, value)) else items
    return change(value) if is_node(value) else value


def nodes_of(value: Value) -> Iterator[Node]:
    """Every expression of a structure, literals too."""
    if isinstance(value, dict):
        for item in value.values():
            yield from nodes_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from nodes_of(item)
    elif is_node(value):
        yield value


def expressions_of(step: Step) -> Iterator[Node]:
    """Every expression that is evaluated when the step itself runs; not those of steps inside of it."""
    if step.when is not None:
        yield step.when
    for case in step.cases:
        yield case.when
    for field in _FIELDS:
        value = getattr(step, field)
        if value is not None:
            yield from nodes_of(value)


def map_expressions(step: Step, change: Callable[[Node], Node]) -> Step:
    """The step with each expression changed that is evaluated when it itself runs; not those of steps inside of it."""
    changed: dict[str, Any] = {}
    if step.when is not None:
        changed["when"] = change(step.when)
    if step.cases:
        changed["cases"] = tuple(replace(case, when=change(case.when)) for case in step.cases)
    for field in _FIELDS:
        value = getattr(step, field)
        if value is not None:
            changed[field] = map_nodes(value, change)
    return step if all(getattr(step, field) is value for field, value in changed.items()) else replace(step, **changed)


def reads_of(step: Step) -> set[Slot]:
    found: set[Slot] = set()
    for node in expressions_of(step):
        if not isinstance(node, Literal):
            found |= slots(node)
    return found


def constant(value: Value) -> tuple[bool, Any]:
    """Whether a structure holds no expression, and if so its plain JSON."""
    if isinstance(value, dict):
        pairs = {key: constant(item) for key, item in value.items()}
        return all(known for known, _ in pairs.values()), {key: item for key, (_, item) in pairs.items()}
    if isinstance(value, list):
        found = [constant(item) for item in value]
        return all(known for known, _ in found), [item for _, item in found]
    if isinstance(value, Literal):
        return True, value.value
    return not is_node(value), value
