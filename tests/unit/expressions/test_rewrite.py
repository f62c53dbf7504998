"""Replacing parts of a tree: every kind of node takes its parts back, and what does not change stays the same object."""

from __future__ import annotations

import gc
from typing import get_args

import pytest

from translator.diagnostics import Position, TranslatorError
from translator.expressions.rewrite import rewrite
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
from translator.pipeline import compile_source

AT = Position(3, 4)
A, B, C = Name("a", AT), Name("b", AT), Name("c", AT)
KINDS = [
    Literal(1, AT), Name("x", AT), Slot("output", "x", AT), Attribute(A, "k", AT), Index(A, B, AT), Unary("not", A, AT),
    Binary("+", A, B, AT), Compare(A, (("<", B), ("<=", C)), AT), Logic("and", (A, B, C), AT), Conditional(A, B, C, AT),
    ListOf((A, B), AT), ObjectOf(((Literal("k"), A), (Literal("l"), B)), AT), Comprehension(A, "n", B, C, AT),
    Comprehension(A, "n", B, None, AT), Call("max", (A, B), AT), Template(("x", A, "y", B), AT),
]


@pytest.mark.parametrize("node", KINDS, ids=lambda node: type(node).__name__)
def test_parts_are_replaced_where_they_stand(node: Node) -> None:
    def other(part: Node) -> Node | None:
        return Name(part.name.upper(), part.at) if part in (A, B, C) and isinstance(part, Name) else None

    there = rewrite(node, other)
    back = rewrite(there, lambda part: Name(part.name.lower(), part.at) if isinstance(part, Name) and part.name in "ABC" else None)
    assert repr(there) == repr(node).replace("'a'", "'A'").replace("'b'", "'B'").replace("'c'", "'C'")
    assert back == node and there.at == AT
    assert rewrite(node, lambda part: None) is node


def test_every_kind_of_node_is_among_them() -> None:
    assert {type(node) for node in KINDS} == set(get_args(Node))


@pytest.mark.parametrize("on", [True, False])
def test_a_compilation_leaves_the_search_for_cycles_as_it_was(on: bool) -> None:
    before = gc.isenabled()
    (gc.enable if on else gc.disable)()
    try:
        with pytest.raises(TranslatorError):
            compile_source("steps: 1")
        assert gc.isenabled() is on
    finally:
        (gc.enable if before else gc.disable)()
