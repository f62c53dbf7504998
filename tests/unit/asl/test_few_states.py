"""Which states a machine has: none that a machine written by hand could do without."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.by_hand import BY_HAND, entered
from translator.pipeline import compile_source


def states(steps: str, more: str = "") -> dict[str, Any]:
    text = f"dialect: canonical\nid: w\noutputs: {{a: 1}}\n{more}\nsteps:\n{steps}"
    return dict(compile_source(text).definition["States"])


def skill(step: str, *after: str, more: str = "") -> str:
    return f"- {{id: {step}, type: skill, config: {{skill: f}}, depends_on: [{', '.join(after)}]{more}}}\n"


def after(step: str, when: str) -> str:
    return f"{{step: {step}, when: \"{when}\"}}"


def test_what_follows_a_failure_and_what_follows_a_success_need_no_choice():
    found = states(
        skill("a", more=", on_failure: continue") + skill("bad", after("a", "errors.a != null"))
        + skill("good", after("a", "errors.a == null"))
    )
    assert set(found) == {"a", "bad", "good"}
    assert found["a"]["Next"] == "good" and {rule["Next"] for rule in found["a"]["Catch"]} == {"bad"}


@pytest.mark.parametrize(("one", "other"), [
    ("steps.a.output > 1", "not (steps.a.output > 1)"), ("steps.a.output == 'x'", "steps.a.output == 'y'"),
])
def test_conditions_that_exclude_each_other_are_one_choice(one, other):
    found = states(skill("a") + skill("b", after("a", one)) + skill("c", after("a", other)))
    assert [state["Type"] for name, state in found.items() if name not in ("a", "b", "c")].count("Choice") == 1
    assert not any(state["Type"] in ("Pass", "Parallel") for state in found.values())


def test_conditions_that_may_both_hold_are_asked_one_by_one():
    found = states(skill("a") + skill("b", after("a", "steps.a.output > 1")) + skill("c", after("a", "steps.a.output > 2")))
    assert any(state["Type"] == "Parallel" for state in found.values())


def test_a_step_that_can_never_run_keeps_its_state():
    assert "b" in str(states("- {id: a, type: wait, seconds: 1}\n" + skill("b", after("a", "errors.a != null"))))


def test_what_hangs_on_the_same_outcomes_is_asked_once():
    choice = "- {id: c, type: choice, cases: [{name: x, when: input.x}, {name: y, when: input.y}], default: z}\n"
    found = states(
        choice + skill("x", "{step: c, on: [x]}") + skill("y", "{step: c, on: [y]}") + skill("both", "x", "y")
        + skill("z", "{step: c, on: [z]}")
    )
    assert [name for name, state in found.items() if state["Type"] != "Task"] == ["c"]


def test_a_region_that_does_not_run_is_passed_by_with_its_tokens():
    rows = skill("b", "{step: c, on: [x]}") + skill("d", "{step: c, on: [x]}") + skill("e", "b") + skill("f", "b", "d") + skill("g", "d")
    found = states("- {id: c, type: choice, cases: [{name: x, when: input.x}], default: z}\n" + rows)
    assert found["c"]["Default"] == "w end" and len(found) == 3
    assert "Choice" not in str(found[found["c"]["Choices"][0]["Next"]])


def test_what_the_machine_does_at_once_stands_in_a_row():
    found = states("".join(f"- {{id: {one}, type: transform, config: {{expression: '1'}}}}\n" for one in "ab") + skill("c"))
    assert [state["Type"] for state in found.values()] == ["Pass", "Pass", "Task"]


def test_what_waits_for_a_token_stands_beside_what_sends_it():
    quick = "- {{id: {}, type: transform, config: {{expression: '1'}}, depends_on: [{}]}}\n"
    found = states(skill("a") + quick.format("b", "") + quick.format("c", "a, b") + skill("d", "a"))
    assert "waitForTaskToken" in str(found)
    assert not any("waitForTaskToken" in state.get("Resource", "") for state in found.values())


def test_the_item_of_a_loop_needs_no_state():
    found = states(
        "- id: each\n  type: foreach\n  items: [1]\n  on_item_error: continue\n  steps:\n"
        "  - {id: p, type: transform, config: {expression: item * 2}}\n"
        "  - {id: q, type: skill, depends_on: [p], config: {skill: f, parameters: {x: '{{ item }}'}}}\n"
    )
    processor = found["each"]["ItemProcessor"]
    assert processor["States"][processor["StartAt"]]["Type"] == "Parallel"


def test_what_cannot_fail_needs_nothing_around_it():
    branch = "{steps: [{id: p, type: transform, config: {data: {x: 1}}}]}"
    found = states(f"- {{id: both, type: parallel, wait_for_all: true, branches: [{branch}, {branch.replace('p,', 'q,')}]}}\n")
    assert [one["States"][one["StartAt"]]["Type"] for one in found["both"]["Branches"]] == ["Pass", "Pass"]


def test_a_single_step_at_the_end_stands_on_both_ways():
    found = states(skill("a"), "finally: [{id: last, type: skill, config: {skill: f}}]")
    assert sorted(state["Type"] for state in found.values()) == ["Fail", "Parallel", "Task", "Task"]


def test_tries_are_counted_from_the_state_before():
    found = states(skill("a") + skill("b", "a", more=", on_failure: {action: escalate, approvers: [x]}"))
    assert found["a"]["Next"] == "b" and 0 in found["a"]["Assign"].values()


def test_the_examples_enter_hardly_more_states_than_machines_written_by_hand():
    found = entered()
    assert set(found) == set(BY_HAND)
    assert sum(found.values()) <= 1.05 * sum(count.states for count in BY_HAND.values())
    assert all(states <= BY_HAND[name].states + 1 for name, states in found.items())
