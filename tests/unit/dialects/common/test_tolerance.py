"""Spellings that mean the same are all taken; what is said about the others names its subject."""

from __future__ import annotations

from typing import Any

import pytest

from translator.diagnostics import Diagnostic, Findings
from translator.pipeline import Source, canonical_data, check_sources

AGENTS = """
name: w
nodes:
  - {id: r, agent: router, parameters: PARAMETERS}
  - {id: b, agent: wait, parameters: {seconds: 1}}
edges: [{from: r, to: b}]
"""
CANONICAL = "dialect: canonical\nname: w\nsteps:\n  - {id: a, type: wait, seconds: 1}\n  - {id: b, type: wait, seconds: 1"
ASK = "{message: m, approvers: [a@b.c]"


def data(text: str) -> Any:
    findings = Findings()
    found = canonical_data(Source(text), findings)
    assert found is not None, findings.items
    return found[1]


def errors(text: str) -> list[Diagnostic]:
    return [found for found in check_sources([Source(text)]) if found.severity in ("error", "warning")]


@pytest.mark.parametrize("text", [
    CANONICAL + ", depends_on: a}",
    "name: w\nsteps:\n  - {id: a, type: delay, config: {duration: 1000}}\n"
    "  - {id: b, type: delay, config: {duration: 1000}, depends_on: a}",
    "workflow:\n  name: w\n  stages:\n    - name: s\n      steps:\n        - {id: a, type: wait, seconds: 1}\n"
    "        - {id: b, type: wait, seconds: 1, depends_on: a}",
    "name: w\nnodes:\n  - {id: a, type: wait, properties: {seconds: 1}}\n"
    "  - {id: b, type: wait, properties: {seconds: 1}, depends_on: a}\nconnections: []",
    "name: w\ntasks:\n  - {id: a, type: {type: wait, seconds: 1}}\n  - {id: b, type: {type: wait, seconds: 1}, depends_on: a}",
    "name: w\nnodes:\n  - {id: a, agent: wait, parameters: {seconds: 1}}\n"
    "  - {id: b, agent: wait, parameters: {seconds: 1}, depends_on: a}\nedges: []",
])
def test_one_dependency_needs_no_list(text: str) -> None:
    assert data(text)["steps"][1]["depends_on"] == ["a"]


def test_one_text_needs_no_list() -> None:
    found = data(CANONICAL + ", retry: {on: Timeout}}\nerror_handlers: [{errors: Timeout, action: continue}]")
    assert found["steps"][1]["retry"]["on"] == ["Timeout"]
    assert found["error_handlers"][0]["errors"] == ["Timeout"]
    branch = "{type: Conditional, condition: 'true', true_branch: b}"
    found = data(f"tasks:\n  - {{id: a, type: {branch}}}\n  - {{id: b, type: {{type: wait, seconds: 1}}}}\n")
    assert found["steps"][1]["depends_on"] == [{"step": "a", "on": ["true"]}]


@pytest.mark.parametrize(("name", "kind"), [
    ("loop", "foreach"), ("LOOP", "foreach"), ("conditional", "choice"), ("plugin", "skill"), ("Wait", "wait"),
    ("HTTP", "http"), ("Parallel", "parallel"), ("Choice", "choice"), ("subWorkflow", "workflow"),
])
def test_types_of_tasks_are_known_in_any_capitals(name: str, kind: str) -> None:
    rest = {
        "foreach": "items: [1], task_template: {type: {type: wait, seconds: 1}}", "choice": "condition: 'true'",
        "skill": "plugin_name: p", "wait": "seconds: 1", "http": "url: 'https://a.example'", "workflow": "workflow_id: x",
        "parallel": "branches: [{steps: [{id: c, type: {type: wait, seconds: 1}}]}]",
    }[kind]
    if name == "Choice":
        rest = "cases: [{name: x, when: 'true'}]"
    assert data(f"tasks:\n  - {{id: a, type: {{type: {name}, {rest}}}}}\n")["steps"][0]["type"] == kind


