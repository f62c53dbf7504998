"""The reference evaluator: what an expression means, whatever engine runs it.

A walker of our own tree. Libraries that evaluate Python's syntax tree (simpleeval, asteval) bring Python's meaning
along: there `True == 1`, `'a' * 3` is text, attributes reach into objects, `and` short of nothing orders lists, and
spellings such as `&&`, `??`, `c ? a : b` or hyphens in names do not parse. Here values are JSON and nothing else.

Work is bounded: operations, the size of texts, lists and the result. An expression that goes beyond is an
`ExpressionError`, as is one that has no value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from aslant.contracts import Json
from aslant.errors import ExpressionError
from translator.expressions import values
from translator.expressions.functions import Function, find
from translator.expressions.library import contains, read, regex_match
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
    Slot,
    Template,
    Unary,
)
from translator.expressions.values import (
    MAX_ITEMS,
    MAX_TEXT,
    is_number,
    number,
    shown,
)

MAX_OPERATIONS = 100_000
MAX_WORK = 1_500_000  # values and text blocks looked at by comparisons and functions
_DONE = object()


def evaluate(node: Node, slots: Callable[[Slot], Json]) -> Json:
    """The value of a resolved expression; `slots` gives the value of each slot it reads, null for what is missing.

    For `now()`, `uuid()` and `random()` the slots of these kinds are asked, once per call. Values that `slots` gives
    are never changed, but may be part of the result. Raises `ExpressionError`.
    """
    run = _Run(slots)
    try:
        result = run.value(node)
    except RecursionError as error:
        raise ExpressionError("the expression is nested too deeply") from error
    except OverflowError as error:
        raise ExpressionError("a number beyond the range of doubles") from error
    if values.weight(result, MAX_TEXT) > MAX_TEXT:
        raise ExpressionError("the result is too large")
    return result


class _Run:
    def __init__(self, slots: Callable[[Slot], Json]) -> None:
        self.slots = slots
        self.locals: dict[str, Json] = {}
        self.operations = 0
        self.work = 0

    def value(self, node: Node) -> Json:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise ExpressionError(f"more than {MAX_OPERATIONS:,} operations")
        return _WALK[type(node)](self, node)

    def charge(self, *looked_at: Json, cost: str = "deep") -> None:
        """Account for work that grows with values; see `Function.cost`."""
        for value in looked_at:
            if isinstance(value, str):
                self.work += len(value) >> 4
            elif isinstance(value, (list, dict)):
                weight = len(value) if cost == "flat" else values.weight(value, MAX_WORK - self.work)
                self.work += 4 * weight if cost == "heavy" else weight
        if self.work > MAX_WORK:
            raise ExpressionError("more work than one expression may take")

    # -- reading

    def literal(self, node: Literal) -> Json:
        return node.value

    def name(self, node: Name) -> Json:
        raise ExpressionError(f"the name {node.name!r} was not resolved")

    def slot(self, node: Slot) -> Json:
        return self.locals[node.name] if node.kind == "local" and node.name in self.locals else self.slots(node)

    def attribute(self, node: Attribute) -> Json:
        holder = self.value(node.of)
        return holder.get(node.name) if isinstance(holder, dict) else None

    def index(self, node: Index) -> Json:
        return read(self.value(node.of), self.value(node.key))

    # -- operators

    def unary(self, node: Unary) -> Json:
        operand = self.value(node.operand)
        if node.op == "not":
            return not values.truth(operand)
        if not is_number(operand):
            raise ExpressionError(f"{node.op} takes a number, not {shown(operand)}")
        return number(-operand if node.op == "-" else operand)

    def binary(self, node: Binary) -> Json:
        left = self.value(node.left)
        if node.op == "??":
            return self.value(node.right) if left is None else left
        right = self.value(node.right)
        if node.op == "~":
            return self.joined([left, right])
        if node.op == "+" and isinstance(left, str) and isinstance(right, str):
            return self.joined([left, right])
        if node.op == "+" and isinstance(left, list) and isinstance(right, list):
            return self.items(left + right)
        if not is_number(left) or not is_number(right):
            raise ExpressionError(f"{shown(left)} {node.op} {shown(right)} has no value")
        return number(_ARITHMETIC[node.op](number(left), number(right)))

    def compare(self, node: Compare) -> Json:
        left = self.value(node.first)
        for op, operand in node.rest:
            right = self.value(operand)
            if not self.holds(op, left, right):
                return False
            left = right
        return True

    def holds(self, op: str, left: Json, right: Json) -> bool:
        if op in ("==", "!="):
            if type(left) is type(right):
                self.charge(left)
            return values.same(left, right) == (op == "==")
        self.charge(left, right)
        if op in ("in", "not in"):
            return bool(contains(right, left)) == (op == "in")
        if op == "matches":
            return bool(regex_match(left, right))
        numbers = is_number(left) and is_number(right)
        if not numbers and not (isinstance(left, str) and isinstance(right, str)):
            raise ExpressionError(f"{op} compares two numbers or two texts, not {shown(left)} with {shown(right)}")
        if numbers:
            left, right = number(left), number(right)
        else:
            left, right = values.order_of(left), values.order_of(right)
        return bool(_ORDER[op](left, right))

    def logic(self, node: Logic) -> Json:
        result: Json = None
        for item in node.items:
            result = self.value(item)
            if values.truth(result) == (node.op == "or"):
                break
        return result

    def conditional(self, node: Conditional) -> Json:
        return self.value(node.then if values.truth(self.value(node.test)) else node.other)

    # -- making

    def list_of(self, node: ListOf) -> Json:
        return [self.value(item) for item in node.items]

    def object_of(self, node: ObjectOf) -> Json:
        result: dict[str, Json] = {}
        for key_node, value_node in node.items:
            key = self.value(key_node)
            if not isinstance(key, str):
                raise ExpressionError(f"a key is a text, not {shown(key)}")
            result[key] = self.value(value_node)
        return result

    def comprehension(self, node: Comprehension) -> Json:
        source = self.value(node.source)
        if not isinstance(source, list):
            raise ExpressionError(f"a list is made from a list, not from {shown(source)}")
        outer = self.locals.get(node.name, _DONE)
        result: list[Json] = []
        for item in source:
            self.locals[node.name] = item
            self.operations += 1
            if node.condition is None or values.truth(self.value(node.condition)):
                result.append(self.value(node.element))
        if outer is _DONE:
            self.locals.pop(node.name, None)
        else:
            self.locals[node.name] = outer
        return self.items(result)

    def template(self, node: Template) -> Json:
        return self.joined([part if isinstance(part, str) else self.value(part) for part in node.parts])

    def call(self, node: Call) -> Json:
        function = find(node.name)
        if function is None:
            raise ExpressionError(f"there is no function {node.name!r}")
        if not function.least <= len(node.args) <= function.most:
            raise ExpressionError(f"{node.name} was given {len(node.args)} arguments")
        if function.run is None:
            return self.slots(Slot(function.name))
        if function.name == "default" and len(node.args) == 2:  # as lazy as `??`
            return self.binary(Binary("??", *node.args))
        args = [self.value(arg) for arg in node.args]
        return self.applied(function, args)

    def applied(self, function: Function, args: list[Json]) -> Json:
        assert function.run is not None
        if function.cost != "none":
            self.charge(*args, cost=function.cost)
        result = function.run(*args)
        if isinstance(result, str) and len(result) > MAX_TEXT:
            raise ExpressionError(f"a text of more than {MAX_TEXT:,} characters")
        if isinstance(result, (str, list)):
            self.work += len(result) >> (4 if isinstance(result, str) else 0)
        return result

    # -- bounds

    def joined(self, parts: list[Json]) -> str:
        self.charge(*parts, cost="heavy")
        texts = [values.text(part) for part in parts]
        if sum(map(len, texts)) > MAX_TEXT:
            raise ExpressionError(f"a text of more than {MAX_TEXT:,} characters")
        return "".join(texts)

    def items(self, items: list[Json]) -> list[Json]:
        self.work += len(items)
        if len(items) > MAX_ITEMS:
            raise ExpressionError(f"a list of more than {MAX_ITEMS:,} items")
        return items


def _divided(left: float, right: float) -> float:
    if right == 0:
        raise ExpressionError("division by zero")
    return left / right


def _whole_part(left: float, right: float) -> float:
    quotient = _divided(left, right)
    if not math.isfinite(quotient):
        raise ExpressionError("the result is not a finite number")
    return math.floor(quotient)


def _remainder(left: float, right: float) -> float:
    # In this order every engine computes the same double; the sign is that of the divisor.
    return left - number(right * number(_whole_part(left, right)))


def _power(left: float, right: float) -> float:
    try:
        return math.pow(left, right)
    except (OverflowError, ValueError) as error:
        raise ExpressionError("the power is not a finite number") from error


_ARITHMETIC: dict[str, Callable[[Any, Any], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
    "//": _whole_part,
    "%": _remainder,
    "**": _power,
}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_WALK: dict[type, Callable[[_Run, Any], Json]] = {
    Literal: _Run.literal,
    Name: _Run.name,
    Slot: _Run.slot,
    Attribute: _Run.attribute,
    Index: _Run.index,
    Unary: _Run.unary,
    Binary: _Run.binary,
    Compare: _Run.compare,
    Logic: _Run.logic,
    Conditional: _Run.conditional,
    ListOf: _Run.list_of,
    ObjectOf: _Run.object_of,
    Comprehension: _Run.comprehension,
    Template: _Run.template,
    Call: _Run.call,
}
