"""Expressions in the function: trees from the state machine, and the text of a transform's own expression."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime

from aslant.contracts import Json
from aslant.errors import ExpressionError, ValidationError
from translator.diagnostics import NOWHERE, Findings
from translator.expressions.evaluate import evaluate
from translator.expressions.serialize import load
from translator.expressions.tree import Node, Slot
from translator.expressions.values import truth


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


_MADE_HERE: Mapping[str, Callable[[], Json]] = {"now": _now, "uuid": lambda: str(uuid.uuid4()), "random": random.random}


def evaluate_all(
    trees: Mapping[str, Json], slots: Mapping[str, Json], allowed: Collection[str], environment: Mapping[str, str]
) -> dict[str, Json]:
    """The value of each tree. `slots` holds values by `kind:name`.

    What differs from run to run is made here, so that it stands in the history: `now()` (UTC, ISO 8601), `uuid()`,
    `random()` (from 0 up to 1), and `env` slots, if they are allowed.
    """

    def value_of(slot: Slot) -> Json:
        if slot.kind in _MADE_HERE:
            return _MADE_HERE[slot.kind]()
        if slot.kind == "env":
            if slot.name not in allowed:
                raise ExpressionError(f"the variable {slot.name} may not be read; ASLANT_ENV_ALLOW can allow it")
            return environment.get(slot.name)
        return slots.get(f"{slot.kind}:{slot.name}")

    return {name: evaluate(load(tree), value_of) for name, tree in trees.items()}


def operate(operation: str, expression: str, data: Json, initial: Json) -> Json:
    """An operation with an expression: over all of `data`, or over each `item` (with `index`, and `total` in a reduce)."""
    tree = _tree(expression)
    if operation in ("transform", "aggregate"):
        return _value(tree, data, None, 0, None)
    if not isinstance(data, list):
        raise ValidationError(f"{operation} needs a list as data")
    if operation == "filter":
        return [item for index, item in enumerate(data) if truth(_value(tree, data, item, index, None))]
    if operation == "map":
        return [_value(tree, data, item, index, None) for index, item in enumerate(data)]
    total = initial
    for index, item in enumerate(data):
        total = _value(tree, data, item, index, total)
    return total


_BARE = ("data", "items", "results", "total", "accumulator")


def _tree(expression: str) -> Node:
    from translator.expressions.parser import parse  # most steps have trees, and nothing to parse
    from translator.expressions.resolve import Names, resolve

    findings = Findings()
    names = Names(
        inputs=None, variables=(), steps=(), state={}, loops={"item": Slot("item", "each"), "index": Slot("index", "each")},
        bare={name: Slot("local", name) for name in _BARE},
    )
    tree = parse(expression, NOWHERE, findings)
    if tree is not None:
        tree = resolve(tree, names, findings)
    if tree is None or findings.has_errors:
        raise ExpressionError("; ".join(found.message for found in findings) or "the expression cannot be read")
    return tree


def _value(tree: Node, data: Json, item: Json, index: int, total: Json) -> Json:
    def value_of(slot: Slot) -> Json:
        if slot.kind == "item":
            return item
        if slot.kind == "index":
            return index
        if slot.kind == "local":
            return total if slot.name in ("total", "accumulator") else data
        if slot.kind in _MADE_HERE:
            return _MADE_HERE[slot.kind]()
        return data if slot.kind == "input" else None

    return evaluate(tree, value_of)
