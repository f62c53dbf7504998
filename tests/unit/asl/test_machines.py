"""Machines of generated workflows: checked, inside the limits, the same every time; and the check sees what is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tests.examples import few
from tests.unit.asl.workflows import workflows
from translator.asl.block import Origin
from translator.asl.check import check_limits, check_machine
from translator.diagnostics import Findings
from translator.graph.scope import Graph, build_graph
from translator.pipeline import Compilation, Source, compile_source, compile_sources

ROOT = Path(__file__).parents[3]
SOME = few(25, derandomize=True, suppress_health_check=list(HealthCheck))


def compiled(data: Any) -> Compilation:
    return compile_source(json.dumps(data), file="w.json")


def state_maps(machine: Any) -> Iterator[dict[str, Any]]:
    yield machine["States"]
    for state in machine["States"].values():
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            yield from state_maps(inner)


def targets(state: dict[str, Any]) -> list[str]:
    rules = [*state.get("Choices", ()), *state.get("Catch", ())]
    return [rule["Next"] for rule in rules] + [state[key] for key in ("Next", "Default") if key in state]


@SOME
@given(workflows())
def test_a_machine_is_whole_and_inside_the_limits(data: dict[str, Any]) -> None:
    result = compiled(data)
    assert not [one for one in result.diagnostics if one.severity == "error"]
    names = [name for states in state_maps(result.definition) for name in states]
    assert len(set(names)) == len(names)
    assert all(0 < len(name) <= 80 for name in names)
    assert set(names) <= set(result.source_map)
    for states in state_maps(result.definition):
        for name, state in states.items():
            assert set(targets(state)) <= set(states)
            ways = [key in state for key in ("Next", "End", "Default")]
            assert sum(ways) == (0 if state["Type"] in ("Succeed", "Fail") else 1), name
            assert all(len(variable) <= 80 for variable in state.get("Assign", {}))
    text = result.bind(dict.fromkeys([*result.functions, *result.workflows], "arn:aws:x"))
    assert "${" not in "".join(value for key, value in strings(json.loads(text)) if key in ("FunctionName", "StateMachineArn"))


def strings(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from strings(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item, key)
    elif isinstance(value, str):
        yield key, value


@SOME
@given(workflows(depth=1))
def test_text_of_the_definition_is_never_code(data: dict[str, Any]) -> None:
    """Every value in delimiters is code that the compiler wrote: the definitions' own `{%` are inside of text literals."""
    for key, value in strings(compiled(data).definition):
        if value.startswith("{%") and key not in ("Comment", "Next", "Default", "StartAt"):
            assert value.endswith("%}")
            assert "{%" not in without_literals(value[2:-2]), value


def without_literals(code: str) -> str:
    out, index = [], 0
    while index < len(code):
        if code[index] == '"':
            index += 1
            while code[index] != '"':
                index += 2 if code[index] == "\\" else 1
        else:
            out.append(code[index])
        index += 1
    return "".join(out)


# The check itself: every mutant must be found.

SAMPLE = {
    "dialect": "canonical", "id": "w", "name": "w",
    "steps": [
        {"id": "a", "type": "skill", "config": {"skill": "s"}},
        {"id": "r", "type": "choice", "depends_on": ["a"], "cases": [{"name": "yes", "when": "steps.a.output.x"}], "default": "no"},
        {"id": "b", "type": "skill", "depends_on": [{"step": "r", "on": ["yes"]}], "config": {"skill": "s"}, "on_failure": "continue"},
        {"id": "c", "type": "skill", "depends_on": [{"step": "r", "on": ["no"]}], "config": {"skill": "s"}, "when": "input.x"},
        {"id": "p", "type": "parallel", "depends_on": ["b", "c"], "branches": [
            {"steps": [{"id": "p1", "type": "skill", "config": {"skill": "s"}},
                {"id": "p2", "type": "wait", "seconds": 1, "depends_on": ["p1"]}]},
            {"steps": [{"id": "p3", "type": "skill", "config": {"skill": "s"}}]}]},
        {"id": "l", "type": "foreach", "depends_on": ["p"], "items": [1, 2], "steps": [
            {"id": "l1", "type": "skill", "config": {"skill": "s"}},
            {"id": "l2", "type": "skill", "depends_on": ["l1"], "config": {"skill": "{{ item }}"}}]},
        {"id": "z", "type": "wait", "seconds": 1, "depends_on": ["l"]},
    ],
}


