"""What is said about rollbacks that cannot work, and what the machines look like."""

from __future__ import annotations

import json
import textwrap
from typing import Any

import pytest

from translator.diagnostics import TranslatorError
from translator.pipeline import Compilation, Source, compile_sources

STEP = "{id: a, type: skill, config: {skill: x}"
HEAD = "dialect: canonical\nid: w\n"


def compiled(text: str, *others: str) -> Compilation:
    sources = [Source(HEAD + textwrap.dedent(text), "w.yaml"), *(Source(other, f"o{n}.yaml") for n, other in enumerate(others))]
    return compile_sources(sources)[0]


def codes(text: str) -> set[str]:
    try:
        return {item.code for item in compiled(text).diagnostics}
    except TranslatorError as error:
        return {item.code for item in error.diagnostics}


def message(text: str) -> str:
    with pytest.raises(TranslatorError) as caught:
        compiled(text)
    return "\n".join(item.message for item in caught.value.diagnostics)


def test_a_definition_that_says_nothing_of_undoing_has_no_rollback_and_no_guard() -> None:
    made = compiled(f"steps: [{STEP}}}]")
    assert made.rollback is None and made.rollbacks == {}
    assert {state["Type"] for state in made.definition["States"].values()} == {"Task"}


def test_a_compensation_without_a_policy_costs_the_execution_nothing() -> None:
    made = compiled(f"steps: [{STEP}, compensation: {{id: c, type: skill, config: {{skill: y}}}}}}]")
    assert made.rollback is not None and made.rollbacks == {}
    assert [*made.definition["States"]] == ["a"]
    assert "undo a" in json.dumps(made.rollback.definition)


def test_steps_of_a_compensation_are_checked_like_others() -> None:
    text = f"steps: [{STEP}, compensation: {{id: c, type: nonsense}}}}]"
    assert "unknown type 'nonsense'" in message(text)
    text = f"steps: [{STEP}, compensation: {{id: c, type: http, config: {{uri: x}}}}}}]"
    assert "unknown key uri" in message(text)
    text = f"steps: [{STEP}, compensation: {{id: c, type: skill, config: {{skill: y, parameters: {{v: '{{{{ steps.b.output }}}}'}}}}}}}}]"
    assert "there is no step b" in message(text)


def test_a_rollback_step_cannot_have_the_id_of_a_step() -> None:
    assert "used twice" in message(f"steps: [{STEP}}}]\nrollback: [{STEP}}}]")


def test_an_undo_cannot_read_into_another_loop() -> None:
    text = """
        steps:
          - {id: l, type: foreach, items: [1], steps: [{id: s, type: skill, config: {skill: x}}]}
          - id: a
            type: skill
            depends_on: [l]
            config: {skill: x}
            compensation: {id: c, type: skill, config: {skill: y, parameters: {v: "{{ steps.s.output }}"}}}
    """
    assert "'s' is inside of the loop 'l'" in message(text)


def test_an_undo_may_read_a_step_that_came_later() -> None:
    text = """
        steps:
          - id: a
            type: skill
            config: {skill: x}
            compensation: {id: c, type: skill, config: {skill: y, parameters: {v: "{{ steps.b.status }}"}}}
          - {id: b, type: skill, depends_on: [a], config: {skill: x}}
    """
    assert codes(text) == set()


@pytest.mark.parametrize(("text", "code"), [
    (f"settings: {{on_error: rollback}}\nsteps: [{STEP}}}]", "A019"),
    (f"settings: {{on_error: rollback, execution: express}}\nsteps: [{STEP}}}]", "A011"),
    (f"settings: {{execution: express}}\nsteps: [{STEP}, on_failure: escalate}}]", "A011"),
    (f"error_handlers: [{{errors: [X], action: fail, steps: [r]}}]\nsteps: [{STEP}}}]\nrollback: [{STEP.replace('a', 'r', 1)}}}]", "A007"),
])  # fmt: skip
def test_findings(text: str, code: str) -> None:
    assert code in codes(text)


def test_both_machines_are_the_same_each_time() -> None:
    text = f"""
        settings: {{on_error: rollback}}
        steps: [{STEP}, compensation: {{id: c, type: skill, config: {{skill: y, parameters: {{v: "{{{{ steps.a.output }}}}"}}}}}}}}]
        rollback: [{{id: r, type: skill, config: {{skill: z}}}}]
    """
    one, two = compiled(text), compiled(text)
    assert one.rollback is not None and two.rollback is not None
    assert json.dumps(one.definition) == json.dumps(two.definition)
    assert json.dumps(one.rollback.definition) == json.dumps(two.rollback.definition)


