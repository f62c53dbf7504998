"""The agents dialect: what each of its words means in canonical data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from tests.unit.dialects.tasks.reading import Data, attempted, lowered, places, steps
from translator.diagnostics import Diagnostic


def workflow(nodes: list[Data], edges: Sequence[tuple[Any, ...]] = (), **more: Any) -> tuple[dict[str, Data], list[Diagnostic]]:
    """The steps of a definition by id, and the findings. An edge is (from, to) or (from, to, condition)."""
    written = [dict(zip(("from", "to", "condition"), edge, strict=False)) for edge in edges]
    data, found = lowered(json.dumps({"name": "w", "nodes": nodes, "edges": written, **more}), "agents")
    return steps(data), found


def llm(name: str, prompt: str = "hi", **more: Any) -> Data:
    return {"id": name, "agent": "llm", "parameters": {"prompt": prompt}, **more}


def codes(found: list[Diagnostic]) -> list[str]:
    return [each.code for each in found]


@pytest.mark.parametrize(("written", "expected"), [
    ("{state.first}", "{{ state.first }}"),
    ("{first.x[0]['k k']} {first}", "{{ first.x[0]['k k'] }} {{ first }}"),
    ("{secrets.token}", "{{ secrets.token }}"),
    ("{user.name}", "{{ context.user.name }}"),
    ("{state.city}", "{{ input.city }}"),  # no node gives it and no inputs are declared
    ('{"a": {state.first}}', '{"a": {{ state.first }}}'),
    ('{"a": 1} {} { state.first } {1}', '{"a": 1} {} { state.first } {1}'),
    ("{{other.first}}", r"\{{other.first}}"),
    (r"\{state.first}", "{state.first}"),
    (r"\{other}", r"\{other}"),
    ("${{ first.n + 1 }}", "{{ first.n + 1 }}"),
    ("cost: ${state.first}", 'cost: {{ "$" }}{{ state.first }}'),
    ("${{ {'a': user} }}", "{{ {'a': context.user} }}"),
])
def test_holes(written: str, expected: str) -> None:
    by_id, found = workflow([llm("one", output="first"), llm("two", written)])
    assert by_id["two"]["config"]["prompt"] == expected
    assert found == []


def test_double_braces_are_text_with_a_warning() -> None:
    by_id, found = workflow([llm("one", output="first"), llm("two", "{{state.first}}")])
    assert by_id["two"]["config"]["prompt"] == r"\{{state.first}}"
    assert [(each.code, each.hint) for each in found] == [("D048", "write `{state.first}` for the value")]


def test_braces_that_look_like_a_reference_are_text_with_a_warning() -> None:
    by_id, found = workflow([llm("one", "Sum up {letter_text}")])
    assert by_id["one"]["config"]["prompt"] == "Sum up {letter_text}"
    assert codes(found) == ["D112"]


def test_scripts_are_taken_as_they_stand() -> None:
    script = "return {f'{item}': data for item in {state}} or {{}}"
    by_id, found = workflow([{"id": "a", "agent": "data_processing", "parameters": {"script": script}}])
    assert by_id["a"]["config"]["script"] == script.replace("{{", r"\{{")
    assert found == []


@pytest.mark.parametrize(("agent", "kind"), [
    ("llm", "agent"), ("web_scraping", "scrape"), ("data_processing", "transform"), ("email", "email"),
    ("aggregator", "aggregate"), ("human_loop", "approval"), ("api", "http"), ("database", "query"),
    ("transform", "transform"), ("notify", "notify"), ("deploy", "deploy"), ("translate_text", "skill"),
])
def test_agents_are_step_types(agent: str, kind: str) -> None:
    by_id, _ = workflow([{"id": "a", "agent": agent, "parameters": {"x": 1}}])
    assert by_id["a"]["type"] == kind


def test_an_unknown_agent_is_a_registered_skill() -> None:
    by_id, found = workflow(
        [llm("one", output="text"), {"id": "a", "agent": "emial", "parameters": {"to": "{text}"}, "input": ["text"]}])
    assert by_id["a"]["config"] == {"skill": "emial", "parameters": {"to": "{{ text }}"}}
    assert [(each.code, each.hint) for each in found] == [("D031", "did you mean `email`?")]


def test_input_keys_become_what_the_agent_takes() -> None:
    by_id, found = workflow([
        llm("one", output="first"), llm("two", output="second"),
        llm("model", "Compare", input=["first", "second"]),
        {"id": "process", "agent": "data_processing", "parameters": {"expression": "len(data)"}, "input_keys": ["first"]},
        {"id": "both", "agent": "data_processing", "parameters": {"script": "return data"}, "input": ["first", "second"]},
        {"id": "sum", "agent": "aggregator", "parameters": {"aggregation": "sum"}, "input": ["first", "second"]},
        {"id": "own", "agent": "own_agent", "input": ["first"]},
    ])
    both = {"first": "{{ state.first }}", "second": "{{ state.second }}"}
    assert by_id["model"]["config"]["input"] == both
    assert by_id["process"]["config"]["data"] == "{{ state.first }}"
    assert by_id["both"]["config"]["data"] == both
    assert by_id["sum"]["config"]["results"] == list(both.values())
    assert by_id["own"]["config"]["parameters"] == {"first": "{{ state.first }}"}
    assert codes(found) == []


def test_data_comes_from_the_node_before_when_no_key_is_named() -> None:
    process = {"agent": "data_processing", "parameters": {"script": "return data"}}
    by_id, _ = workflow([{"id": "a", **process}, {"id": "b", **process}, {"id": "c-c", **process},
        {"id": "sum", "agent": "aggregator"}], [("a", "b"), ("b", "sum"), ("c-c", "sum")])
    assert by_id["a"]["config"]["data"] == "{{ input }}"
    assert by_id["b"]["config"]["data"] == "{{ steps.a.output }}"
    assert by_id["sum"]["config"]["results"] == ["{{ steps.b.output }}", "{{ steps['c-c'].output }}"]


def test_an_unknown_input_key_is_an_error_when_inputs_are_declared() -> None:
    text = json.dumps({"name": "w", "state_schema": {"input": {"properties": {"city": {"type": "string"}}}},
        "nodes": [llm("a", input=["ctiy"])], "edges": []})
    _, found = attempted(text)
    assert [(each.code, each.hint) for each in found] == [("D116", "did you mean `city`?")]


@pytest.mark.parametrize(("key", "item"), [
    ("reviews", "review"), ("cities", "city"), ("boxes", "box"), ("addresses", "address"), ("data", "item"),
    ("status", "item"), ("row_list", "row"),
])
def test_one_item_is_called_by_the_singular(key: str, item: str) -> None:
    by_id, found = workflow([llm("one", output=key), llm("each", f"{{{item}}} and {{item}}", pattern="map", input=[key])],
        [("one", "each")])
    assert by_id["each"]["item_name"] == item
    assert by_id["each"]["steps"][0]["config"] == {"prompt": f"{{{{ {item} }}}} and {{{{ {item} }}}}"}
    assert found == []


def test_a_map_node_keeps_retries_inside_and_the_rest_outside() -> None:
    node = llm("each", "{city}", pattern="map", input=["cities"], retry={"max_attempts": 2, "backoff": "fixed"}, timeout=9,
        on_failure="continue", output="weather")
    by_id, _ = workflow([llm("one", output="cities"), node], [("one", "each")])
    outer, (inner,) = by_id["each"], by_id["each"]["steps"]
    assert (inner["retry"], inner["timeout"]) == ({"max_attempts": 2, "strategy": "fixed"}, 9)
    assert (outer["on_failure"], outer["output_key"]) == ("continue", "weather")
    assert {"retry", "timeout"}.isdisjoint(outer)


def test_a_map_node_goes_through_the_output_of_the_node_before() -> None:
    by_id, _ = workflow([llm("one"), {"id": "each", "agent": "own", "pattern": "map"}], [("one", "each")])
    assert by_id["each"]["items"] == "{{ steps.one.output }}"
    assert by_id["each"]["steps"][0]["config"] == {"skill": "own", "parameters": {"item": "{{ item }}"}}


def test_a_map_node_without_a_list_is_an_error() -> None:
    _, found = attempted(json.dumps({"name": "w", "nodes": [llm("each", pattern="map")], "edges": []}))
    assert codes(found) == ["D117"]


def test_orchestrator_and_workers() -> None:
    by_id, found = workflow(
        [llm("plan", "Split {input.topic}", output="chapters"), llm("write", "Write {chapter}", output="texts"),
            {"id": "join", "agent": "aggregator", "input": ["texts"]}],
        [("plan", "write"), ("write", "join")], pattern="orchestrator_worker")
    assert by_id["plan"]["config"]["output_format"] == "json_array"
    assert (by_id["write"]["type"], by_id["write"]["items"], by_id["write"]["item_name"]) == (
        "foreach", "{{ state.chapters }}", "chapter")
    assert by_id["join"]["config"]["results"] == "{{ state.texts }}"
    assert found == []


def test_roles_may_be_named() -> None:
    by_id, _ = workflow([llm("plan", role="orchestrator"), llm("work", "{task}", role="worker")], [("plan", "work")])
    assert (by_id["work"]["items"], by_id["work"]["item_name"]) == ("{{ steps.plan.output }}", "task")


ROUTED = [llm("a", output="score"), llm("yes"), llm("no"), llm("other")]


def route(**parameters: Any) -> Data:
    return {"id": "r", "agent": "router", "parameters": {"condition": "state['score'] > 0.8", **parameters}}


def test_a_router_leads_to_its_targets_without_edges() -> None:
    by_id, found = workflow([*ROUTED, route(if_true="yes", if_false=["no", "other"])], [("a", "r")])
    assert by_id["yes"]["depends_on"] == [{"step": "r", "on": ["true"]}]
    assert by_id["other"]["depends_on"] == [{"step": "r", "on": ["false"]}]
    assert found == []


def test_the_default_of_a_router_is_the_false_side_when_there_is_none() -> None:
    by_id, found = workflow([*ROUTED, route(if_true="yes", default="no")], [("a", "r")])
    assert by_id["no"]["depends_on"] == [{"step": "r", "on": ["false"]}]
    assert found == []


def test_the_default_beside_both_sides_is_never_entered_and_that_is_said() -> None:
    by_id, found = workflow([*ROUTED, route(if_true="yes", if_false="no", default="other")], [("a", "r")])
    assert [case["name"] for case in by_id["r"]["cases"]] == ["true", "false"]
    assert by_id["other"]["depends_on"] == [{"step": "r", "on": ["default"]}]
    assert codes(found) == ["D111"]


def test_edges_out_of_a_router_may_name_the_outcome() -> None:
    by_id, found = workflow([*ROUTED, route()], [("a", "r"), ("r", "yes", "true"), ("r", "no", False),
        ("r", "other", "score > 0.9")])
    assert by_id["yes"]["depends_on"] == [{"step": "r", "on": ["true"]}]
    assert by_id["no"]["depends_on"] == [{"step": "r", "on": ["false"]}]
    assert by_id["other"]["depends_on"] == [{"step": "r", "when": "score > 0.9"}]
    assert found == []


@pytest.mark.parametrize("edge", [("r", "yes", "looks_good"), ("r", "yes")])
def test_an_edge_out_of_a_router_without_an_outcome_is_an_error(edge: tuple[Any, ...]) -> None:
    written = [dict(zip(("from", "to", "condition"), edge, strict=False))]
    _, found = attempted(json.dumps({"name": "w", "nodes": [*ROUTED, route()], "edges": written}))
    assert codes(found) == ["D122"]


def test_edges_with_conditions_and_else() -> None:
    by_id, _ = workflow(ROUTED, [("a", "yes", "{state.score} > 5"), ("a", "no", "else"), ("a", "other")])
    assert by_id["yes"]["depends_on"] == [{"step": "a", "when": "state.score > 5"}]
    assert by_id["no"]["depends_on"] == [{"step": "a", "when": "not ((state.score > 5))"}]
    assert by_id["other"]["depends_on"] == ["a"]


def test_start_and_end_are_no_nodes() -> None:
    by_id, found = workflow([llm("a")], [("START", "a"), ("a", "END")])
    assert ("depends_on" in by_id["a"], found) == (False, [])


def test_people_have_an_hour_unless_it_is_said() -> None:
    ask = {"id": "q", "agent": "human_loop", "parameters": {"message": "Fine? {data}", "approval_type": "approve_reject"}}
    by_id, _ = workflow([llm("a"), ask], [("a", "q")])
    assert by_id["q"]["timeout"] == 3600
    assert by_id["q"]["config"]["message"] == "Fine? {{ steps.a.output }}"
    ask["parameters"] = {**ask["parameters"], "timeout": 60, "on_timeout": "approve"}  # type: ignore[dict-item]
    by_id, _ = workflow([llm("a"), ask], [("a", "q")])
    assert (by_id["q"]["timeout"], by_id["q"]["config"]["on_timeout"]) == (60, "approve")
    assert "timeout" not in by_id["q"]["config"]


@pytest.mark.parametrize(("channel", "config", "code"), [
    ("https://hooks.example.org/x", {"channel": "webhook", "url": "https://hooks.example.org/x"}, []),
    ("duty@example.org", {"channel": "email", "to": "duty@example.org"}, []),
    ("arn:aws:sns:eu-central-1:1:t", {"channel": "sns", "topic": "arn:aws:sns:eu-central-1:1:t"}, []),
    ("email", {"channel": "email", "to": "{{ secrets.notification_email }}"}, ["D113"]),
    (None, {"channel": "event"}, ["D114"]),
])
def test_channels(channel: str | None, config: Data, code: list[str]) -> None:
    handling = {"notify_on_failure": True, **({"notification_channel": channel} if channel else {})}
    data, found = lowered(json.dumps({"name": "w", "nodes": [llm("a")], "edges": [],
        "settings": {"error_handling": handling}}))
    written = data["notifications"][0]["config"]
    assert {key: written[key] for key in config} == config
    assert codes(found) == code


@pytest.mark.parametrize(("checkpointing", "expected"), [
    ({"frequency": "every_node"}, {"policy": "every_node"}), ({"frequency": "on_failure"}, {"policy": "on_failure"}),
    ({"enabled": False, "frequency": "every_node"}, {"policy": "none"}),
])
def test_checkpointing(checkpointing: Data, expected: Data) -> None:
    data, _ = lowered(json.dumps({"name": "w", "nodes": [llm("a")], "edges": [],
        "settings": {"checkpointing": checkpointing}}))
    assert data["settings"]["checkpoint"] == expected


def test_canonical_types_and_keys_are_reachable() -> None:
    inner = {"id": "mail", "agent": "notify", "parameters": {"channel": "event", "message": "{row.name} {input.who}"}}
    by_id, found = workflow([
        {"id": "loop", "agent": "foreach", "parameters": {"items": "{input.rows}", "item_name": "row", "steps": [inner]}},
        {"id": "fork", "agent": "parallel", "parameters": {"branches": [{"steps": [llm("b1")]}, {"steps": [llm("b2")]}]}},
        {"id": "pause", "agent": "wait", "parameters": {"seconds": 3}, "when": "{input.slow}"},
        {"id": "child", "agent": "workflow", "parameters": {"workflow": "other", "input": {"a": "{input.a}"}}},
        {"id": "pick", "agent": "choice", "parameters": {"cases": [{"name": "big", "when": "{input.n} > 9"}], "default": "x"}},
        llm("end", cache={"ttl": 5}, compensation=llm("undo"), depends_on=[{"step": "pick", "on": ["big"]}]),
    ])
    assert found == []
    assert by_id["loop"]["steps"][0]["config"]["message"] == "{{ row.name }} {{ input.who }}"
    assert [branch["steps"][0]["id"] for branch in by_id["fork"]["branches"]] == ["b1", "b2"]
    assert (by_id["pause"]["seconds"], by_id["pause"]["when"]) == (3, "input.slow")
    assert (by_id["child"]["workflow"], by_id["child"]["input"]) == ("other", {"a": "{{ input.a }}"})
    assert by_id["pick"]["cases"] == [{"name": "big", "when": "input.n > 9"}]
    assert by_id["end"]["depends_on"] == [{"step": "pick", "on": ["big"]}]
    assert by_id["end"]["compensation"]["type"] == "agent"


@pytest.mark.parametrize(("text", "expected"), [
    ("name: w\nnodes:\n  - {id: a, agnet: llm}\nedges: []\n", ("D010", 3, 13)),
    ("name: w\nnodes:\n  - {id: a, agent: llm, type: llm}\nedges: []\n", ("D010", 3, 25)),
    ("name: w\nnodes:\n  - {id: a, agent: llm}\nedges:\n  - {from: a, to: b}\n", ("D109", 5, 19)),
    ("name: w\nnodes:\n  - {id: a, agent: llm}\nedges:\n  - {from: a, too: b}\n", ("D010", 5, 15)),
    ("name: w\nnodes:\n  - {id: r, agent: router, parameters: {condition: x, if_true: b}}\nedges: []\n", ("D103", 3, 64)),
    ("name: w\nnodes:\n  - {id: r, agent: router, parameters: {conditon: x}}\nedges: []\n", ("D010", 3, 41)),
    ("name: w\nnodes:\n  - {id: r, agent: wait, parameters: {second: 3}}\nedges: []\n", ("D010", 3, 39)),
    ("name: w\npattern: map-reduce\nnodes:\n  - {id: a, agent: llm}\nedges: []\n", ("D013", 2, 10)),
    ("name: w\nnodes:\n  - {id: a, agent: llm}\nedges: []\nsettings:\n  checkpointing: {frequency: hourly}\n",
        ("D121", 6, 30)),
    ("name: w\nnodes:\n  - {id: a, agent: llm, retry: {max_attempts: 2, backoff: slow}}\nedges: []\n", ("D013", 3, 59)),
    ("metadata: {name: a, version: 1.0}\nnodes:\n  - {id: a, agent: llm}\nedges: []\n", ("D020", 1, 30)),
    ("metadata: {name: a}\nname: b\nnodes:\n  - {id: a, agent: llm}\nedges: []\n", ("D033", 2, 1)),
])
def test_mistakes_are_reported_where_they_are(text: str, expected: tuple[str, int, int]) -> None:
    _, found = attempted(text)
    assert expected in places(found)
