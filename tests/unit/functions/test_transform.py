"""transform steps: formats, operations, scripts, and expressions that the state machine leaves to the function."""

from __future__ import annotations

import re

import pytest

from functions.steps.transform.handler import handler
from translator.diagnostics import NOWHERE, Findings
from translator.expressions.parser import parse
from translator.expressions.resolve import Names, resolve
from translator.expressions.serialize import dump
from translator.expressions.tree import Slot


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("transform", config, **more), None)["output"]


@pytest.fixture
def failure(invocation):
    def fail(config, **more):
        with pytest.raises(Exception) as caught:
            handler(invocation("transform", config, **more), None)
        return type(caught.value).__name__, str(caught.value)

    return fail


PEOPLE = [{"name": "Ann", "age": 40}, {"name": "Bo", "age": None}, {"name": "Cy", "age": 20}]


@pytest.mark.parametrize(("config", "expected"), [
    ({"operation": "filter", "expression": "item.age and item.age > 30", "data": PEOPLE}, [PEOPLE[0]]),
    ({"operation": "map", "expression": "{'n': item.name, 'i': index}", "data": PEOPLE[:2]},
     [{"n": "Ann", "i": 0}, {"n": "Bo", "i": 1}]),
    ({"operation": "reduce", "expression": "total + item", "data": [1, 2, 3], "initial": 10}, 16),
    ({"operation": "aggregate", "expression": "sum(data) / len(data)", "data": [1, 2, 3]}, 2),
    ({"expression": "data.a.b[1]", "data": {"a": {"b": [5, 6]}}}, 6),
    ({"operation": "map", "expression": "item", "data": []}, []),
    ({"data": "a,b\n1,x\n2,\n", "input_format": "csv"}, [{"a": "1", "b": "x"}, {"a": "2", "b": ""}]),
    ({"data": [{"a": 1, "b": None}, {"a": "x,y", "c": [1]}], "output_format": "csv"}, 'a,b,c\n1,,\n"x,y",,[1]\n'),
    ({"data": [[1, "b"], [2, "c\nd"]], "output_format": "csv"}, '1,b\n2,"c\nd"\n'),
    ({"data": '{"a": [1, 2]}'}, {"a": [1, 2]}),
    ({"data": "not json", "input_format": "json"}, "not json"),
    ({"data": "[1]", "input_format": "text"}, "[1]"),
    ({"data": [1, "b", {"c": None}], "output_format": "text"}, '1\nb\n{"c":null}'),
    ({"data": 100.0, "output_format": "text"}, "100"),
])
def test_operations_and_formats(run, config, expected):
    assert run(config) == expected


@pytest.mark.parametrize("operation", ["filter", "transform"])
def test_scripts(run, operation):
    config = {"operation": operation, "script": "# best\nreturn [i for i in data if i['age'] == input]", "data": PEOPLE,
              "input": 20}
    assert run(config) == [PEOPLE[2]]


@pytest.mark.parametrize(("config", "name", "words"), [
    ({"operation": "filter", "script": "return 1", "data": []}, "ValidationError", "must return a list"),
    ({"script": "return data[0]", "data": []}, "SandboxError", "line 1: IndexError"),
    ({"script": "return 1", "language": "javascript", "data": []}, "ValidationError", "JavaScript"),
    ({"script": "while True: pass", "timeout": 0.5}, "SandboxError", "longer than 0.5 s"),
    ({"operation": "map", "expression": "item", "data": {"a": 1}}, "ValidationError", "needs a list"),
    ({"operation": "map", "expression": "item > 1", "data": [None]}, "ExpressionError", ""),
    ({"expression": "data +", "data": 1}, "ExpressionError", ""),
    ({"expression": "nothing_known", "data": 1}, "ExpressionError", "nothing_known"),
    ({"expression": "data", "script": "return 1"}, "ValidationError", "exclude each other"),
    ({}, "ValidationError", "needs an `expression`"),
    ({"data": 'a,b\n"1', "input_format": "csv"}, "ValidationError", "CSV"),
    ({"data": "a\n1,2\n", "input_format": "csv"}, "ValidationError", "more values"),
    ({"data": [{"a": 1}, 2], "output_format": "csv"}, "ValidationError", "objects only"),
])
def test_failures(failure, config, name, words):
    found, message = failure(config)
    assert found == name and words in message and message.startswith("step s: ")


def tree(text: str, **names):
    findings = Findings()
    node = parse(text, NOWHERE, findings)
    assert node is not None, findings.items
    known = Names(steps=("build",), bare={name: Slot("local", name) for name in names})
    resolved = resolve(node, known, findings)
    assert not findings.items
    return dump(resolved)


def test_expressions_of_the_state_machine(run, monkeypatch):
    monkeypatch.setenv("ASLANT_ENV_ALLOW", "STAGE")
    monkeypatch.setenv("STAGE", "beta")
    expressions = {"a": tree("steps.build.output.n + 1"), "b": tree("env.STAGE"), "c": tree("steps.build.output.missing")}
    slots = {"output:build": {"n": 41}}
    assert run({"evaluate": {"expressions": expressions, "slots": slots}}) == {"a": 42, "b": "beta", "c": None}


def test_what_differs_from_run_to_run_is_made_here(run):
    config = {"evaluate": {"expressions": {"now": tree("now()"), "id": tree("uuid()"), "luck": tree("random()")}}}
    first, second = run(config), run(config)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first["now"])
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", first["id"])
    assert 0 <= first["luck"] < 1
    assert first["id"] != second["id"] and first["luck"] != second["luck"]


def test_variables_that_are_not_allowed(failure, monkeypatch):
    monkeypatch.setenv("ASLANT_ENV_ALLOW", "OTHER")
    monkeypatch.setenv("STAGE", "hidden")
    name, message = failure({"evaluate": {"expressions": {"x": tree("env.STAGE")}}})
    assert name == "ExpressionError" and "STAGE may not be read" in message and "hidden" not in message


@pytest.mark.parametrize("bad", [None, [], ["call"], ["no-such-tag", 1], {"a": 1}, [["lit", 1]]])
def test_trees_that_are_none(failure, bad):
    assert failure({"evaluate": {"expressions": {"x": bad}}})[0] in ("ExpressionError", "ValidationError")
