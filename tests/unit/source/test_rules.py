"""Every finding about the text itself, at its place."""

from __future__ import annotations

from typing import Any

import pytest

from translator.diagnostics import Diagnostic, Findings, Rule, Severity
from translator.findings import source as rules
from translator.source import MAX_BYTES, MAX_DEPTH, MAX_NODES, load


def read(text: str | bytes) -> tuple[Any, list[Diagnostic]]:
    findings = Findings()
    return load(text, findings, "f.yaml"), list(findings)


# rule, text, line:column of the finding, a part of its message or hint
CASES: list[tuple[Rule, str | bytes, str, str]] = [
    (rules.SYNTAX, "a: b: c\n", "1:5", "quote a text that contains ': '"),
    (rules.SYNTAX, "a:\n\t- b\n", "2:1", "indent with spaces"),
    (rules.SYNTAX, 'a:\n  - "x\nb: 1\n', "4:1", "begins in line 2"),
    (rules.SYNTAX, "a: [1,", "1:7", "close the bracket"),
    (rules.SYNTAX, '{"a": 1 "b": 2}', "1:12", "add the comma"),
    (rules.SYNTAX, "a: @x", "1:4", "quote a text that begins with @"),
    (rules.SYNTAX, "a: `x`", "1:4", "quote a text that begins with `"),
    (rules.SYNTAX, "cron: */5 * * * *", "1:8", "quote a text that begins with *"),
    (rules.SYNTAX, "b: 1\na: *x", "2:4", "no anchor &x"),
    (rules.SYNTAX, 'a: "\\d"', "1:5", "\\\\ for a backslash"),
    (rules.SYNTAX, '{"a": "\\ud800"}', "1:10", "half of a surrogate pair"),
    (rules.SYNTAX, "a: 1\n...\nfoo", "3:1", "one definition"),
    (rules.TOO_LARGE, "a: " + "x" * MAX_BYTES, "1:1", "1,048,576"),
    (rules.TOO_DEEP, "a: " + "[" * (MAX_DEPTH + 1), f"1:{4 + MAX_DEPTH}", "64 levels"),
    (rules.TOO_MANY_NODES, "a: [" + "1," * MAX_NODES + "]", f"1:{5 + 2 * (MAX_NODES - 3)}", "250,000"),
    (rules.DUPLICATE_KEY, "a: 1\nb: 2\na: 3\n", "3:1", "'a' stands twice"),
    (rules.DUPLICATE_KEY, "steps:\n  - {id: x, 'id': y}\n", "2:14", "'id' stands twice"),
    (rules.DUPLICATE_KEY, '1: a\n"1": b\n', "2:2", "'1' stands twice"),
    (rules.TAG, "a: !!python/object:os.system x", "1:4", "write the plain value"),
    (rules.TAG, "a: !include x.yaml", "1:4", "write the plain value"),
    (rules.TAG, "a:\n  !!set {x}\n", "2:3", "write the plain value"),
    (rules.TAG, "!k a: 1", "1:1", "write the plain value"),
    (rules.MERGE_KEY, "a: &a {x: 1}\nb:\n  <<: *a\n", "3:3", "write the keys out"),
    (rules.SELF_REFERENCE, "a: &x\n  b: *x\n", "2:6", "stands inside"),
    (rules.SELF_REFERENCE, "a: &x [1, [*x]]", "1:12", "stands inside"),
    (rules.MANY_DOCUMENTS, "a: 1\n---\nb: 2\n", "2:1", "more than one document"),
    (rules.KEY_NOT_TEXT, "? [a]\n: 1\n", "1:3", "must be a text"),
    (rules.KEY_NOT_TEXT, "a:\n  {b: 1}: c\n", "2:3", "must be a text"),
    (rules.BIG_INTEGER, "a: 9007199254740993", "1:4", '"9007199254740993"'),
    (rules.BIG_INTEGER, "a: [1, -9007199254740993]", "1:8", '"-9007199254740993"'),
    (rules.NOT_A_MAPPING, "- a\n- b\n", "1:1", "not a list"),
    (rules.NOT_A_MAPPING, "", "1:1", "an empty file"),
    (rules.NOT_A_MAPPING, "# nothing\n", "1:1", "an empty file"),
    (rules.NOT_A_MAPPING, "name", "1:1", "not a text"),
    (rules.NOT_A_MAPPING, "3.5", "1:1", "not a number"),
    (rules.NOT_A_MAPPING, "true", "1:1", "not true or false"),
    (rules.NUMBER_RANGE, "a: 1e999", "1:4", "1e999"),
    (rules.NUMBER_RANGE, "a: -1" + "0" * 500 + ".5", "1:4", "double"),
    (rules.ENCODING, b"a: 1\nb: \xc3\xa9\xff", "2:5", "0xff"),
    (rules.ENCODING, b"\xff\xfea\x00", "1:1", "save the file as UTF-8"),
    (rules.ENCODING, "a: 1\n\u00e9: \x00", "2:4", "U+0000"),
    (rules.ENCODING, '{"a": "x\x7f"}', "1:9", '"\\u007f"'),
    (rules.ENCODING, "a: \ud800", "1:4", "UTF-8"),
]


