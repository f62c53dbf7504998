"""Inputs against their declaration: defaults, types, bounds, and every problem at once."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant.inputs import from_text, misfits, prepare
from tests.examples import few

TYPED: dict[str, dict[str, Any]] = {
    "dry_run": {"type": "boolean", "default": True},
    "n": {"type": "integer", "default": 5},
    "s": {"type": "string", "default": "dflt"},
}


def pointers(schema: Any, value: Any) -> list[str]:
    return [problem.pointer for problem in prepare(schema, value)[1]]


@pytest.mark.parametrize(("given_", "expected"), [
    ({}, {"dry_run": True, "n": 5, "s": "dflt"}),
    ({"dry_run": False, "n": 0, "s": ""}, {"dry_run": False, "n": 0, "s": ""}),
    ({"n": 7.0}, {"dry_run": True, "n": 7, "s": "dflt"}),
])
def test_only_an_absent_input_takes_its_default(given_: Any, expected: Any) -> None:
    value, problems = prepare(TYPED, given_)
    assert not problems
    assert value == expected
    assert {name: type(item) for name, item in value.items()} == {name: type(item) for name, item in expected.items()}


@pytest.mark.parametrize("given_", [
    {"dry_run": "false"}, {"dry_run": None}, {"dry_run": 0}, {"n": "7"}, {"n": True}, {"n": 7.5}, {"n": None},
    {"s": 1}, {"s": None}, {"s": []},
])
def test_nothing_is_converted(given_: dict[str, Any]) -> None:
    (name,) = given_
    _, problems = prepare(TYPED, given_)
    assert [problem.pointer for problem in problems] == [f"/{name}"]
    assert name in problems[0].message


def test_all_problems_are_reported_at_once() -> None:
    schema = {
        "env": {"type": "string", "required": True, "enum": ["dev", "prod"]},
        "who": {"type": "string", "required": True},
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "list": {"type": "array", "items": {"type": "object", "properties": {"a/b": {"type": "integer"}}}},
    }
    found = pointers(schema, {"env": "test", "size": 10, "list": [{}, {"a/b": "x"}, 3], "whoo": 1})
    assert found == ["/env", "/who", "/size", "/list/1/a~1b", "/list/2", "/whoo"]


def test_an_unknown_name_gets_a_suggestion() -> None:
    _, (problem,) = prepare(TYPED, {"dry_runn": True})
    assert "did you mean dry_run?" in problem.message


def test_a_workflow_without_declared_inputs_takes_anything_but_one_that_declares_none_takes_nothing() -> None:
    assert prepare(None, {"a": [1, None]}) == ({"a": [1, None]}, [])
    assert pointers({}, {"a": 1}) == ["/a"]
    assert pointers(None, [1]) == [""]


def test_a_required_input_with_a_default_may_be_left_out() -> None:
    assert prepare({"a": {"type": "integer", "required": True, "default": 0}}, {}) == ({"a": 0}, [])


def test_an_optional_input_without_default_stays_absent() -> None:
    assert prepare({"a": {"type": "integer"}}, {}) == ({}, [])


def test_defaults_are_not_shared_between_executions() -> None:
    schema = {"tags": {"type": "array", "default": []}}
    prepare(schema, {})[0]["tags"].append(1)
    assert prepare(schema, {})[0] == {"tags": []}


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 356686000032329832, math.inf, math.nan])
def test_numbers_that_json_would_change_are_refused_at_any_depth(value: float) -> None:
    assert pointers({"a": {"type": "any"}}, {"a": {"b": [value]}}) == ["/a/b/0"]
    assert pointers(None, {"a": value}) == ["/a"]


@pytest.mark.parametrize(("row", "good", "bad"), [
    ({"type": "number", "minimum": 1, "maximum": 2}, [1, 2, 1.5], [0.99, 2.01, True]),
    ({"type": "number", "exclusiveMinimum": 1}, [1.001], [1]),
    ({"type": "number", "multipleOf": 0.1}, [0.3, 7], [0.25]),
    ({"type": "string", "min_length": 2, "max_length": 3}, ["ab", "äöü"], ["a", "abcd"]),
    ({"type": "string", "minLength": 2}, ["ab"], ["a"]),
    ({"type": "string", "pattern": "^v[0-9]+$"}, ["v1"], ["v", "xv1"]),
    ({"type": "array", "min_items": 1, "max_items": 2}, [[1]], [[], [1, 2, 3]]),
    ({"type": "array", "uniqueItems": True}, [[1, True, "1"]], [[1, 1.0]]),
    ({"type": ["string", "null"]}, ["", None], [0]),
    ({"type": "string", "nullable": True}, [None], [1]),
    ({"enum": [1, "a", None]}, [1, 1.0, "a", None], [True, "1"]),
    ({"type": "object", "properties": {"a": {"required": True}}}, [{"a": None, "b": 1}], [{}, {"b": 1}]),
    ({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False},
        [{"a": 1}], [{"a": 1, "b": 2}, {}]),
    ({"type": "object", "additionalProperties": {"type": "integer"}}, [{"x": 1}], [{"x": "1"}]),
])
def test_the_words_of_json_schema(row: dict[str, Any], good: list[Any], bad: list[Any]) -> None:
    for value in good:
        assert prepare({"x": row}, {"x": value})[1] == [], value
    for value in bad:
        assert prepare({"x": row}, {"x": value})[1], value


def test_a_hostile_pattern_costs_linear_time_and_an_unreadable_one_is_a_problem() -> None:
    assert pointers({"a": {"type": "string", "pattern": "^(a+)+$"}}, {"a": "a" * 50_000 + "!"}) == ["/a"]
    (problem,) = prepare({"a": {"type": "string", "pattern": "(?=x)("}}, {"a": "x"})[1]
    assert "pattern" in problem.message


@pytest.mark.parametrize(("row", "text", "value"), [
    ({"type": "integer"}, "7", 7),
    ({"type": "string"}, "7", "7"),
    ({"type": "string"}, "null", "null"),
    ({"type": "boolean"}, "false", False),
    ({"type": "number"}, "1e3", 1000.0),
    ({"type": "array"}, '["a", 1]', ["a", 1]),
    ({"type": ["integer", "string"]}, "x", "x"),
    ({"type": ["string", "integer"]}, "true", "true"),
    ({"type": "any"}, "true", True),
    (None, "plain text", "plain text"),
    (None, "{", "{"),
])
def test_text_of_the_command_line_is_read_by_its_declaration(row: Any, text: str, value: Any) -> None:
    read = from_text(row, text)
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize(("row", "text"), [
    ({"type": "integer"}, "seven"), ({"type": "integer"}, "true"), ({"type": "boolean"}, "yes"),
    ({"type": "number"}, "NaN"), ({"type": "array"}, "a,b"), ({"type": "object"}, "[1]"),
])
def test_text_that_is_no_value_of_the_type_is_refused(row: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text.replace("[", r"\[").replace("]", r"\]")):
        from_text(row, text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8,
)


@few(60)
@given(schema=st.dictionaries(st.sampled_from("abc"), st.dictionaries(
    st.sampled_from(["type", "enum", "minimum", "maxLength", "pattern", "items", "properties", "required", "multipleOf",
        "default", "min_items", "nullable"]), JSON, max_size=4), max_size=3), value=JSON)
def test_no_schema_and_no_value_raises(schema: dict[str, Any], value: Any) -> None:
    result, problems = prepare(schema, value)
    assert isinstance(result, dict)
    assert all(problem.pointer == "" or problem.pointer.startswith("/") for problem in problems)


@pytest.mark.parametrize(("schema", "good", "bad"), [
    ({"anyOf": [{"type": "string"}, {"type": "integer"}]}, ["a", 1], [1.5, None, []]),
    ({"oneOf": [{"type": "number"}, {"minimum": 3, "type": "integer"}]}, [1, 2.5], [4, "x"]),
    ({"allOf": [{"minimum": 2}, {"maximum": 4}]}, [2, 4], [1, 5]),
    ({"not": {"type": "null"}}, [0, "", []], [None]),
    ({"type": "object", "properties": {"a": {"anyOf": [{"const": 1}, {"const": 2}]}}}, [{}, {"a": 2}], [{"a": 3}, []]),
])
def test_any_value_against_a_schema(schema, good, bad):
    assert [misfits(schema, value, "answer") for value in good] == [[] for _ in good]
    for value in bad:
        found = misfits(schema, value, "answer")
        assert found and all(problem.message.startswith("answer") for problem in found)