STAGES = """
workflow:
  name: d
  stages:
    - name: p
      steps: [{id: a, skill: x, on_failure: {action: escalate, approvers: [ops], timeout: 60, then: skip}}]
"""
STEPS = """
name: n
steps:
  - {id: a, name: a, type: skill, config: {skill: x}, on_failure: {action: escalate, approvers: [ops], timeout: 60, then: skip}}
"""
TASKS = """
id: t
name: t
tasks:
  - {id: a, type: {type: skill, skill: x}, on_failure: {action: escalate, approvers: ops, timeout: 60, then: continue}}
"""


@pytest.mark.parametrize("text", [STAGES, STEPS, TASKS])
def test_who_is_asked_and_how_long_can_be_said_in_every_spelling(text: str) -> None:
    (made,) = compile_sources([Source(text, "own.yaml")])
    question = made.definition["States"]["a ask"]
    assert question["Arguments"]["Payload"]["config"]["approvers"] == ["ops"]
    assert question["Arguments"]["Payload"]["timeout"] == 60
    assert "abort" in question["Arguments"]["Payload"]["config"]["options"]


def test_two_compensations_with_one_id_are_told_with_both_places() -> None:
    undo = "{id: c, type: skill, config: {skill: x}}"
    with pytest.raises(TranslatorError) as caught:
        compiled(f"""\
steps:
  - {STEP}, compensation: {undo}}}
  - {STEP.replace("a", "b", 1)}, compensation: {undo}}}
""")
    (found,) = caught.value.diagnostics
    assert (found.code, found.position.line, [at.line for _, at in found.related]) == ("G001", 5, [4])


def test_one_compensation_written_once_serves_several_steps() -> None:
    undo = "{id: c, type: skill, config: {skill: x}}"
    first, second = f"{STEP}, compensation: &undo {undo}}}", f"{STEP.replace('a', 'b', 1)}, compensation: *undo}}"
    assert codes(f"steps:\n  - {first}\n  - {second}\n") == set()


def test_an_unknown_key_of_an_approval_that_means_another_word_is_told_the_right_one() -> None:
    text = "steps: [{id: a, type: approval, config: {approval_type: multiple_choice, choices: [x]}}]"
    assert "unknown key choices; did you mean options?" in message(text)


def states_of(machine: Any) -> dict[str, Any]:
    """All states of a machine by name, those inside of others too."""
    found: dict[str, Any] = {}
    for name, state in machine["States"].items():
        found[name] = state
        for inner in (*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else ())):
            found |= states_of(inner)
    return found


def test_what_a_rollback_does_itself_has_a_short_limit_and_outlives_a_killed_function() -> None:
    made = compiled("""
        settings: {on_error: compensate}
        steps:
          - {id: a, type: skill, timeout: 5, config: {skill: x}, compensation: {id: c, type: skill, config: {skill: y}}}
          - {id: b, type: skill, timeout: 90, config: {skill: x}, compensation: {id: d, type: skill, config: {skill: y}}}
          - {id: e, type: skill, timeout: 90, config: {skill: x}, compensation: {id: f, type: skill, timeout: 7, config: {skill: y}}}
          - {id: g, type: skill, config: {skill: x}, compensation: {id: h, type: skill, config: {skill: "{{ steps.n.output }}"}}}
          - {id: n, type: wait, seconds: 1}
          - id: p
            type: skill
            config: {skill: x}
            compensation: {id: q, type: parallel, branches: [{steps: [{id: r, type: skill, config: {skill: y}}]}, {steps: []}]}
        rollback:
          - {id: last, type: skill, config: {skill: y}}
    """)
    assert made.rollback is not None
    main, undoing = states_of(made.definition), states_of(made.rollback.definition)
    limits = {name: state["TimeoutSeconds"] for name, state in undoing.items() if state["Type"] == "Task"}
    assert [limits[f"undo {step}"] for step in "abeg"] == [60, 90, 7, 300]
    assert (limits["undo p: r"], limits["last"]) == (300, 300)
    own = [undoing[name] for name in ("rollback plan", "undo values", "rollback end")] + [main["n record"]]
    assert [state["TimeoutSeconds"] for state in own] == [900, 60, 60, 60]  # the plan waits for what is still done
    assert main["n"]["Assign"] == {"n": None, "n_began": "{% $states.context.State.EnteredTime %}"}
    assert main["n record"]["Arguments"]["Payload"]["entered"] == "{% $n_began %}"
    for state in own:
        assert any("Runtime.ExitError" in rule["ErrorEquals"] and rule.get("MaxAttempts", 3) == 3 for rule in state["Retry"])
        assert not any({"RollbackIncomplete", "States.ALL"} & set(rule["ErrorEquals"]) for rule in state["Retry"])
