"""Static types of expressions: JSON type names, or None where a value may have any type."""

from __future__ import annotations

from collections.abc import Callable

from translator.diagnostics import Position
from translator.expressions.functions import find
from translator.expressions.tree import (
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
    Node,
    ObjectOf,
    Slot,
    Template,
    Unary,
    walk,
)
from translator.expressions.values import KINDS, type_name

TypeOf = Callable[[Slot], str | None]
_OBJECTS = frozenset({"input", "context", "workflow", "execution"})


def nothing_known(slot: Slot) -> str | None:
    return None


def kind(node: Node, type_of: TypeOf = nothing_known) -> str | None:
    """The JSON type of every value that the expression can have, or None.

    `type_of` is asked for each slot; for `input.x` it is asked for `Slot("input", "x")`.
    """
    match node:
        case Literal(value=value):
            return type_name(value)
        case Slot(kind="status"):
            return "string"
        case Slot(kind="index"):
            return "number"
        case Slot(kind=slot_kind):
            return "object" if slot_kind in _OBJECTS and not node.name else type_of(node)
        case Attribute(of=Slot(kind="input", name=""), name=name):
            return type_of(Slot("input", name))
        case Attribute() | Index():
            return None
        case Unary(op=op):
            return "boolean" if op == "not" else "number"
        case Binary(op="~"):
            return "string"
        case Binary(op="??", left=left, right=right):
            first, second = kind(left, type_of), kind(right, type_of)
            return second if first == "null" else first if first == second else None
        case Binary(op="+", left=left, right=right):
            # Only equal types can be added, so either side tells the type of the sum.
            return next((k for k in (kind(left, type_of), kind(right, type_of)) if k in _ADDED), None)
        case Binary():
            return "number"
        case Compare():
            return "boolean"
        case Logic(items=items):
            return _common([kind(item, type_of) for item in items])
        case Conditional(then=then, other=other):
            return _common([kind(then, type_of), kind(other, type_of)])
        case ListOf() | Comprehension():
            return "array"
        case ObjectOf():
            return "object"
        case Template():
            return "string"
        case Call(name=name):
            function = find(name)
            return function.kind if function is not None else None
        case _:
            return None


_ADDED = ("number", "string", "array")


def _kind(kind: str | None) -> str:
    return KINDS[kind] if kind is not None else "a value"


def _common(kinds: list[str | None]) -> str | None:
    return kinds[0] if len(set(kinds)) == 1 else None


def certain_mismatch(node: Node, type_of: TypeOf = nothing_known) -> list[tuple[Position, str]]:
    """The places where the types can never fit, so that evaluating them would always fail."""
    found: list[tuple[Position, str]] = []
    for here in walk(node):
        match here:
            case Unary(op=("-" | "+") as op, operand=operand):
                if (k := kind(operand, type_of)) not in (None, "number"):
                    found.append((here.at, f"{op} takes a number, not {KINDS[k]}"))
            case Binary(op=op, left=left, right=right) if op not in ("~", "??"):
                a, b = kind(left, type_of), kind(right, type_of)
                allowed = _ADDED if op == "+" else ("number",)
                if any(k is not None and k not in allowed for k in (a, b)) or (a and b and a != b):
                    found.append((here.at, f"{op} has no result for {_kind(a)} and {_kind(b)}"))
            case Compare(first=first, rest=rest):
                left = first
                for op, right in rest:
                    if message := _misfit(op, kind(left, type_of), kind(right, type_of)):
                        found.append((here.at, message))
                    left = right
            case Call(name=name, args=args):
                function = find(name)
                for arg, takes in zip(args, function.takes if function else (), strict=False):
                    k = kind(arg, type_of)
                    if k is not None and k not in takes:
                        found.append((arg.at, f"{name} takes {' or '.join(KINDS[each] for each in takes)}, not {KINDS[k]}"))
            case Comprehension(source=source):
                if (k := kind(source, type_of)) not in (None, "array"):
                    found.append((source.at, f"a list is made from a list, not from {KINDS[k]}"))
    return found


def _misfit(op: str, left: str | None, right: str | None) -> str:
    if op in ("<", "<=", ">", ">="):
        allowed = ("number", "string")
        if any(k is not None and k not in allowed for k in (left, right)) or (left and right and left != right):
            return f"{op} compares two numbers or two texts, not {_kind(left)} with {_kind(right)}"
    elif op == "matches":
        if any(k not in (None, "string") for k in (left, right)):
            return "matches takes two texts"
    elif op in ("in", "not in") and (right in ("null", "boolean", "number") or
            (right in ("string", "object") and left not in (None, "string"))):
        return f"{_kind(left)} cannot be in {KINDS[right]}"
    return ""
