"""What a resolved expression reads."""

from __future__ import annotations

from translator.expressions.functions import find
from translator.expressions.tree import Attribute, Call, Literal, Node, Slot, walk


def slots(node: Node) -> set[Slot]:
    """Every value from outside that the expression reads; a comprehension's own variables are not among them."""
    here: Node = node
    while isinstance(here, Attribute):  # most expressions are a result or an input, by its keys
        here = here.of
    if isinstance(here, Slot):
        return {here} if here.kind != "local" else set()
    if isinstance(here, Literal):
        return set()
    return {here for here in walk(node) if isinstance(here, Slot) and here.kind != "local"}


def is_deterministic(node: Node) -> bool:
    """Whether the same values give the same result each time: no clock, no chance, no environment."""
    for here in walk(node):
        if isinstance(here, Slot) and here.kind == "env":
            return False
        if isinstance(here, Call):
            function = find(here.name)
            if function is not None and not function.deterministic:
                return False
    return True
