"""The expression tree: what a text means once its spelling is gone.

Every node is immutable, compares by meaning (its position does not count) and can be a key. `Name` stands only in a
tree that is not resolved yet, `Slot` only in one that is (see `resolve`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field

from translator.diagnostics import NOWHERE, Position
from translator.records import record

MAX_DEPTH = 100
MAX_NODES = 2_000
MAX_CHARACTERS = 20_000
MAX_SAFE_INTEGER = 2**53

Scalar = str | int | float | bool | None


@record
class Literal:
    """A text, a number, true, false or null. `1`, `1.0` and `True` are three different literals."""

    value: Scalar
    at: Position = field(default=NOWHERE, compare=False, repr=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@record
class Name:
    """A bare name whose meaning depends on where it stands."""

    name: str
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Attribute:
    """`of.name`; null when `of` is no object or has no such key."""

    of: Node
    name: str
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Index:
    """`of[key]`: an item of a list (negative counts from the end) or the value of an object's key; else null."""

    of: Node
    key: Node
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Unary:
    """`op` is `-`, `+` or `not`."""

    op: str
    operand: Node
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Binary:
    """`op` is one of `+ - * / // % ** ~ ??`."""

    op: str
    left: Node
    right: Node
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Compare:
    """A chain such as `0 < x <= 9`; operators are `== != < <= > >= in, not in, matches`."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Logic:
    """`and` or `or` over two or more items. Gives the item that decided, as Python and JavaScript do."""

    op: str
    items: tuple[Node, ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Conditional:
    test: Node
    then: Node
    other: Node
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class ListOf:
    items: tuple[Node, ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class ObjectOf:
    items: tuple[tuple[Node, Node], ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Comprehension:
    """`[element for name in source if condition]`"""

    element: Node
    name: str
    source: Node
    condition: Node | None
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Call:
    name: str
    args: tuple[Node, ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Slot:
    """A value that comes from outside of the expression, already told apart by its kind.

    Kinds: `input` (the whole input), `var`, `output`, `status` and `error` (of the step `name`), `item` and `index`
    (of the loop `name`), `local` (a comprehension's variable), `context`, `workflow`, `execution`, `secret`, `env`.
    The evaluator also asks for `now`, `uuid` and `random`, which only a caller with a clock can answer.
    """

    kind: str
    name: str = ""
    at: Position = field(default=NOWHERE, compare=False, repr=False)


@record
class Template:
    """Text with values rendered into it."""

    parts: tuple[str | Node, ...]
    at: Position = field(default=NOWHERE, compare=False, repr=False)


Node = (
    Literal | Name | Attribute | Index | Unary | Binary | Compare | Logic | Conditional | ListOf | ObjectOf
    | Comprehension | Call | Slot | Template
)


def children(node: Node) -> tuple[Node, ...]:
    """The parts of a node, in the order in which they are written."""
    match node:
        case Literal() | Name() | Slot():  # first, since most are
            return ()
        case Attribute(of=of):
            return (of,)
        case Index(of=of, key=key):
            return (of, key)
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Compare(first=first, rest=rest):
            return (first, *(item for _, item in rest))
        case Logic(items=items) | ListOf(items=items):
            return items
        case Conditional(test=test, then=then, other=other):
            return (test, then, other)
        case ObjectOf(items=pairs):
            return tuple(part for pair in pairs for part in pair)
        case Comprehension(element=element, source=source, condition=condition):
            return (element, source) if condition is None else (element, source, condition)
        case Call(args=args):
            return args
        case Template(parts=parts):
            return tuple(part for part in parts if not isinstance(part, str))
        case _:
            return ()


def rebuilt(node: Node, parts: Sequence[Node]) -> Node:
    """The node with other `parts` in the place of its children, as many and in the same order."""
    match node:
        case Literal() | Name() | Slot():
            return node
        case Attribute(name=name, at=at):
            return Attribute(parts[0], name, at)
        case Index(at=at):
            return Index(parts[0], parts[1], at)
        case Unary(op=op, at=at):
            return Unary(op, parts[0], at)
        case Binary(op=op, at=at):
            return Binary(op, parts[0], parts[1], at)
        case Compare(rest=rest, at=at):
            return Compare(parts[0], tuple((op, part) for (op, _), part in zip(rest, parts[1:], strict=True)), at)
        case Logic(op=op, at=at):
            return Logic(op, tuple(parts), at)
        case Conditional(at=at):
            return Conditional(parts[0], parts[1], parts[2], at)
        case ListOf(at=at):
            return ListOf(tuple(parts), at)
        case ObjectOf(at=at):
            return ObjectOf(tuple(zip(parts[::2], parts[1::2], strict=True)), at)
        case Comprehension(name=name, at=at):
            return Comprehension(parts[0], name, parts[1], parts[2] if len(parts) > 2 else None, at)
        case Call(name=name, at=at):
            return Call(name, tuple(parts), at)
        case Template(parts=written, at=at):
            others = iter(parts)
            return Template(tuple(part if isinstance(part, str) else next(others) for part in written), at)


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it, outer before inner. Needs no recursion."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        stack.extend(reversed(children(here)))


def depth(node: Node) -> int:
    """How many nodes deep the tree is. Needs no recursion."""
    deepest = 0
    stack = [(node, 1)]
    while stack:
        here, level = stack.pop()
        deepest = max(deepest, level)
        stack.extend((child, level + 1) for child in children(here))
    return deepest