def problems(
    result: Compilation, definition: Any, origins: dict[str, Origin] | None = None, *, limits: bool = False
) -> list[str]:
    findings = Findings()
    graph = build_graph(result.workflow, findings)
    assert isinstance(graph, Graph)
    check_machine(definition, origins or result.source_map, graph, result.workflow, findings)
    if limits:
        check_limits(definition, origins or result.source_map, result.workflow, findings, kind="STANDARD", lengths={})
    return [f"{one.code} {one.message}" for one in findings]


def mutants(definition: Any) -> Iterator[tuple[str, Any]]:
    """One change each that no machine survives: a state lost, a way that leads elsewhere, past its target, or nowhere."""
    for number, states in enumerate(state_maps(definition)):
        for name, state in states.items():
            def changed(change: Any, number: int = number) -> Any:
                copy = deepcopy(definition)
                change([*state_maps(copy)][number])
                return copy

            yield f"without {name}", changed(lambda map_, name=name: map_.pop(name))
            yield f"{name} twice", changed(lambda map_, name=name: map_.update({"copy": dict(map_[name], Next="gone")}))
            entered = [target for other in states.values() for target in targets(other)]
            if state.get("Next") and entered.count(state["Next"]) == 1:
                yield f"{name} ends", changed(lambda map_, name=name: map_[name].update({"Next": "nowhere"}))
                after = states[state["Next"]].get("Next")
                if after:
                    yield f"{name} jumps", changed(lambda map_, name=name, after=after: map_[name].update({"Next": after}))
            if state["Type"] == "Choice":
                yield f"{name} without default", changed(lambda map_, name=name: map_[name].pop("Default"))
            if "Next" in state:
                yield f"{name} goes back", changed(lambda map_, name=name: map_[name].update({"Next": next(iter(map_))}))


def test_the_sample_is_right() -> None:
    result = compiled(SAMPLE)
    assert problems(result, result.definition) == []


def test_every_mutant_is_found() -> None:
    result = compiled(SAMPLE)
    everything = dict(mutants(result.definition))
    assert len(everything) > 40
    unseen = [name for name, mutant in everything.items() if not any(one.startswith("A015") for one in problems(result, mutant))]
    assert unseen == []


@few(20, derandomize=True, suppress_health_check=list(HealthCheck))
@given(workflows(depth=1), st.integers(0, 10**6))
def test_a_lost_state_is_found_in_any_machine(data: dict[str, Any], number: int) -> None:
    result = compiled(data)
    names = [name for states in state_maps(result.definition) for name in states]
    copy = deepcopy(result.definition)
    name = names[number % len(names)]
    for states in state_maps(copy):
        states.pop(name, None)
    assert any(one.startswith("A015") for one in problems(result, copy))


def test_names_that_are_too_long_or_unknown() -> None:
    result = compiled(SAMPLE)
    text = json.dumps(result.definition)
    assert "characters of a state's name: 81 of 80" in " ".join(problems(result, json.loads(text.replace('"z"', '"' + "z" * 81 + '"')), limits=True))
    assert "nothing tells what the state 'z' is for" in " ".join(
        problems(result, result.definition, {name: one for name, one in result.source_map.items() if name != "z"}))


def test_steps_put_beside_each_other() -> None:
    """What must come one after the other stands in two branches, so that an edge is not respected."""
    result = compiled({"dialect": "canonical", "name": "w", "steps": [
        {"id": "a", "type": "wait", "seconds": 1}, {"id": "b", "type": "wait", "seconds": 1, "depends_on": ["a"]}]})
    states = result.definition["States"]
    first, second = (dict(states[name]) for name in ("a", "b"))
    first.pop("Next")
    branches = [{"StartAt": name, "States": {name: state | {"End": True}}} for name, state in (("a", first), ("b", second))]
    broken = {"StartAt": "both", "States": {"both": {"Type": "Parallel", "Branches": branches, "End": True}}}
    found = problems(result, broken, {**result.source_map, "both": Origin("", "fork", result.workflow.at)})
    assert found == ["A015 'a' does not come before 'b'"]


def test_a_loop_with_too_many_items_at_once() -> None:
    result = compiled(SAMPLE)
    copy = deepcopy(result.definition)
    next(state for states in state_maps(copy) for state in states.values() if state["Type"] == "Map")["MaxConcurrency"] = 41
    assert "iterations at once: 41 of 40" in " ".join(problems(result, copy, limits=True))