@pytest.mark.parametrize("text", [
    f"dialect: canonical\nname: w\nsteps:\n  - {{id: a, type: approval, config: {ASK}, TIME}}}}",
    f"tasks:\n  - {{id: a, type: {{type: Approval, {ASK[1:]}, TIME}}}}",
    f"tasks:\n  - {{id: a, type: {{type: approval, {ASK[1:]}, TIME}}}}",
    f"nodes:\n  - {{id: a, agent: human_loop, parameters: {ASK}, TIME}}}}\nedges: []",
    f"nodes:\n  - {{id: a, agent: approval, parameters: {ASK}, TIME}}}}\nedges: []",
    f"name: w\nnodes:\n  - {{id: a, type: approval, properties: {ASK}, TIME}}}}\nconnections: []",
])
@pytest.mark.parametrize("name", ["timeout", "timeout_seconds"])
def test_the_time_to_answer_has_two_names(text: str, name: str) -> None:
    step = data(text.replace("TIME", f"{name}: 900"))["steps"][0]
    assert step.get("timeout", step["config"].get("timeout")) == 900
    assert not {"timeout_seconds"} & {*step["config"]}


def test_unknown_keys_name_their_subject() -> None:
    (found,) = errors(AGENTS.replace("PARAMETERS", "{condition: 'true', if_true: b, routes: [b]}"))
    assert found.message == "'routes' is not a key of `parameters` of the router 'r'"
    (found,) = errors("tasks:\n  - {id: a, type: {type: Plugin, plugin_name: p, setings: {}}}\n")
    assert found.message == "'setings' is not a key of `type` (Plugin) of 'a'"


def test_a_router_without_a_condition_is_told_how_more_than_two_ways_are_written() -> None:
    (found,) = errors(AGENTS.replace("PARAMETERS", "{}"))
    assert found.code == "D011" and "router 'r'" in found.message
    assert "agent: choice" in found.hint and "cases" in found.hint


def test_edges_have_a_known_type() -> None:
    text = AGENTS.replace("PARAMETERS", "{condition: 'true', if_true: b}")
    assert not errors(text.replace("to: b}", "to: b, type: conditional}"))
    (found,) = errors(text.replace("to: b}", "to: b, type: conditonal}"))
    assert (found.code, found.hint) == ("D013", "did you mean `conditional`?")


@pytest.mark.parametrize(("agent", "codes"), [("lm", ["D031"]), ("transfrom", ["D031"]), ("price_finder", [])])
def test_only_names_that_are_close_to_a_known_one_are_suspicious(agent: str, codes: list[str]) -> None:
    text = f"name: w\nnodes:\n  - {{id: a, agent: {agent}}}\nedges: []\n"
    found = [each for each in check_sources([Source(text)]) if each.code == "D031"]
    assert [each.code for each in found] == codes
    assert all(each.severity == "warning" for each in found)


def test_a_duplicate_id_is_reported_beside_the_target_that_is_missing_for_it() -> None:
    text = (
        "name: x\nsteps:\n"
        "  - {id: c, type: conditional, config: {condition: 1 < 2, branches: {'true': {target_step: b}}}}\n"
        "  - {id: a, type: delay, config: {duration: 1000}}\n  - {id: a, type: delay, config: {duration: 1000}}\n")
    assert [(found.code, found.position.line) for found in errors(text)] == [("D036", 3), ("G001", 5)]


def test_a_duplicate_id_that_is_a_target_is_a_duplicate_and_nothing_else() -> None:
    text = (
        "name: x\nsteps:\n"
        "  - {id: c, type: conditional, config: {condition: 1 < 2, branches: {'true': {target_step: a}}}}\n"
        "  - {id: a, type: delay, config: {duration: 1000}}\n  - {id: a, type: delay, config: {duration: 1000}}\n")
    assert [(found.code, found.position.line) for found in errors(text)] == [("G001", 5)]
