"""The graph dialect: what each of its words means in canonical data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.dialects.tasks.reading import Data, attempted, data_file, lowered, places, steps
from translator.diagnostics import Diagnostic

INTAKE = data_file(__file__, "intake.json")


@pytest.fixture(scope="module")
def intake() -> Data:
    return lowered(INTAKE, "graph")[0]


def graph(nodes: list[Data], connections: Sequence[tuple[str, ...]] = (), **more: Any) -> tuple[Data, list[Diagnostic]]:
    """A workflow and its findings. A connection is (source, target[, sourceOutput[, targetInput]])."""
    keys = ("source", "target", "sourceOutput", "targetInput")
    written = [dict(zip(keys, each, strict=False)) for each in connections]
    return lowered(json.dumps({"name": "w", "nodes": nodes, "connections": written, **more}), "graph")


def node(name: str, kind: str = "skill", **properties: Any) -> Data:
    if kind == "skill" and not properties:
        properties = {"skill": "own"}
    return {"id": name, "type": kind, "properties": properties}


def codes(found: list[Diagnostic]) -> list[str]:
    return [each.code for each in found]


def test_the_stored_form(intake: Data) -> None:
    assert (intake["id"], intake["name"]) == ("41", "Parcel intake")
    assert intake["labels"] == {
        "organization_id": "org_9", "user_id": 7, "trigger_positions": {"arrival": {"x": 0, "y": 40}}}


def test_settings(intake: Data) -> None:
    assert intake["settings"] == {"timeout": 120, "max_parallel": 4, "priority": "high", "sla": 90,
        "alert_on_sla_breach": True,
        "circuit_breaker": {"failure_threshold": 5, "recovery_timeout": 60, "success_threshold": 3},
        "retry": {"strategy": "fibonacci", "max_attempts": 4, "delay": 1.5, "max_delay": 20}}


def test_the_stored_form_has_no_findings() -> None:
    assert places(lowered(INTAKE)[1]) == []


def test_a_trigger_starts_the_workflow(intake: Data) -> None:
    assert intake["triggers"] == [{"type": "webhook", "config": {"path": "/parcels"}}]
    assert "arrival" not in steps(intake)
    assert "depends_on" not in steps(intake)["read_label"]


def test_an_unknown_type_is_a_skill_with_the_input(intake: Data) -> None:
    step = steps(intake)["read_label"]
    assert (step["type"], step["name"], step["labels"]) == ("skill", "Read the label", {"position": {"x": 120, "y": 40}})
    assert step["config"] == {"skill": "label_reader", "parameters": {"language": "de"}, "input": "{{ input }}"}


def test_data_goes_through_a_choice_and_a_named_output_is_a_field(intake: Data) -> None:
    by_id = steps(intake)
    assert by_id["heavy"]["cases"] == [{"name": "true", "when": "steps.read_label.output.parcel.kilos > 20"}]
    assert by_id["by_truck"]["config"] == {
        "expression": "data.kilos * 3", "data": "{{ steps.read_label.output.parcel }}"}
    assert by_id["by_bike"]["depends_on"] == [{"step": "heavy", "on": ["false"]}]


def test_the_error_output(intake: Data) -> None:
    by_id = steps(intake)
    assert by_id["read_label"]["on_failure"] == "continue"
    assert by_id["unreadable"]["depends_on"] == [{"step": "read_label", "when": "errors.read_label != null"}]
    assert by_id["unreadable"]["config"]["message"] == "No label: {{ errors.read_label.message }}"
    assert by_id["heavy"]["depends_on"] == [{"step": "read_label", "when": "errors.read_label == null"}]


def test_joined_data_where_one_branch_is_dead(intake: Data) -> None:
    """Exactly the branch that ran is there; a named input is a parameter of the skill."""
    both = "steps.by_truck.output", "steps.by_bike.output"
    assert steps(intake)["price"]["config"] == {
        "skill": steps(intake)["price"]["config"]["skill"],
        "parameters": {"currency": "EUR", "label": "{{ steps.read_label.output }}"},
        "input": f"{{{{ (merge({both[0]}, {both[1]}) if {both[0]} != null and {both[1]} != null"
                 f" else {both[0]} ?? {both[1]}) }}}}"}


def test_joined_data_where_everything_runs_is_merged_in_the_order_of_connections() -> None:
    data, _ = graph([node("a"), node("b"), node("c", "transform", expression="data")], [("b", "c"), ("a", "c")])
    assert steps(data)["c"]["config"]["data"] == "{{ merge(steps.b.output, steps.a.output) }}"
    assert steps(data)["c"]["depends_on"] == ["b", "a"]


@pytest.mark.parametrize(("kind", "properties", "key", "expected"), [
    ("transform", {"expression": "data"}, "config.data", "{{ steps.a.output }}"),
    ("transform", {"expression": "data", "data": 1}, "config.data", 1),
    ("aggregate", {}, "config.results", "{{ steps.a.output }}"),
    ("agent", {"prompt": "Sum up"}, "config.input", "{{ steps.a.output }}"),
    ("agent", {"prompt": "Sum up {{ data.x }}"}, "config.prompt", "Sum up {{ steps.a.output.x }}"),
    ("approval", {"message": "Fine?"}, "config.data", "{{ steps.a.output }}"),
    ("workflow", {"workflow": "child"}, "input", "{{ steps.a.output }}"),
    ("foreach", {"nodes": [{"id": "i", "type": "own"}]}, "items", "{{ steps.a.output }}"),
    ("http", {"url": "https://example.org", "body": "{{ data }}"}, "config.body", "{{ steps.a.output }}"),
    ("own", {"input": 3}, "config.parameters.input", 3),
    ("own", {"n": 3}, "config", {"skill": "own", "parameters": {"n": 3}, "input": "{{ steps.a.output }}"}),
    ("own", {"input": 3}, "config", {"skill": "own", "parameters": {"input": 3}}),
    ("skill", {"skill": "x", "input": 3}, "config.input", 3),
])
def test_the_input_goes_where_the_type_takes_data(kind: str, properties: Data, key: str, expected: Any) -> None:
    found: Any = steps(graph([node("a"), node("b", kind, **properties)], [("a", "b")])[0])["b"]
    for part in key.split("."):
        found = found[part]
    assert found == expected


def test_what_speaks_of_the_data_is_not_given_it_twice() -> None:
    data, _ = graph([node("a"), node("b", "agent", prompt="{{ data }}")], [("a", "b")])
    assert "input" not in steps(data)["b"]["config"]


def test_data_flow_can_be_switched_off() -> None:
    data, _ = graph([node("a"), node("b", "transform", expression="1")], [("a", "b")], settings={"data_flow": False})
    assert steps(data)["b"]["config"] == {"expression": "1"}
    assert "settings" not in data


def test_a_named_input_is_a_key_of_the_data() -> None:
    data, _ = graph([node("a"), node("b"), node("c", "transform", expression="data.left")],
        [("a", "c", "main", "left"), ("b", "c", "main", "right side")])
    assert steps(data)["c"]["config"]["data"] == "{{ {'left': steps.a.output, 'right side': steps.b.output} }}"


def test_ids_that_are_no_names_are_written_in_brackets() -> None:
    data, _ = graph([node("it's a.b"), node("b", "transform", expression="data")], [("it's a.b", "b", "x-y")])
    assert steps(data)["b"]["config"]["data"] == "{{ steps['it\\'s a.b'].output['x-y'] }}"


def test_a_loop_body_is_a_graph_whose_input_is_the_item() -> None:
    body = {"nodes": [node("x", "transform", expression="data + 1"), node("y", "own")],
        "connections": [{"source": "x", "target": "y"}]}
    data, _ = graph([node("loop", "loop", items="{{ input.rows }}", item_name="row", **body)])
    inner = steps({"steps": steps(data)["loop"]["steps"]})
    assert inner["x"]["config"]["data"] == "{{ row }}"
    assert inner["y"]["depends_on"] == ["x"]


@pytest.mark.parametrize(("kind", "trigger"), [
    ("trigger", "manual"), ("manual", "manual"), ("webhookTrigger", "webhook"), ("schedule", "schedule"),
    ("cron", "schedule"), ("event_trigger", "event"), ("workflow_trigger", "workflow"),
])
def test_trigger_types(kind: str, trigger: str) -> None:
    data, _ = graph([node("t", kind, cron="0 5 * * *"), node("a", "own")], [("t", "a")])
    assert data["triggers"] == [{"type": trigger, "config": {"cron": "0 5 * * *"}}]
    assert [*steps(data)] == ["a"]


def test_references_to_a_trigger_mean_the_input() -> None:
    data, _ = graph([node("t 1", "manual"), node("a", "agent", prompt="{{ nodes['t 1'].output.x }} {{ data.y }}")],
        [("t 1", "a")])
    assert steps(data)["a"]["config"]["prompt"] == "{{ input.x }} {{ input.y }}"


def test_a_trigger_that_is_joined_with_another_node_stays_a_step() -> None:
    """Its edge is always live, so what it leads to runs whatever the other one does."""
    data, _ = graph([node("t", "manual"), node("a", "own"), node("b", "own")], [("t", "a"), ("t", "b"), ("a", "b")])
    by_id = steps(data)
    assert by_id["t"]["config"] == {"data": "{{ input }}"}
    assert by_id["b"]["depends_on"] == ["t", "a"]


def test_a_webhook_in_the_middle_is_a_skill() -> None:
    data, found = graph([node("a", "own"), node("hook", "webhook")], [("a", "hook")])
    assert steps(data)["hook"]["type"] == "skill"
    assert codes(found) == ["D031"]


def test_a_switch_with_several_outcomes() -> None:
    cases = [{"name": "big", "when": "data.n > 9"}, {"name": "small", "when": "{{ data.n }} < 3"}]
    data, found = graph([node("s", "switch", cases=cases, default="rest"), node("a"), node("b"), node("c")],
        [("s", "a", "big"), ("s", "a", "small"), ("s", "b", "rest"), ("s", "c")])
    by_id = steps(data)
    assert [case["when"] for case in by_id["s"]["cases"]] == ["input.n > 9", "input.n < 3"]
    assert by_id["a"]["depends_on"] == [{"step": "s", "on": ["big", "small"]}]
    assert by_id["b"]["depends_on"] == [{"step": "s", "on": ["rest"]}]
    assert by_id["c"]["depends_on"] == ["s"]
    assert codes(found) == ["D124"]


def test_conditions_of_connections() -> None:
    text = json.dumps({"name": "w", "nodes": [node("a"), node("b")],
        "connections": [{"source": "a", "target": "b", "when": "{{ data.ok }}"}]})
    assert steps(lowered(text)[0])["b"]["depends_on"] == [{"step": "a", "when": "steps.a.output.ok"}]


@pytest.mark.parametrize(("written", "expected"), [
    ({"strategy": "immediate", "max_retries": 0}, {"strategy": "immediate", "max_attempts": 1}),
    ({"max_attempts": 3, "delay": 250}, {"max_attempts": 3, "delay": 0.25}),
])
def test_retries_count_what_comes_after_the_first_attempt(written: Data, expected: Data) -> None:
    data, _ = graph([{**node("a"), "retry": written}])
    assert steps(data)["a"]["retry"] == expected


def test_continue_on_error() -> None:
    assert graph([node("a")], settings={"continue_on_error": True})[0]["settings"] == {"on_error": "continue"}
    assert graph([node("a")], settings={"continue_on_error": False})[0]["settings"] == {"on_error": "fail"}


def test_canonical_keys_are_reachable() -> None:
    more: dict[str, Any] = {"finally": [node("bye")]}
    data, found = graph(
        [{**node("a"), "cache": {"ttl": 5}, "when": "{{ input.go }}", "compensation": node("undo"), "output_key": "k",
            "on_failure": "rollback", "timeout": 7},
            node("fork", "parallel", branches=[{"steps": [node("x")]}, {"steps": [node("y")]}]),
            node("pause", "delay", seconds=2)],
        outputs={"v": "{{ state.k }}"}, rollback=[node("back")],
        **more, inputs={"go": {"type": "boolean"}}, variables={"v": 1})
    by_id = steps(data)
    assert found == []
    assert (by_id["a"]["when"], by_id["a"]["timeout"], by_id["a"]["on_failure"]) == ("input.go", 7, "rollback")
    assert by_id["a"]["compensation"]["id"] == "undo"
    assert [branch["steps"][0]["id"] for branch in by_id["fork"]["branches"]] == ["x", "y"]
    assert by_id["pause"]["seconds"] == 2
    assert [data[key][0]["id"] for key in ("rollback", "finally")] == ["back", "bye"]


@pytest.mark.parametrize(("text", "expected"), [
    ("name: w\nnodes:\n  - {id: a, typ: own}\nconnections: []\n", ("D010", 3, 13)),
    ("name: w\nnodes:\n  - {id: a, type: own}\nconnections:\n  - {source: a, target: b}\n", ("D109", 5, 25)),
    ("name: w\nnodes:\n  - {id: a, type: own}\nconnections:\n  - {source: a, taget: a}\n", ("D010", 5, 17)),
    ("name: w\nnodes:\n  - {id: a, type: if, properties: {condition: x}}\n  - {id: b, type: own}\nconnections:\n"
        "  - {source: a, target: b, sourceOutput: maybe}\n", ("D122", 6, 42)),
    ("name: w\nnodes:\n  - {id: a, type: wait, properties: {second: 3}}\nconnections: []\n", ("D010", 3, 38)),
    ("name: w\nnodes:\n  - {id: a, type: own}\nconnections: []\nsettings: {retry: {strategy: slow}}\n", ("D013", 5, 30)),
    ("name: w\nnodes:\n  - {id: a, type: own}\nconnections: []\nsettings: {timeout: -1}\n", ("D014", 5, 21)),
    ("name: w\nnodes:\n  - {id: a, type: own}\n  - {id: t, type: manual_trigger}\nconnections:\n"
        "  - {source: a, target: t}\n", ("D119", 4, 19)),
    ("name: w\nnodes: []\nconnections: []\n", ("D011", 1, 1)),
])
def test_mistakes_are_reported_where_they_are(text: str, expected: tuple[str, int, int]) -> None:
    _, found = attempted(text)
    assert expected in places(found)


def test_long_chains_of_waits_and_choices_do_not_overflow() -> None:
    many = 3000
    nodes = [node("n0"), *(node(f"n{i}", "wait", seconds=1) for i in range(1, many)), node("end", "own")]
    connections = [(f"n{i}", f"n{i + 1}") for i in range(many - 1)] + [(f"n{many - 1}", "end")]
    data, _ = graph(nodes, connections)
    assert steps(data)["end"]["config"]["input"] == "{{ steps.n0.output }}"


def test_joins_of_choices_do_not_double_with_every_level() -> None:
    nodes, connections = [node("a0"), node("b0")], []
    for level in range(40):
        nodes += [node(f"a{level + 1}", "if", condition="data.x"), node(f"b{level + 1}", "if", condition="data.x")]
        connections += [(source, f"{side}{level + 1}", "true") if level else (source, f"{side}{level + 1}")
            for source in (f"a{level}", f"b{level}") for side in "ab"]
    data, _ = graph(nodes, connections)
    assert max(len(case["when"]) for step in data["steps"] for case in step.get("cases", ())) < 20_000
