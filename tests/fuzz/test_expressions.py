"""A bounded sample of what `python -m tests.fuzz.expressions` does at length, and texts that nobody wrote."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz.differential import check, prepare
from tests.fuzz.engines import NodeEngine, Outcome, agree, local
from tests.fuzz.generate import TEXTS, Generator
from translator.diagnostics import NOWHERE, Findings
from translator.expressions.jsonata import text_literal, write
from translator.expressions.parser import parse
from translator.expressions.template import parse_template
from translator.expressions.tree import Attribute, Index, Literal, Node, ObjectOf, Slot, Template

BOUNDED = settings(max_examples=150, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture])

hostile = st.text() | st.lists(st.sampled_from([*TEXTS, "{%", "%}", "{", "%", "$states", "\\", "\"", "\\u0024"])).map("".join)


@pytest.fixture(scope="module")
def node_engine() -> Iterator[NodeEngine]:
    with NodeEngine() as engine:
        yield engine


@BOUNDED
@given(random=st.randoms(use_true_random=False))
def test_three_engines_agree_on_generated_expressions(random: Random, node_engine: NodeEngine) -> None:
    generator = Generator(random)
    check([prepare(generator.node(), generator.data())], node_engine)


def test_three_engines_agree_on_a_fixed_sample(node_engine: NodeEngine) -> None:
    cases = []
    for number in range(250):
        generator = Generator(Random(f"sample/{number}"))
        cases.append(prepare(generator.node(), generator.data()))
    native = check(cases, node_engine)
    assert native > 150, "most generated expressions should have a JSONata form"
    assert sum(case.expected.state == "ok" for case in cases) > 100, "most generated expressions should have a value"


@BOUNDED
@given(text=hostile)
def test_user_text_comes_out_as_itself_and_never_as_code(text: str, node_engine: NodeEngine) -> None:
    slot, holder = Slot("var", "x"), Slot("var", "holder")
    trees: list[tuple[Node, Any]] = [
        (Literal(text), text),
        (Template((text, slot, text)), f"{text}v{text}"),
        (Attribute(slot, text), None),
        (Attribute(holder, text), "found"),
        (Index(holder, Literal(text)), "found"),
        (Index(holder, Literal(text + "?")), None),
    ]
    if text != "__proto__":
        trees.append((ObjectOf(((Literal(text), Literal(text)),)), {text: text}))
    batch = [(write(tree, lambda slot: f"${slot.name}"), {"x": "v", "holder": {text: "found"}}) for tree, _ in trees]
    for (_, expected), (code, data), original in zip(trees, batch, node_engine.run(batch), strict=True):
        assert agree(Outcome("ok", expected), original), code
        assert agree(Outcome("ok", expected), local(code, data)), code


@BOUNDED
@given(text=hostile)
def test_a_literal_holds_nothing_that_a_scanner_could_take_for_code(text: str) -> None:
    code = text_literal(text)
    assert code[0] == code[-1] == '"'
    inside = code[1:-1]
    assert "$" not in inside and "{%" not in inside and "%}" not in inside
    assert '"' not in inside.replace("\\\\", "").replace('\\"', "")
    assert all(character >= " " for character in inside)


@BOUNDED
@given(text=st.text(alphabet=st.sampled_from("ab1.'\"\\[](){}$|&!=<>+-*/%~?:, \n\té🚀") | st.characters(), max_size=60))
def test_any_text_is_an_expression_or_a_finding(text: str) -> None:
    for read in (parse, parse_template):
        findings = Findings()
        node = read(text, NOWHERE, findings)
        assert node is not None or findings.has_errors
        for found in findings:
            assert found.position.line >= 1 and found.position.column >= 1


@pytest.mark.parametrize("text", [
    "(" * 19_000, "[" * 19_000, "{a:" * 6_000, "-" * 19_000 + "1", "not " * 4_900 + "a",
    "a" + "+a" * 9_000, "a" + ".a" * 9_000,
    "a" + "[0]" * 6_000, "a" + " ?? a" * 3_900, "a" + "**a" * 6_000, "a ? " * 4_000, "a" + "|len" * 4_000, "'" + "\\'" * 9_000,
    "{{" * 9_000, "1" * 19_000, "a" * 30_000, "a-" * 9_000, "a if " * 3_900, "f(" * 9_000, "a<" * 9_000 + "a",
    "a or " * 3_900 + "a",
])
def test_long_and_deep_texts_are_findings_in_time(text: str) -> None:
    for read in (parse, parse_template):
        findings = Findings()
        before = time.thread_time()
        read(text, NOWHERE, findings, {"a-a-a", "a-b"})
        assert time.thread_time() - before < 2
        if read is parse:
            assert [found.code for found in findings] in (["E001"], ["E003"], ["E005"], ["E006"], ["E007"])
