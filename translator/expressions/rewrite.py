"""Replaces parts of an expression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as changed

from translator.expressions.tree import (
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Index,
    ListOf,
    Logic,
    Node,
    ObjectOf,
    Template,
    Unary,
)


def rewrite(node: Node, give: Callable[[Node], Node | None]) -> Node:
    """The node with each part for which `give` has something replaced by it; what is given is not looked into."""
    given = give(node)
    if given is not None:
        return given

    def part(child: Node) -> Node:
        return rewrite(child, give)

    match node:
        case Attribute(of=of):
            return changed(node, of=part(of))
        case Index(of=of, key=key):
            return changed(node, of=part(of), key=part(key))
        case Unary(operand=operand):
            return changed(node, operand=part(operand))
        case Binary(left=left, right=right):
            return changed(node, left=part(left), right=part(right))
        case Compare(first=first, rest=rest):
            return changed(node, first=part(first), rest=tuple((op, part(item)) for op, item in rest))
        case Logic(items=items) | ListOf(items=items):
            return changed(node, items=tuple(map(part, items)))
        case Conditional(test=test, then=then, other=other):
            return changed(node, test=part(test), then=part(then), other=part(other))
        case ObjectOf(items=pairs):
            return changed(node, items=tuple((part(key), part(value)) for key, value in pairs))
        case Comprehension(element=element, source=source, condition=condition):
            return changed(
                node,
                element=part(element),
                source=part(source),
                condition=None if condition is None else part(condition),
            )
        case Call(args=args):
            return changed(node, args=tuple(map(part, args)))
        case Template(parts=parts):
            return changed(node, parts=tuple(item if isinstance(item, str) else part(item) for item in parts))
        case _:
            return node
