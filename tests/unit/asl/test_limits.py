"""AWS's limits, measured in machines that are written by hand, and told with the place in the definition."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translator.asl.limits import measures
from translator.diagnostics import TranslatorError
from translator.pipeline import Source as Text
from translator.pipeline import check_sources, compile_source

PASS = {"Type": "Pass", "End": True}
TASK = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": {}, "TimeoutSeconds": 60, "End": True}


def machine(**states: Any) -> dict[str, Any]:
    return {"StartAt": next(iter(states)), "States": states}


def loop(body: dict[str, Any], mode: str = "INLINE", kind: str = "STANDARD", **more: Any) -> dict[str, Any]:
    config = {"Mode": mode, "ExecutionType": kind} if mode == "DISTRIBUTED" else {"Mode": mode}
    return {"Type": "Map", "Items": [], "ItemProcessor": {"ProcessorConfig": config, **machine(**body)}, "End": True, **more}


def found(definition: Any, **more: Any) -> list[str]:
    return [str(one) for one in measures(definition, **more) if one.exceeded]


OTHER = TASK | {"Resource": "arn:aws:states:::states:startExecution.sync:2", "Arguments": {}}
READS = {"Type": "Pass", "Output": "{% $a & 'not $b' & \"nor $c\" & $own %}", "Assign": {"own": 1}, "End": True}
BEFORE = {"Type": "Pass", "Assign": {"a": 1, "b": 2, "c": 3}, "Next": "l"}


@pytest.mark.parametrize(("definition", "told"), [
    (machine(a=PASS), []),
    (machine(a=TASK), []),
    (machine(a={key: value for key, value in TASK.items() if key != "TimeoutSeconds"}), ["'a': tasks that wait for ever: 1 of 0"]),
    (machine(**{"n" * 80: PASS}), []),
    (machine(**{"n" * 81: PASS}), ["characters of a state's name: 81 of 80"]),
    (machine(a={"Type": "Parallel", "Branches": [machine(a=PASS)], "End": True}), ["'a': states of one name: 2 of 1"]),
    (machine(a=PASS | {"Assign": {"v" * 81: 1}}), ["'a': characters of a variable's name: 81 of 80"]),
    (machine(a=PASS | {"Output": "x" * 262_142}), []),
    (machine(a=PASS | {"Output": "x" * 262_143}), ["'a': bytes of Output: 262,145 of 262,144"]),
    (machine(a=PASS | {"Output": "é" * 131_072}), ["'a': bytes of Output: 262,146 of 262,144"]),
    (machine(l=loop({"a": PASS}, MaxConcurrency=40)), []),
    (machine(l=loop({"a": PASS}, MaxConcurrency=41)), ["'l': iterations at once: 41 of 40"]),
    (machine(l=loop({"a": PASS}, "DISTRIBUTED", MaxConcurrency=10_000, Label="l" * 40)), []),
    (machine(l=loop({"a": PASS}, "DISTRIBUTED", MaxConcurrency=10_001)), ["'l': iterations at once: 10,001 of 10,000"]),
    (machine(l=loop({"a": PASS}, "DISTRIBUTED", Label="l" * 41)), ["'l': characters of a label: 41 of 40"]),
    (machine(l=loop({"a": OTHER}, "DISTRIBUTED")), []),
    (machine(l=loop({"a": OTHER}, "DISTRIBUTED", "EXPRESS")), ["'a': tasks that an Express execution cannot wait for: 1 of 0"]),
    (machine(b=BEFORE, l=loop({"r": READS})), []),
    (machine(b=BEFORE, l=loop({"r": READS}, "DISTRIBUTED")),
     ["'r': variables of the execution around that are read (a): 1 of 0"]),
])  # fmt: skip
def test_a_limit_that_is_exceeded_is_told_with_the_state(definition: Any, told: list[str]) -> None:
    assert [one.removeprefix("'" + "n" * 81 + "': ") for one in found(definition)] == told


def test_an_express_execution_has_less() -> None:
    wait = {"Type": "Wait", "Seconds": 301, "End": True}
    assert found(machine(w=wait)) == []
    assert found(machine(w=wait), kind="EXPRESS") == ["'w': seconds of a wait in an Express execution: 301 of 300"]
    inside = found(machine(l=loop({"a": PASS}, "DISTRIBUTED")), kind="EXPRESS")
    assert inside == ["'l': Distributed Maps in an Express execution: 1 of 0"]


@pytest.mark.parametrize(("count", "shares"), [
    # The execution has 2 events, a Task 5, a Map 4, an iteration 2, a Pass 2.
    (1784, []), (1785, [12_501]), (3571, [25_003]),
])
def test_events_of_a_loop_whose_length_is_known(count: int, shares: list[int]) -> None:
    definition = machine(l=loop({"t": TASK}, Items="{% $x %}"))
    measured = [one for one in measures(definition, lengths={"l": count}) if one.limit == "history events"]
    assert [one.found for one in measured] == [2 + 4 + count * 7 for _ in shares] == shares
    assert {one.state for one in measured} <= {"l"}
    assert not [one for one in measures(definition) if one.limit == "history events"]


def test_what_a_distributed_map_runs_has_histories_of_its_own() -> None:
    inner = loop({"t": TASK}, Items="{% $states.input.batch %}")
    definition = machine(d=loop({"i": inner}, "DISTRIBUTED"))
    (measured,) = measures(definition, lengths={"d": 1_000_000, "i": 3_000})
    assert measured == ("history events of a child execution", "d", 2 + 4 + 3_000 * 7, 25_000)
    express = machine(d=loop({"i": inner}, "DISTRIBUTED", "EXPRESS"))
    assert measures(express, lengths={"d": 1_000_000, "i": 3_000}) == []


def test_a_literal_that_no_state_holds_is_told_where_it_is_written() -> None:
    text = "dialect: canonical\nsteps:\n- {id: a, type: skill, config: {skill: x, parameters: {t: " + "y" * 262_144 + "}}}"
    with pytest.raises(TranslatorError) as raised:
        compile_source(text, file="w.yaml")
    (one,) = (found for found in raised.value.diagnostics if found.severity == "error")
    assert (one.code, one.position.line) == ("A023", 3)
    assert "262,144" in one.message


def test_a_loop_near_the_limit_of_events_is_told_where_it_is_written() -> None:
    data = {"dialect": "canonical", "steps": [
        {"id": "w", "type": "wait", "seconds": 1},
        {"id": "l", "type": "foreach", "items": "{{ range(0, 2000) }}", "depends_on": ["w"],
         "steps": [{"id": "s", "type": "skill", "config": {"skill": "x"}}]}]}
    (one,) = (found for found in check_sources([Text(json.dumps(data, indent=1))]) if found.code == "A003")
    assert "14,0" in one.message and "25,000" in one.message
    assert one.position.line > 5


@pytest.mark.parametrize(("most", "mode"), [(100, "INLINE"), (100_000, "DISTRIBUTED")])
def test_an_input_that_says_how_long_it_is_decides_how_a_loop_runs(most: int, mode: str) -> None:
    compiled = compile_source(
        f"dialect: canonical\nid: big\ninputs: {{rows: {{type: array, required: true, max_items: {most}}}}}\nsteps:\n"
        "- id: each\n  type: foreach\n  items: '{{ input.rows }}'\n  steps: [{id: a, type: skill, config: {skill: f}}]\n"
    )
    assert f'"Mode": "{mode}"' in json.dumps(compiled.definition)
    assert all(not one.exceeded for one in measures(compiled.definition, lengths={"each": most, "each spread": most}))
