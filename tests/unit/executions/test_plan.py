"""What a plan says of each kind of step."""

from __future__ import annotations

from typing import Any

import pytest

from aslant.executions.plan import Aside, Plan, again_from, planned
from aslant.executions.records import Child, StepRecord
from tests.unit.executions.memory import T0, World, facts, release
from tests.unit.executions.test_service import started, store_child

STEPS = {
    "sums": facts("transform"),
    "both": facts("parallel", after=["sums", "pay", "ask"], children=["pay", "ask"]),
    "pay": facts("http", after=["sums"]),
    "ask": facts("approval", after=["sums"]),
    "nap": facts("wait", after=["both"]),
    "call": facts("workflow", after=["nap"]),
    "made": facts("transform", after=["nap"], hidden=True),
}


def record(step: str, status: Any = "completed", **more: Any) -> StepRecord:
    kind = STEPS[step]["type"]
    return StepRecord(step, (), status, kind, started_at=T0, native=kind != "http", **more)


def actions(plan: Plan) -> dict[str, str]:
    return {step.label: step.action for step in plan.steps}


def test_what_completed_is_kept_or_computed_again():
    plan = planned("retry", release(STEPS), [record(step) for step in STEPS], Aside({}, {}))
    assert actions(plan) == {
        "sums": "computed again", "both": "computed again", "pay": "kept", "ask": "kept", "nap": "kept", "call": "kept",
    }
    assert plan.again == ()


def test_the_step_that_is_rerun_is_listed_with_all_that_depends_on_it():
    flow = release(STEPS)
    plan = planned("rerun", flow, [record(step) for step in STEPS if step != "call"], Aside(again_from(flow, "sums"), {}))
    assert set(actions(plan).values()) == {"re-runs"} and "call" not in actions(plan)
    whys = {step.label: step.why for step in plan.steps}
    assert whys["sums"] == "it was asked for"
    assert whys["ask"] == "it depends on sums; it is asked again"
    assert [step.label for step in plan.steps if step.repeats] == ["pay"]
    assert actions(planned("rerun", flow, [], Aside(again_from(flow, "call"), {}))) == {"call": "re-runs"}  # it never began


@pytest.mark.parametrize(("step", "status", "settled", "action", "why"), [
    ("sums", "failed", False, "re-runs", "it failed"),
    ("sums", "failed", True, "kept", "it failed, and the workflow went on after that"),
    ("ask", "failed", False, "re-runs", "it failed; it is asked again"),
    ("ask", "running", False, "kept", "its request stays open"),
    ("nap", "running", False, "kept", "it waits until the same moment"),
    ("call", "running", False, "re-runs", "it had not ended"),
])  # fmt: skip
def test_native_steps_that_failed_or_were_interrupted(step, status, settled, action, why):
    (found,) = planned("retry", release(STEPS), [record(step, status, settled=settled)], Aside({}, {})).steps
    assert (found.action, found.why, found.repeats) == (action, why, False)


def test_an_answer_that_the_machine_does_not_know_yet_is_kept() -> None:
    open_one = record("ask", "running")
    (found,) = planned("resume", release(STEPS), [open_one], Aside({}, {}), answered={("ask", ())}).steps
    assert (found.action, found.why) == ("kept", "its answer is recorded")


def test_a_plan_discards_what_had_completed_or_been_answered() -> None:
    flow = release(STEPS)

    def discards(step: str, status: str, asked: str = "") -> bool:
        aside = Aside(again_from(flow, asked) if asked else {}, {})
        return planned("retry", flow, [record(step, status)], aside).discards

    assert discards("pay", "completed", "pay") and discards("pay", "completed", "sums") and discards("ask", "completed", "ask")
    assert not discards("pay", "completed") and not discards("pay", "failed") and not discards("pay", "failed", "pay")
    assert not discards("nap", "completed", "nap")  # nobody's work is lost


def test_skipped_native_steps_are_left_out():
    assert planned("retry", release(STEPS), [record("sums", "skipped")], Aside({}, {})).steps == ()


def with_child() -> tuple[World, str]:
    world = World(release({"call": facts("workflow"), "after": facts(after=["call"])}), release(workflow="leaf"))
    root = started(world)
    for attempt, id in enumerate(("c0", "c1")):
        parent = {"execution": root.id, "step": "call", "iteration": [], "attempt": attempt}
        store_child(world, {
            "id": id, "tenant": "acme", "workflow": "leaf", "version": "1.0.0", "run": 1, "user": "ann", "parent": parent,
        })  # fmt: skip
    assert Child("c1", "call", (), 1) in world.store.children("acme", root.id)
    world.completed("c0", "c")  # an earlier attempt, which does not count
    world.completed("c1", "a", at=1)
    world.failed("c1", "b", at=2)
    for id in ("c1", root.id):
        world.end(id, "failed")
    return world, root.id


def test_steps_of_sub_workflows_are_listed_beneath_the_step_that_calls_them():
    world, root = with_child()
    assert actions(world.service.plan("acme", root, "retry")) == {"call > a": "kept", "call > b": "re-runs"}
    rerun = world.service.plan("acme", root, "rerun", step="call")
    assert actions(rerun) == {"call": "re-runs", "call > a": "re-runs", "call > b": "re-runs"}
    assert all(step.repeats for step in rerun.steps if ">" in step.label)


@pytest.mark.parametrize(("step", "why"), [
    ("items pay", "changed"), ("evaluate:0a1b2c3d pay", "changed"), ("undo pay", "changed"), ("undo pay: one: two", "changed"),
    ("items undo pay: each", "changed"), ("items ask", None), ("undo ask", None), ("undo ask: pay", None), ("nap", None),
])  # fmt: skip
def test_what_belongs_to_a_step_goes_with_it(step: str, why: str | None) -> None:
    one = StepRecord(step, (), "completed", "transform")
    assert Aside({"pay": "changed"}, {}, own=STEPS).why(one) == why
    assert planned("retry", release(STEPS), [one], Aside({}, {})).steps[1:] == ()


def test_what_a_rollback_did_besides_undoing_does_not_count_in_a_later_run() -> None:
    rolled = Aside({}, {}, own=STEPS, rolled=True)
    sign = StepRecord("sign", (), "completed", "skill")
    assert rolled.why(sign) and rolled.why_step("sign", ()) and not rolled.empty
    assert planned("retry", release(STEPS), [sign], rolled).steps == ()
    assert rolled.why(record("pay")) is None and rolled.why(StepRecord("undo pay", (), "completed")) is None


@pytest.mark.parametrize("status", ["completed", "failed"])
def test_a_step_whose_undo_failed_acts_again_only_with_a_yes(status: Any) -> None:
    aside = Aside({"pay": "it was undone"} if status == "completed" else {}, {}, own=STEPS, rolled=True)
    undo = StepRecord("undo pay", (), "failed", "http")
    step = planned("retry", release(STEPS), [record("pay", status), undo], aside).steps[0]
    assert (step.label, step.action, step.repeats, step.discards) == ("pay", "re-runs", True, True)
    assert step.why.endswith("its undo failed, so what it did still stands")
    fine = planned("retry", release(STEPS), [record("pay", status), StepRecord("undo pay", (), "completed")], aside).steps[0]
    assert "still stands" not in fine.why
