"""A tree as JSON and back, for sending an expression to the function that evaluates it."""

from __future__ import annotations

from typing import Any

from aslant.errors import ExpressionError
from translator.expressions.tree import (
    MAX_DEPTH,
    MAX_NODES,
    Attribute,
    Binary,
    Call,
    Compare,
    Comprehension,
    Conditional,
    Index,
    ListOf,
    Literal,
    Logic,
    Name,
    Node,
    ObjectOf,
    Slot,
    Template,
    Unary,
    depth,
)


def dump(node: Node) -> Any:
    """JSON arrays, each with a short tag first. Positions are not kept."""
    match node:
        case Literal(value=value):
            return ["lit", value]
        case Name(name=name):
            return ["name", name]
        case Slot(kind=kind, name=name):
            return ["slot", kind, name]
        case Attribute(of=of, name=name):
            return ["attr", dump(of), name]
        case Index(of=of, key=key):
            return ["index", dump(of), dump(key)]
        case Unary(op=op, operand=operand):
            return ["unary", op, dump(operand)]
        case Binary(op=op, left=left, right=right):
            return ["binary", op, dump(left), dump(right)]
        case Compare(first=first, rest=rest):
            return ["compare", dump(first), *([op, dump(item)] for op, item in rest)]
        case Logic(op=op, items=items):
            return ["logic", op, *map(dump, items)]
        case Conditional(test=test, then=then, other=other):
            return ["if", dump(test), dump(then), dump(other)]
        case ListOf(items=items):
            return ["list", *map(dump, items)]
        case ObjectOf(items=pairs):
            return ["object", *([dump(key), dump(value)] for key, value in pairs)]
        case Comprehension(element=element, name=name, source=source, condition=condition):
            return ["each", dump(element), name, dump(source), None if condition is None else dump(condition)]
        case Call(name=name, args=args):
            return ["call", name, *map(dump, args)]
        case Template(parts=parts):
            return ["text", *(part if isinstance(part, str) else dump(part) for part in parts)]


def load(data: Any) -> Node:
    """What `dump` wrote. Raises `ExpressionError` for anything else, and for more than an expression may hold."""
    try:
        count = 0
        level = [data]
        for _ in range(2 * MAX_DEPTH + 2):
            count += len(level)
            level = [item for part in level if isinstance(part, list) for item in part]
            if not level:
                break
        else:
            raise ExpressionError("the expression is nested too deeply")
        if count > 8 * MAX_NODES:
            raise ExpressionError("the expression has too many parts")
        node = _node(data)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise ExpressionError(f"not an expression: {type(error).__name__}") from error
    if depth(node) > MAX_DEPTH:
        raise ExpressionError("the expression is nested too deeply")
    return node


def _node(data: Any) -> Node:
    tag, *rest = data
    match tag, rest:
        case "lit", [str() | int() | float() | bool() | None as value]:
            return Literal(value)
        case "name", [str(name)]:
            return Name(name)
        case "slot", [str(kind), str(name)]:
            return Slot(kind, name)
        case "attr", [of, str(name)]:
            return Attribute(_node(of), name)
        case "index", [of, key]:
            return Index(_node(of), _node(key))
        case "unary", [str(op), operand]:
            return Unary(op, _node(operand))
        case "binary", [str(op), left, right]:
            return Binary(op, _node(left), _node(right))
        case "compare", [first, *others]:
            return Compare(_node(first), tuple((str(op), _node(item)) for op, item in others))
        case "logic", [str(op), *items]:
            return Logic(op, tuple(map(_node, items)))
        case "if", [test, then, other]:
            return Conditional(_node(test), _node(then), _node(other))
        case "list", items:
            return ListOf(tuple(map(_node, items)))
        case "object", pairs:
            return ObjectOf(tuple((_node(key), _node(value)) for key, value in pairs))
        case "each", [element, str(name), source, condition]:
            return Comprehension(_node(element), name, _node(source), None if condition is None else _node(condition))
        case "call", [str(name), *args]:
            return Call(name, tuple(map(_node, args)))
        case "text", parts:
            return Template(tuple(part if isinstance(part, str) else _node(part) for part in parts))
        case _:
            raise ValueError(tag)
