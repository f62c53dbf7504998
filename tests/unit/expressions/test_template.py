from __future__ import annotations

import pytest

from tests.unit.expressions.reading import START, rendered
from translator.diagnostics import Findings, Position
from translator.expressions.template import parse_template, parse_value
from translator.expressions.tree import Attribute, Literal, Name, ObjectOf, Template
from translator.source import load


@pytest.mark.parametrize(("text", "expected"), [
    ("plain", Literal("plain")), ("", Literal("")), ("a } b }}", Literal("a } b }}")), ("{ a }", Literal("{ a }")),
    ("{{ x }}", Name("x")), ("${{ x }}", Name("x")), ("{{x}}", Name("x")),
    (" {{ x }}", Template((" ", Name("x")))), ("{{ x }}\n", Template((Name("x"), "\n"))),
    ("{{ x }}{{ y }}", Template((Name("x"), Name("y")))),
    (r"\{{ x }}", Literal("{{ x }}")), (r"\${{ x }}", Literal("${{ x }}")),
    (r"\{{{{ x }}", Template(("{{", Name("x")))),
    ("{{ '}}' }}", Literal("}}")),
    ("{{ {'a': {b: x}}}}", ObjectOf(((Literal("a"), ObjectOf(((Literal("b"), Name("x")),))),))),
    ("a{{ {} }}b", Template(("a", ObjectOf(()), "b"))),
])
def test_holes_and_text(text: str, expected: object) -> None:
    findings = Findings()
    assert parse_template(text, START, findings) == expected
    assert not findings.items


@pytest.mark.parametrize(("text", "code", "line", "column"), [
    ("{{ x", "E004", 3, 4), ("ab ${{ x", "E004", 3, 7), ("{{", "E004", 3, 4), ("{{ }}", "E001", 3, 4),
    ("{{ a b }}", "E001", 3, 9),
    ("ok {{ x }} {{ 'y }}", "E003", 3, 18), ("one\ntwo {{ a = b }}", "E002", 4, 13), ("{{ a }} {{ b", "E004", 3, 12),
])
def test_a_broken_hole_is_a_finding_at_its_place(text: str, code: str, line: int, column: int) -> None:
    findings = Findings()
    parse_template(text, Position(3, 4), findings)
    assert [(d.code, d.position.line, d.position.column) for d in findings] == [(code, line, column)]


def test_one_hole_keeps_the_type_and_text_renders_it() -> None:
    for given in (True, 7, 1.5, None, "x", [1], {"a": 1}):
        assert rendered("{{ v }}", {"v": given}) == given
        assert type(rendered("{{ v }}", {"v": given})) is type(given)
    assert rendered("<{{ v }}>", {"v": None}) == "<>"
    assert rendered("<{{ v }}>", {"v": True}) == "<true>"
    assert rendered("<{{ v }}>", {"v": [1, "é", None, {"b": False, "a": 2.0}]}) == '<[1,"é",null,{"b":false,"a":2}]>'


def test_values_are_put_into_text_without_adding_or_removing_anything() -> None:
    note = "he said \"hi\"\\ \n {x} $.y 'z' {{ v }} {% $states %}"
    assert rendered('{"msg": "{{ v }}"}', {"v": note}) == '{"msg": "' + note + '"}'
    assert rendered("{{ v }}", {"v": note}) == note


def test_configuration_is_read_value_by_value_with_positions() -> None:
    findings = Findings()
    config = load("a: '{{ x.y }}'\nb: [1, 'z', {c: '{{ oops'}]\n", findings, "f.yaml")
    assert config is not None
    read = parse_value(config, config.pos, findings)
    assert read["a"] == Attribute(Name("x"), "y")
    assert read["b"][:2] == [1, Literal("z")]
    assert [(d.code, d.position.line, d.position.file) for d in findings] == [("E004", 2, "f.yaml")]
    assert parse_value({"a": ["{{ x }}", None]}, START, findings) == {"a": [Name("x"), None]}
