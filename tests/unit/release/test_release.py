"""Facts of compiled workflows."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest
from hypothesis import HealthCheck, given

from aslant.history.steps import StepHistory
from aslant.releases import Release, dependents
from tests.examples import few
from tests.unit.asl.workflows import workflows
from translator.pipeline import Source, compile_sources
from translator.release import release_of

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:m"


def release(text: str, *others: str) -> Release:
    sources = [Source(textwrap.dedent(each), f"{number}.yaml") for number, each in enumerate((text, *others))]
    return release_of(compile_sources(sources)[0], machine=MACHINE)


FLOW = """
    id: flow
    version: 1.2.0
    inputs: {n: {type: integer, required: true}}
    variables: {stamp: "{{ now() }}", fixed: 7}
    settings: {sla: 90, timeout: 600, checkpoint: {policy: interval, interval: 30}}
    steps:
      - {id: load, type: skill, config: {skill: echo, parameters: {value: "{{ input.n }}"}}}
      - id: route
        type: choice
        depends_on: [load]
        cases: [{name: big, when: "steps.load.output > 2"}]
        default: small
      - {id: yes, type: skill, depends_on: [{step: route, on: [big]}], config: {skill: echo, parameters: {value: "{{ vars.stamp }}"}}}
      - {id: no, type: notify, depends_on: [{step: route, on: [small]}], config: {channel: sns, message: no}}
      - id: loop
        type: foreach
        depends_on: ["yes"]
        items: "{{ steps.load.output }}"
        steps:
          - {id: one, type: skill, config: {skill: echo, parameters: {value: "{{ item }}"}}}
          - id: two
            type: parallel
            depends_on: [one]
            branches:
              - steps: [{id: left, type: skill, config: {skill: echo, parameters: {value: 1}}}]
              - steps: [{id: right, type: wait, seconds: 5}]
      - id: ask
        type: approval
        depends_on: [loop]
        config: {approvers: [ada], message: ok?, on_reject: continue}
    finally:
      - {id: clean, type: skill, config: {skill: echo, parameters: {value: 1}}}