@pytest.mark.parametrize(("rule", "text", "place", "words"), CASES, ids=lambda value: getattr(value, "title", None) or str(value)[:20])
def test_rule(rule: Rule, text: str | bytes, place: str, words: str) -> None:
    data, found = read(text)
    assert data is None or rule == rules.DUPLICATE_KEY  # what else is wrong is told at once
    first = found[0]
    assert first.code == rule.code
    assert f"{first.position.line}:{first.position.column}" == place
    assert first.position.file == "f.yaml"
    assert words in f"{first.message} {first.hint}"


def test_every_rule_is_tested() -> None:
    written = {rule.code for rule in vars(rules).values() if isinstance(rule, Rule)}
    assert written == {rule.code for rule, *_ in CASES}


def test_all_of_a_kind_are_told_at_once() -> None:
    _, found = read("a: !x 1\nb: 9007199254740993\na: 2\nc: 1e999\n")
    assert [one.code for one in sorted(found, key=lambda one: one.position)] == ["S006", "S011", "S005", "S013"]
    assert all(one.severity is Severity.ERROR for one in found)


def test_a_message_is_never_endless() -> None:
    _, found = read(f"a: !<{'x' * 5000}> 1")
    assert len(found[0].message) <= 1001


def test_a_duplicate_names_the_first_place() -> None:
    _, found = read("a: 1\nb: 2\na: 3\n")
    assert [(text, at.line, at.column) for text, at in found[0].related] == [("first here", 1, 1)]


@pytest.mark.parametrize(("text", "line", "column", "length", "message", "hint"), [
    ("steps:\n  - id hurry\n    type: wait\n", 2, 5, 8, "`id hurry` has no colon", "write `id: hurry`"),
    ("name a\nsteps:\n  - id: x\n", 1, 1, 6, "`name a` has no colon", "write `name: a`"),
    ("name: a\n\nsteps\n  # the first\n  - id: x\n", 3, 1, 5, "`steps` has no colon", "write `steps:`"),
    ("steps:\n  - id: a\n    config\n      x: 1\n", 3, 5, 6, "`config` has no colon", "write `config:`"),
    ("a: some text\n  that goes\n  on: here\n", 3, 5, 1, "mapping values are not allowed in this context", "quote a text"),
    ("steps:\n  - id: a\n    x: 1\n - id: b\n", 4, 2, 1, "did not find expected key", "column 2; the item before it begins in column 3"),
    ("steps:\n  - id: a\n    x: 1\n   - id: b\n", 4, 4, 1, "expected '-' indicator", "column 4; the item before it"),
])
def test_the_line_with_the_mistake_is_named(
    text: str, line: int, column: int, length: int, message: str, hint: str
) -> None:
    findings = Findings()
    assert load(text, findings) is None
    (found,) = findings.items
    assert found.position[:3] == (line, column, length)
    assert message in found.message
    assert hint in found.hint


@pytest.mark.parametrize(("written", "shown"), [
    ("message: {{ input.x }}", '"{{ input.x }}"'), ("message: {{ input.x }} and {{ input.y }}  # why", '"{{ input.x }} and {{ input.y }}"'),
    ("items: [{{ input.x }}, 2]", '"{{ input.x }}"'), ('message: {{ "a" }}', "'{{ \"a\" }}'"),
])
def test_holes_without_quotes_are_shown_with_them(written: str, shown: str) -> None:
    findings = Findings()
    assert load(f"{written}\n", findings) is None
    assert findings.items[0].code in ("S010", "S001")
    assert findings.items[0].hint == f"write it in quotes: {shown}"
