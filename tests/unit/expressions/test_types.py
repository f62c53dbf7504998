from __future__ import annotations

import pytest

from tests.unit.expressions.reading import tree
from translator.diagnostics import Findings
from translator.expressions.resolve import Names, resolve
from translator.expressions.tree import Slot
from translator.expressions.types import certain_mismatch, kind

TYPES = {("input", "flag"): "boolean", ("input", "n"): "number", ("input", "s"): "string"}


def type_of(slot: Slot) -> str | None:
    return TYPES.get((slot.kind, slot.name))


def mismatches(text: str) -> list[int]:
    """The columns of the certain errors."""
    node = resolve(tree(text), Names(variables=("x",)), Findings())
    return [position.column for position, _ in certain_mismatch(node, type_of)]


@pytest.mark.parametrize(("text", "columns"), [
    ("'a' < 1", [1]), ("input.flag < 1", [1]), ("-'x'", [1]), ("len(5)", [5]), ("1 + 'a'", [1]), ("null + x", [1]),
    ("x and -[1]", [7]),
    ("[i for i in 5]", [13]), ("x matches 5", [1]), ("1 in 2", [1]), ("input.n in 'abc'", [1]), ("upper(input.n)", [7]),
    ("input.s * 2", [1]), ("1 < x < true", [1]), ("input.flag + input.flag", [1]),
])
def test_certain_errors_are_found(text: str, columns: list[int]) -> None:
    assert mismatches(text) == columns


@pytest.mark.parametrize("text", [
    "x < 1", "x + 'a'", "-x", "len(x)", "'a' < input.s", "input.n + 1", "input.flag == 1", "x in x",
    "'a' in input.s", "x ?? 1 < 2",
    "[1] + x", "input.s + x", "not 'a'", "input.n ~ input.flag", "'a' in {}", "5 in [1]", "(x or 1) < 'a'",
])
def test_what_may_work_is_left_alone(text: str) -> None:
    assert mismatches(text) == []


@pytest.mark.parametrize(("text", "expected"), [
    ("x", None), ("1 + x", "number"), ("x + 'a'", "string"), ("x ~ 1", "string"), ("not x", "boolean"),
    ("1 if x else 2", "number"),
    ("1 if x else 'a'", None), ("x ?? 1", None), ("input.s ?? 'a'", "string"), ("null ?? 1", "number"),
    ("1 < 2 and x", None),
    ("1 < 2 and x == 1", "boolean"), ("[x]", "array"), ("{a: x}", "object"), ("len(x)", "number"),
    ("first(x)", None), ("input", "object"),
])
def test_kinds(text: str, expected: str | None) -> None:
    assert kind(resolve(tree(text), Names(variables=("x",)), Findings()), type_of) == expected