@pytest.mark.parametrize(("share", "code"), [(0.45, ""), (0.55, "A002"), (1.05, "A001")])
def test_the_size_of_a_machine(share: float, code: str) -> None:
    text = "y" * 20_000
    count = int(1024 * 1024 * share / 20_200)
    definition = {"StartAt": "s0", "States": {
        f"s{number}": {"Type": "Pass", "Output": text, "Next": f"s{number + 1}"} for number in range(count)}}
    definition["States"][f"s{count}"] = {"Type": "Pass", "Output": "y" * int(1024 * 1024 * share - count * 20_055), "End": True}  # type: ignore[index]
    found = problems(compiled(SAMPLE), definition, limits=True)
    assert [one[:4] for one in found if not one.startswith("A015")] == ([code] if code else [])


SCRIPT = """
import sys
from pathlib import Path
from translator.pipeline import Source, compile_source
for path in sys.argv[1:]:
    result = compile_source(Path(path).read_bytes(), file="w")
    print(result.bind(dict.fromkeys([*result.functions, *result.workflows], "x")))
    print(result.diagnostics, dict(result.source_map))
"""


def test_the_same_bytes_whatever_the_hash_seed(tmp_path: Path) -> None:
    paths = [str(path) for path in sorted((ROOT / "tests" / "fuzz" / "bases").glob("*.yaml"))]
    sample = tmp_path / "sample.json"
    sample.write_text(json.dumps(SAMPLE))
    found = set()
    for seed in ("0", "1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'layers/runtime/python'}"}
        done = subprocess.run([sys.executable, "-c", SCRIPT, *paths, str(sample)], env=environment, capture_output=True, check=True)
        found.add(done.stdout)
    assert len(found) == 1
    assert len(found.pop()) > 10_000


def test_definitions_compiled_together_are_those_compiled_alone() -> None:
    other = {**SAMPLE, "id": "v"}
    together = compile_sources([Source(json.dumps(SAMPLE), "w.json"), Source(json.dumps(other), "v.json")])
    assert [one.definition for one in together] == [compiled(SAMPLE).definition, compiled(other).definition]


def test_an_approval_without_a_message_asks_about_its_step() -> None:
    compilation = compiled({"dialect": "canonical", "name": "n", "steps": [{"id": "s", "name": "Ship {% it", "type": "approval"}]})
    config = compilation.definition["States"]["s"]["Arguments"]["Payload"]["config"]
    assert "Approve Ship" in config["message"] and not config["message"].startswith("{% it")


def own_text(state: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in state.items() if key not in ("Branches", "ItemProcessor")})


@pytest.mark.parametrize("policy", [
    {}, {"retry": {"max_attempts": 3, "delay": 1, "on": ["OtherError"]}},
    {"on_failure": {"action": "retry", "max_retries": 1, "then": "continue"}}, {"on_failure": {"action": "escalate", "then": "continue"}},
])  # fmt: skip
@pytest.mark.parametrize("first", [
    {"type": "workflow", "workflow": "kid"}, {"type": "skill", "config": {"skill": "x"}},
    *({"type": "approval", "config": {"message": "?", "on_timeout": then, "escalate_to": ["ann"]}} for then in ("approve", "escalate")),
])  # fmt: skip
def test_the_item_is_taken_where_the_input_still_is_the_item(first: dict[str, Any], policy: dict[str, Any]) -> None:
    last = {"id": "t", "type": "skill", "depends_on": ["c"], "config": {"skill": "x", "parameters": {"of": "{{ [item, index] }}"}}}
    loop = {"id": "l", "type": "foreach", "items": [1, 2], "steps": [{"id": "c", **first, **policy}, last]}
    handlers = [{"errors": ["ValueError"], "action": "continue"}]
    kid = Source(json.dumps({"dialect": "canonical", "id": "kid", "steps": [{"id": "k", "type": "wait", "seconds": 1}]}), "kid.json")
    data = {"dialect": "canonical", "id": "w", "error_handlers": handlers, "steps": [loop]}
    (body,) = [
        states for states in state_maps(compile_sources([Source(json.dumps(data), "w.json"), kid])[0].definition) if "t" in states
    ]
    after = [rule["Next"] for state in body.values() for rule in state.get("Catch", ()) if rule.get("Output") != "{% $states.input %}"]
    after += [state["Next"] for state in body.values() if state["Type"] == "Task" and "Next" in state]
    assert len(after) > 1
    for name in after:
        assert "$states.input.i" not in own_text(body[name])
    assert any("$states.input.item" in own_text(state) for state in body.values())