"""


def test_what_is_known_of_a_version() -> None:
    found = release(FLOW)
    assert (found["workflow"], found["version"], found["machine"]) == ("flow", "1.2.0", MACHINE)
    assert found["settings"] == {"sla": 90, "timeout": 600, "checkpoint": {"policy": "interval", "seconds": 30}}
    assert "rollback" not in found and found["inputs"] is not None and set(found["inputs"]) == {"n"}
    steps = found["steps"]
    assert {step: facts["type"] for step, facts in steps.items() if not facts.get("hidden")} == {
        "load": "skill", "route": "choice", "yes": "skill", "no": "notify", "loop": "foreach", "one": "skill",
        "two": "parallel", "left": "skill", "right": "wait", "ask": "approval", "clean": "skill",
    }
    assert [step for step, facts in steps.items() if facts.get("hidden")] == ["flow variable stamp"]
    assert json.loads(json.dumps(found)) == found


def test_what_a_step_waits_for_and_reads() -> None:
    steps = release(FLOW)["steps"]
    after = {step: set(facts["after"]) for step, facts in steps.items()}
    assert after["load"] == set() and after["route"] == {"load"}
    assert after["yes"] == {"route", "flow variable stamp"}
    # inside of a loop: what the loop waits for, and what its items are made of
    assert after["one"] == {"yes", "load"} and after["left"] == {"yes", "load", "one"}
    assert after["loop"] == {"yes", "load", "one", "two"} and after["two"] == {"yes", "load", "one", "left", "right"}
    assert after["clean"] == {"load", "route", "yes", "no", "loop", "ask"}
    assert steps["loop"]["children"] == ["one", "two"] and steps["two"]["children"] == ["left", "right"]
    assert steps["left"]["loops"] == ["loop"] and "loops" not in steps["loop"]
    assert steps["clean"]["last"] and "last" not in steps["ask"]
    assert steps["ask"]["accepts"] == ["ApprovalRejected"]
    assert dependents(steps, {"right"}) == {"right", "two", "loop", "ask", "clean"}
    assert dependents(steps, {"load"}) == set(steps) - {"flow variable stamp"}


def test_states_name_their_steps() -> None:
    found = release(FLOW)
    assert found["states"]["load"] == {"step": "load", "role": "step"}
    assert set(found["states"]["route"]["outcomes"].values()) == {"big", "small"}
    assert all(state["step"] in found["steps"] or state["step"] == "" for state in found["states"].values())


def test_where_steps_that_end_a_branch_together_leave_their_outputs() -> None:
    found = release("""
        dialect: canonical
        id: flow
        steps:
          - id: both
            type: parallel
            branches:
              - steps:
                  - {id: one, type: transform, config: {data: 1}}
                  - {id: two, type: transform, output_key: second, config: {data: 2}}
              - steps: [{id: alone, type: transform, config: {data: 3}}]
    """)
    history = StepHistory(found["steps"], found["states"])
    given: dict[str, dict[str, Any]] = {
        "one": {"assignedVariables": {"one": "1"}}, "two": {"output": '{"output":{"one":1,"second":2}}'},
        "alone": {"output": '{"output":3}'},
    }
    number = 0
    for state, left in given.items():
        number += 2
        history.feed([
            {"id": number - 1, "previousEventId": 0, "type": "PassStateEntered", "stateEnteredEventDetails": {"name": state}},
            {"id": number, "previousEventId": number - 1, "type": "PassStateExited",
             "stateExitedEventDetails": {"name": state, **left}},
        ])
    assert {one.step: one.output for one in history.ordered()} == {"one": 1, "two": 2, "alone": 3}


def test_an_edge_with_a_condition_reads_what_the_condition_reads() -> None:
    found = release("""
        id: flow
        steps:
          - {id: a, type: skill, config: {skill: echo, parameters: {value: 1}}}
          - {id: b, type: skill, depends_on: [a], config: {skill: echo, parameters: {value: 1}}}
          - {id: c, type: transform, depends_on: [{step: b, when: "steps.a.output == 1"}], config: {expression: "1"}}
    """)
    assert set(found["steps"]) == {"a", "b", "c"}
    assert found["steps"]["c"]["after"] == ["a", "b"]
    assert {state["step"] for state in found["states"].values()} <= {"", "a", "b", "c"}


def test_children_are_named() -> None:
    found = release(
        "id: flow\nsteps: [{id: call, type: workflow, workflow: kid}]",
        "id: kid\nsteps: [{id: one, type: transform, config: {expression: '1'}}]",
    )
    assert found["steps"]["call"]["workflow"] == "kid"


STEP = "{{id: a, type: skill, {more} config: {{skill: echo, parameters: {{value: {value}}}}}}}"


def one(more: str = "", value: str = "1", name: str = "") -> str:
    head = f"id: flow\nname: {name}\n" if name else "id: flow\n"
    return release(head + "inputs: {n: {type: integer, default: 1}}\nsteps:\n  - " + STEP.format(more=more, value=value))["steps"]["a"]["hash"]


@pytest.mark.parametrize("more", [
    "retry: {max_attempts: 5},", "timeout: 9000,", "name: Another,", "on_failure: continue,", "labels: {a: b},",
])  # fmt: skip
def test_how_often_and_how_long_a_step_runs_is_not_in_its_hash(more: str) -> None:
    assert one(more) == one() == one(name="Other")


def test_what_it_does_is_in_its_hash() -> None:
    values = ["1", "'1'", "1.5", "true", "null", "[1]", "{a: 1}", "'{{ input.n }}'", "'{{ input.n + 1 }}'"]
    assert len({one(value=value) for value in values}) == len(values)


def test_what_an_iteration_stands_for_is_in_the_hashes_of_what_is_inside() -> None:
    def nested(items: str = "[1, 2]", *, outer: str = "o", inner: str = "i", more: str = "", batch: str = "") -> Release:
        return release(f"""
            id: flow
            steps:
              - id: {outer}
                type: foreach
                items: {items}
                item_name: x
                {more}
                steps:
                  - id: {inner}
                    type: foreach
                    items: [1, 2]
                    {batch}
                    steps: [{{id: a, type: skill, config: {{skill: echo, parameters: {{value: 1}}}}}}]
        """)

    base = nested()
    others = [
        nested("[3, 2]"), nested(more="batch_size: 2"), nested(more="batch_size: 1"), nested(batch="batch_size: 2"),
        nested(outer="i", inner="o"),
    ]  # fmt: skip
    hashes = {found["steps"]["a"]["hash"] for found in (base, *others)}
    assert len(hashes) == 1 + len(others)
    for found in others[:3]:
        assert base["steps"]["o"]["hash"] != found["steps"]["o"]["hash"] and base["hash"] != found["hash"]
    for same in (nested(more="max_parallel: 1"), nested(more="max_parallel: 60"), nested(more="on_item_error: continue")):
        assert same["steps"]["a"]["hash"] == base["steps"]["a"]["hash"]


@few(20, suppress_health_check=[HealthCheck.too_slow])
@given(workflows())
def test_facts_of_any_workflow_fit_together(data: dict) -> None:  # type: ignore[type-arg]
    compiled = compile_sources([Source(json.dumps(data), "w.json")])[0]
    found = release_of(compiled, machine=MACHINE)
    steps = found["steps"]
    assert set(found["states"]) == set(compiled.source_map)
    assert {step.id for step in compiled.workflow.all_steps()} <= set(steps)
    for step, facts in steps.items():
        assert set(facts["after"]) <= set(steps) - {step}
        assert set(facts.get("loops", [])) | set(facts.get("children", [])) <= set(steps)
        for child in facts.get("children", []):
            assert child in facts["after"]
            loops = [*facts.get("loops", []), *([step] if facts["type"] == "foreach" else [])]
            assert steps[child].get("loops", []) == loops
    # nothing depends on itself: the whole order can be walked
    walked: set[str] = set()
    while len(walked) < len(steps):
        ready = {step for step, facts in steps.items() if step not in walked and set(facts["after"]) <= walked}
        assert ready, "steps wait for each other"
        walked |= ready
    assert release_of(compile_sources([Source(json.dumps(data), "w.json")])[0], machine=MACHINE) == found


def test_steps_that_ask_for_a_checkpoint() -> None:
    text = """
        id: flow
        settings: {checkpoint: {policy: on_failure}}
        steps:
          - {id: build, type: skill, checkpoint: true, config: {skill: echo}}
          - {id: test, type: skill, checkpoint: false, depends_on: [build], config: {skill: echo}}
    """
    assert release(text)["settings"]["checkpoint"] == {"policy": "on_failure", "after": ["build"]}
    plain = text.replace("settings: {checkpoint: {policy: on_failure}}", "")
    assert release(plain)["settings"]["checkpoint"] == {"policy": "none", "after": ["build"]}
