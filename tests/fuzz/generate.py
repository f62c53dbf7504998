"""Random expressions and values: mostly of fitting types, sometimes not, over data that engines trip over."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

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
    Name,
    Node,
    ObjectOf,
    Unary,
)

T = TypeVar("T")

VARIABLES = ("v0", "v1", "v2", "v3", "v4", "v5")
# Inputs that are always there; some have a type that is certain.
INPUTS = {"s": "string", "n": "number", "t": "boolean", "l": None, "n-1": None, "and": None, "toString": None, "é": None}
KINDS = ("number", "string", "boolean", "array", "object", "any")
# None from U+E000 to U+FFFF: the local engine orders these and those beyond U+FFFF by characters, JavaScript does not.
TEXTS = (
    "", "a", "b", "ab", "aXbX", "X", "false", "0", " a  b ", "\t\n", "é", "e\u0301", "🚀x🚀", "ß", "ΑΣ", "İ", "\"q\"",
    "back\\slash", "{% $states.x %}", "${{ a }}", "'", "`", "\u2028", "\x00\x1f\x7f", "$x", "toString", "null",
    "/*", "1e3",
    "1,2", "$1", "{}", "[]", "ŉ",
)
NUMBERS = (
    0, 1, -1, 2, 3, 7, 10, 255, -40, 0.5, -0.5, 1.5, 2.5, 0.1, 0.2, 0.3, 1e-7, 1.25e-9, 1e15, 1e16, 1e20, 1e21, 1.5e300,
    -1e300, 999999999999999, 1234567890123456, 2**53, -(2**53), 2**53 - 1, 100.0, 1e3, 3.14159, 20200219, 12345.678, 1e308,
)
KEYS = (
    "a", "b", "c", "n-1", "é", "toString", "constructor", "__proto__", "length", "items", "__class__", "and", "in",
    "", "x y",
    "🚀", "\"", "$k",
)


def _member(of: Node, key: str) -> Node:
    """As the parser reads the canonical spelling."""
    return Attribute(of, key) if key.isidentifier() else Index(of, Literal(key))


class Generator:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.scope: list[str] = []

    def pick(self, options: Sequence[T]) -> T:
        return options[self.random.randrange(len(options))]

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    # -- values

    def value(self, depth: int = 3) -> Any:
        roll = self.random.randrange(10 if depth else 6)
        if roll == 0:
            return None
        if roll == 1:
            return self.chance(50)
        if roll in (2, 3):
            return self.number()
        if roll in (4, 5):
            return self.string()
        if roll in (6, 7):
            return [self.value(depth - 1) for _ in range(self.pick((0, 1, 1, 2, 3)))]
        return {self.pick(KEYS): self.value(depth - 1) for _ in range(self.pick((0, 1, 2, 3)))}

    def number(self) -> Any:
        if self.chance(70):
            return self.pick(NUMBERS)
        return self.random.randrange(-1000, 1000) / self.pick((1, 2, 3, 8, 10, 100))

    def string(self) -> str:
        return self.pick(TEXTS) + (self.pick(TEXTS) if self.chance(20) else "")

    def of_kind(self, kind: str) -> Any:
        match kind:
            case "number":
                return self.number()
            case "string":
                return self.string()
            case "boolean":
                return self.chance(50)
            case "array":
                inner = self.pick(("number", "string", "any"))
                return [self.value(2) if inner == "any" else self.of_kind(inner) for _ in range(self.pick((0, 1, 2, 4)))]
            case "object":
                return {self.pick(KEYS): self.value(2) for _ in range(self.pick((0, 1, 2, 4)))}
            case _:
                return self.value()

    def data(self) -> dict[str, Any]:
        """A value for each variable, one of each kind, and for `input` an object with the declared inputs."""
        values = {name: self.of_kind(kind) for name, kind in zip(VARIABLES, KINDS, strict=True)}
        return {**values, "input": {name: self.of_kind(kind or "any") for name, kind in INPUTS.items()}}

    # -- expressions

    def node(self, kind: str = "any", depth: int = 4) -> Node:
        if self.chance(2):
            kind = self.pick(KINDS)
        if kind == "any":
            kind = self.pick(KINDS[:5])
        if depth <= 0 or self.chance(15):
            return self.leaf(kind)
        if self.chance(15):
            return self.generic(kind, depth - 1)
        return getattr(self, f"_{kind}")(depth - 1)  # type: ignore[no-any-return]

    def leaf(self, kind: str) -> Node:
        if self.chance(15):
            names = [name for name, known in INPUTS.items() if known in (kind, None)]
            return _member(Name("input"), self.pick(names))
        if self.chance(60):
            if self.scope and self.chance(25):
                return Name(self.pick(self.scope))
            return Name(VARIABLES[KINDS.index(kind)] if self.chance(95) else self.pick(VARIABLES))
        if kind == "array":
            return ListOf(())
        if kind == "object":
            return ObjectOf(())
        return Literal(None) if self.chance(6) else Literal(self.of_kind(kind))

    def generic(self, kind: str, depth: int) -> Node:
        match self.random.randrange(8):
            case 0:
                return Conditional(self.node("any", depth), self.node(kind, depth), self.node(kind, depth))
            case 1:
                return Binary("??", self.node("any", depth), self.node(kind, depth))
            case 2:
                return Logic(self.pick(("and", "or")), tuple(self.node("any", depth) for _ in range(self.pick((2, 2, 3)))))
            case 3:
                return self.read(depth)
            case 4:
                return Index(self.node("array", depth), self.node("number", depth))
            case 5:
                return Index(self.node("object", depth), self.node("string", depth))
            case 6:
                return Call(self.pick(("first", "last", "min", "max", "avg")), (self.node("array", depth),))
            case _:
                return Call(self.pick(("get", "default")), (self.node("any", depth), self.node("any", depth)))

    def read(self, depth: int) -> Node:
        key = self.pick(KEYS)
        of = self.node("object", depth)
        return _member(of, key)

    def _number(self, depth: int) -> Node:
        match self.random.randrange(7):
            case 0:
                operand = self.node("number", depth)
                return operand if isinstance(operand, Literal) else Unary(self.pick(("-", "+")), operand)
            case 1:
                return Call("len", (self.node(self.pick(("string", "array", "object")), depth),))
            case 2:
                return Call(self.pick(("abs", "floor", "ceil")), (self.node("number", depth),))
            case 3:
                return Call(self.pick(("sum", "count")), (self.node("array", depth),))
            case _:
                op = self.pick(("+", "-", "*", "/", "//", "%", "**"))
                return Binary(op, self.node("number", depth), self.node("number", depth))

    def _string(self, depth: int) -> Node:
        match self.random.randrange(7):
            case 0:
                return Call(self.pick(("upper", "lower", "trim")), (self.node("string", depth),))
            case 1:
                return Call("replace", (self.node("string", depth), Literal(self.pick(TEXTS)), self.node("string", depth)))
            case 2:
                return Call("join", (self.node("array", depth), self.node("string", depth)))
            case 3:
                return Call(self.pick(("str", "json", "type")), (self.node("any", depth),))
            case 4:
                return Binary("+", self.node("string", depth), self.node("string", depth))
            case _:
                return Binary("~", self.node("any", depth), self.node("any", depth))

    def _boolean(self, depth: int) -> Node:
        match self.random.randrange(8):
            case 0:
                return Unary("not", self.node("any", depth))
            case 1:
                kind = self.pick(("number", "string"))
                ops = ("<", "<=", ">", ">=", "==", "!=")
                rest = tuple((self.pick(ops), self.node(kind, depth)) for _ in range(self.pick((1, 1, 2, 3))))
                return Compare(self.node(kind, depth), rest)
            case 2:
                holder = self.node(self.pick(("array", "array", "string", "object")), depth)
                return Compare(self.node("string", depth), ((self.pick(("in", "not in")), holder),))
            case 3:
                texts = ListOf(tuple(Literal(self.pick(TEXTS)) for _ in range(self.pick((1, 2, 3)))))
                return Compare(self.node("any", depth), (("in", texts),))
            case 4:
                name = self.pick(("contains", "startswith", "endswith"))
                return Call(name, (self.node("string", depth), self.node("string", depth)))
            case 5:
                return Call(self.pick(("any", "all")), (self.node("array", depth),))
            case 6:
                return Call("bool", (self.node("any", depth),))
            case _:
                return Compare(self.node("any", depth), ((self.pick(("==", "!=")), self.node("any", depth)),))

    def _array(self, depth: int) -> Node:
        match self.random.randrange(7):
            case 0:
                return Binary("+", self.node("array", depth), self.node("array", depth))
            case 1:
                return Call("keys", (self.node("object", depth),))
            case 2:
                return Call("split", (self.node("string", depth), Literal(self.pick(TEXTS))))
            case 3:
                return Call("reverse", (self.node("array", depth),))
            case 4:
                return self.comprehension(depth)
            case _:
                return ListOf(tuple(self.node("any", depth) for _ in range(self.pick((0, 1, 1, 2, 3)))))

    def comprehension(self, depth: int) -> Node:
        source = self.node("array", depth)
        name = self.pick(("x", "y", "v0"))
        self.scope.append(name)
        element = self.node("any", depth)
        condition = self.node("boolean", depth) if self.chance(50) else None
        self.scope.pop()
        return Comprehension(element, name, source, condition)

    def _object(self, depth: int) -> Node:
        if self.chance(20):
            return Call("merge", (self.node("object", depth), self.node("object", depth)))
        keys = sorted({self.pick(KEYS) for _ in range(self.pick((0, 1, 2, 3)))})
        return ObjectOf(tuple((Literal(key), self.node("any", depth)) for key in keys))
