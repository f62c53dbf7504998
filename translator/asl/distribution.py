"""Which loops become Distributed Maps: those that AWS's limits for an inline Map do not hold."""

from __future__ import annotations

import math
from typing import Any

from translator.expressions.tree import Attribute, Call, Literal, Node, Slot
from translator.model.values import constant
from translator.model.workflow import Step, Workflow


def length_of(step: Step, workflow: Workflow) -> int | None:
    """How many items (or batches) a loop has at most, as far as the definition says: a list, a range, an input's `maxItems`."""
    known, plain = constant(step.items)
    count = len(plain) if known and isinstance(plain, list) else None
    if isinstance(step.items, Call) and step.items.name == "range":
        count = _range(step.items)
    elif isinstance(step.items, Attribute) and step.items.of == Slot("input", ""):
        spec: Any = (workflow.inputs or {}).get(step.items.name) or {}
        most = spec.get("maxItems")
        count = most if isinstance(most, int) and not isinstance(most, bool) and most >= 0 else None
    return math.ceil(count / step.batch_size) if count is not None and step.batch_size else count


def _range(call: Call) -> int | None:
    numbers = [_whole(each) for each in call.args]
    if None in numbers or not 1 <= len(numbers) <= 3:
        return None
    try:
        return len(range(*[number for number in numbers if number is not None]))
    except ValueError:
        return None


def _whole(node: Node) -> int | None:
    value = node.value if isinstance(node, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
