"""YAML 1.2 scalars, JSON as it is written elsewhere, and positions of all values."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import few
from translator.diagnostics import Findings, Position
from translator.source import Map, Seq, load, plain, position_of


def read(text: str | bytes) -> Map:
    findings = Findings()
    data = load(text, findings, "f.yaml")
    assert data is not None, [one.message for one in findings]
    assert not list(findings)
    return data


@pytest.mark.parametrize(("written", "value"), [
    ("null", None), ("Null", None), ("NULL", None), ("~", None), ("", None), ("true", True), ("True", True), ("TRUE", True),
    ("false", False), ("False", False), ("FALSE", False),
    ("yes", "yes"), ("no", "no"), ("on", "on"), ("off", "off"), ("y", "y"), ("N", "N"), ("nULL", "nULL"), ("tRUE", "tRUE"),
    ("0", 0), ("-0", 0), ("12", 12), ("-7", -7), ("9007199254740992", 2**53), ("-9007199254740992", -(2**53)),
    ("010", "010"), ("0o17", "0o17"), ("0x1F", "0x1F"), ("0b1", "0b1"), ("1_000", "1_000"), ("+1", "+1"), ("00", "00"),
    ("12:30:45", "12:30:45"), ("12:30", "12:30"), ("2026-01-31", "2026-01-31"), ("2026-01-31T09:00:00Z", "2026-01-31T09:00:00Z"),
    ("0.5", 0.5), ("-1.25e-3", -0.00125), ("1e3", 1000.0), ("1E+3", 1000.0), (".5", ".5"), ("1.", "1."), (".inf", ".inf"),
    (".nan", ".nan"), ("1e", "1e"), ("1.2.3", "1.2.3"), ("=", "="), ("'12'", "12"), ('"true"', "true"), ("'~'", "~"),
    ("! 12", "12"), ("|-\n  12", "12"), (">-\n  a\n  b", "a b"), ('"\\x41\\u00e9\\U0001F6A6"', "Aé🚦"), ("a#b", "a#b"), ("a #b", "a"),
])
def test_scalar(written: str, value: Any) -> None:
    found = read(f"key: {written}\n")["key"]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(("text", "data"), [
    ('{"a":1}', {"a": 1}),
    ('{"a":"b\\/c"}', {"a": "b/c"}),
    ('{\n\t"a":\t1,\n\t"b": [\n\t\t1]}', {"a": 1, "b": [1]}),
    ('\ufeff{"a": 1}', {"a": 1}),
    ('{"\\ud83d\\udea6": "\\uD83D\\uDEA6!"}', {"🚦": "🚦!"}),
    ('{"a": "\\\\ud83d\\\\udea6"}', {"a": "\\ud83d\\udea6"}),
    ('{"a": "\\\\\\ud83d\\udea6"}', {"a": "\\🚦"}),
    ('{"a": "x \u2028 y \u2029", "\x85": "\x85 z"}', {"a": "x \u2028 y \u2029", "\x85": "\x85 z"}),
    ('{"a": "\ue000\u2028\ue001"}', {"a": "\ue000\u2028\ue001"}),
    ("%YAML 1.1\n---\na: yes\n...\n", {"a": "yes"}),
    ("1: a\nnull: b\ntrue: c\n", {"1": "a", "null": "b", "true": "c"}),
    ("&k a: 1\nb: {*k : 2}\n", {"a": 1, "b": {"a": 2}}),
])
def test_text(text: str, data: Any) -> None:
    assert plain(read(text)) == data


# libyaml bounds keys without `?` to 1,024 bytes, and control characters have to be written as escapes.
KEYS = st.text(max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@few(80, derandomize=True)
@given(st.dictionaries(KEYS.filter(lambda key: key != "<<"), VALUES, max_size=4), st.sampled_from([None, 1, "\t"]))
def test_json_is_read_as_it_was_written(data: Any, indent: Any) -> None:
    loaded = plain(read(json.dumps(data, indent=indent)))
    assert loaded == data
    assert json.dumps(loaded) == json.dumps(data)  # no 1 for 1.0, no 0 for false


PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\x85\n\t", exclude_characters="\ufffe\uffff"))


@few(80, derandomize=True)
@given(st.dictionaries(PRINTABLE.filter(lambda text: len(text) < 40), PRINTABLE, max_size=4))
def test_json_that_keeps_its_characters(data: dict[str, str]) -> None:
    assert plain(read(json.dumps(data, ensure_ascii=False))) == data


@few(80, derandomize=True)
@given(st.text() | st.binary() | st.text("ab:- \n\t{}[],'\"&*!|>%@`#?\\0"))
def test_any_text_gives_data_or_findings(text: str | bytes) -> None:
    findings = Findings()
    lines = text.count("\n" if isinstance(text, str) else b"\n") + 1  # type: ignore[arg-type]
    assert (load(text, findings) is None) == findings.has_errors
    assert all(1 <= one.position.line <= lines + 1 and one.position.column >= 1 for one in findings)


def test_positions() -> None:
    data = read('name: x\n# é\nsteps:\n  - id: a\n    config: {"é": [1, two, *n]}\n'.replace("*n", "3"))
    assert (data.pos.line, data.pos.column) == (1, 1)
    assert data.at_key("steps")[:3] == (3, 1, 5)
    assert data.at("name")[:3] == (1, 7, 1)
    step = data["steps"][0]
    assert step.pos[:2] == (4, 5)
    assert step["config"].at_key("é")[:3] == (5, 15, 1)
    assert step["config"]["é"].at(1)[:3] == (5, 23, 3)
    assert position_of(data, ("steps", 0, "config", "é", 2))[:2] == (5, 28)
    assert position_of(data, ("steps", 0, "config", "nothing", 2))[:2] == (5, 13)
    assert position_of(data, ("steps", 7))[:2] == (4, 3)


@pytest.mark.parametrize(("written", "line", "column"), [
    ("text", 1, 6), ('"text"', 1, 7), ("'text'", 1, 7), ("|\n  text\n", 2, 3), (">-\n\n    text\n", 2, 5), ("|\n", 1, 1),
    ("&x 'text'", 1, 6),
])
def test_a_text_begins_where_its_characters_do(written: str, line: int, column: int) -> None:
    assert read(f"key: {written}").at("key")[:2] == (line, column)


def test_old_line_breaks_do_not_move_positions() -> None:
    data = read('a: "\u2028\u2029\x85"\nb: c\n')
    assert data.at("b") == Position(2, 4, 1, "f.yaml")


def test_an_alias_is_a_copy() -> None:
    data = read("a: &x {n: [1]}\nb: *x\n")
    data["b"]["n"].add(2)
    assert plain(data) == {"a": {"n": [1]}, "b": {"n": [1, 2]}}
    assert data["b"].at("n")[:2] == (1, 11)
    assert data.at("b")[:2] == (2, 4)


def test_an_anchor_may_be_given_again() -> None:
    assert plain(read("a: &x 1\nb: &x 2\nc: *x\n")) == {"a": 1, "b": 2, "c": 2}


def test_maps_and_lists_built_by_hand() -> None:
    here = Position(3, 4, 1, "f")
    made = Map(here)
    made.put("a", 1)
    made.move("b", made, "a")
    made.move("c", made)
    items = Seq(here)
    items.add(made)
    assert made == {"a": 1, "b": 1}
    assert (made.at("a"), made.at("nothing"), items.at(0), items.at(5)) == (here,) * 4


def test_floats_keep_their_sign() -> None:
    assert math.copysign(1, read("a: -0.0")["a"]) == -1


@pytest.mark.parametrize(("text", "expected"), [
    ('a: "x \\ud83d\\ude80 y"', "x \U0001f680 y"), ('{"a": "\\\\\\ud83d\\ude80"}', "\\\U0001f680"),
    ("a: 'x \\ud83d\\ude80'", "x \\ud83d\\ude80"), ("a: \\ud83d\\ude80", "\\ud83d\\ude80"),
    ("a: |\n  \\ud83d\\ude80\n", "\\ud83d\\ude80\n"), ('a: "\\\\ud83d\\\\ude80"', "\\ud83d\\ude80"),
])
def test_pairs_of_json_escapes_are_one_character_in_double_quotes_alone(text: str, expected: str) -> None:
    findings = Findings()
    document = load(text, findings)
    assert document is not None, findings.items
    assert document["a"] == expected


def test_what_follows_an_escaped_pair_keeps_its_column() -> None:
    document = load('{"a": "\\ud83d\\ude80", "b": 1}', Findings())
    assert document is not None
    assert document.at_key("b").column == 24
