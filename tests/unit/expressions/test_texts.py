"""Trees as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant.errors import ExpressionError
from tests.unit.expressions.reading import START, tree
from translator.diagnostics import Findings
from translator.expressions.serialize import dump, load
from translator.expressions.template import parse_template
from translator.expressions.tree import Slot, Template
from translator.expressions.unparse import unparse, unparse_template

EXPRESSIONS = [
    "a", "a.b.c", "a['x y'].b", "a[0]", "a.b-c", "not a == b", "(not a) == b", "a and (b or c)", "a - (b - c)",
    "(a + b) * c",
    "-(-a)", "- a ** b", "(-a) ** b", "(-5) ** 2", "a ** -b", "(a ?? b) ?? c", "a ?? b ?? c",
    "a if b else c if d else e",
    "(a if b else c) if d else e", "[x for x in y if z]", "[(x if y else z) for x in (a if b else c)]",
    "{a: 1, 'b c': [2], (d): 3}",
    "f()", "f(a, [b])", "'it\\'s' + \"\\n\"", "a < b <= c != d", "(a < b) == c", "a in [1, 2.5, true, null]",
    "a not in b", "a matches '\\\\d'",
    "a ~ b ~ c", "a ~ (b + c)", "-1", "a - -1", "1e300", "0.0", "(a and b) and c", "(1).a", "'é🚀{{'",
]


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_canonical_text_reads_as_the_same_tree(text: str) -> None:
    node = tree(text, ("b-c",))
    again = unparse(node)
    assert tree(again, ("b-c",)) == node
    assert unparse(tree(again, ("b-c",))) == again


def test_other_spellings_become_canonical() -> None:
    assert unparse(tree("!a && b || c === None ? x : y")) == "x if not a and b or c == null else y"


@pytest.mark.parametrize("text", [
    "plain", "a {{ b }} c", "{{ b.c }}", r"\{{ b }} {{ c }}", r"\${{ x", "{{ {'a': {'b': 1}} }}", "{{ '}}' }}!",
])
def test_templates_read_as_the_same_template(text: str) -> None:
    node = parse_template(text, START, Findings())
    findings = Findings()
    assert parse_template(unparse_template(node), START, findings) == node
    assert not findings.items


def test_a_resolved_tree_has_no_text() -> None:
    with pytest.raises(ValueError, match="resolved"):
        unparse(Slot("input"))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_trees_travel_as_json(text: str) -> None:
    node = tree(text, ("b-c",))
    assert load(json.loads(json.dumps(dump(node)))) == node
    whole = Template(("a", node, Slot("output", "x")))
    assert load(json.loads(json.dumps(dump(whole)))) == whole


def _nested(levels: int) -> Any:
    data: Any = ["lit", 1]
    for _ in range(levels):
        data = ["unary", "-", data]
    return data


@pytest.mark.parametrize("data", [
    None, 1, "lit", [], ["lit"], ["lit", []], ["nope", 1], ["call", 1], ["unary", "-"], ["object", [1]], [[]], {"a": 1},
    ["lit", 1, 2],
    _nested(150), _nested(5_000), ["list", *[["lit", 1]] * 20_000], ["attr", ["lit", 1], 5], ["compare", ["lit", 1], ["<"]],
])
def test_foreign_json_is_an_expression_error(data: Any) -> None:
    with pytest.raises(ExpressionError):
        load(data)
