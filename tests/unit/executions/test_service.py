"""What callers can ask of executions."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aslant.errors import (
    ConflictError,
    InvalidTransition,
    NetworkError,
    NotFoundError,
    PayloadTooLarge,
    ValidationError,
)
from aslant.executions.records import Child, Failure, Parent, Run
from aslant.executions.states import STATUSES
from tests.unit.executions.memory import T0, Budget, World, facts, release

LOOP = {
    "prepare": facts("transform"),
    "each": facts("foreach", after=["prepare", "inner", "last"], children=["inner", "last"]),
    "inner": facts("skill", after=["prepare"], loops=["each"]),
    "last": facts("skill", after=["prepare", "inner"], loops=["each"]),
    "side": facts("http"),
    "report": facts("notify", after=["each"]),
}


@pytest.fixture
def world() -> World:
    return World()


def started(world: World, **more):
    return world.service.start("acme", "flow", {"n": 1}, user="ann", **more)


# --- start


def test_a_start_stores_and_runs(world):
    made = started(world, labels={"team": "x"}, context={"user": "ann"}, trigger={"kind": "manual"})
    assert (made.status, made.run, made.version, made.user, made.labels) == ("running", 1, "1.0.0", "ann", {"team": "x"})
    assert world.machines.started == [made.id]
    assert world.machines.input(made.id) == {
        "input": {"n": 1}, "context": {"user": "ann"},
        "execution": {
            "id": made.id, "tenant": "acme", "workflow": "flow", "version": "1.0.0", "run": 1, "user": "ann",
            "started_at": "2027-01-15T08:00:00.000+00:00",
        },
    }  # fmt: skip
    assert world.service.get("acme", made.id) == made
    assert world.service.input("acme", made.id) == {"n": 1}
    assert [run.why for run in world.service.runs("acme", made.id)] == ["start"]


def test_the_same_key_is_the_same_execution(world):
    one, two = started(world, key="k"), started(world, key="k")
    assert one.id == two.id
    assert world.machines.started == [one.id]
    with pytest.raises(ConflictError):
        world.service.start("acme", "flow", {"n": 2}, user="ann", key="k")
    with pytest.raises(ConflictError):
        started(world, key="k", labels={"other": "1"})
    assert started(world, key="k2").id != one.id
    world.releases.put("other", release())
    assert world.service.start("other", "flow", {"n": 1}, user="ann", key="k").id != one.id


def test_a_key_still_stands_for_an_execution_that_has_ended(world):
    made = started(world, key="k")
    world.end(made.id, "completed")
    assert started(world, key="k").status == "completed"
    assert len(world.machines.started) == 1


def test_the_published_version_unless_another_is_named(world):
    world.releases.put("acme", release(version="2.0.0"))
    assert (started(world).version, started(world, version="1.0.0").version) == ("2.0.0", "1.0.0")
    with pytest.raises(NotFoundError):
        started(world, version="3.0.0")
    with pytest.raises(NotFoundError):
        world.service.start("acme", "nothing", {}, user="ann")


@pytest.mark.parametrize(("input", "error"), [
    ({"n": "x" * 258_100}, PayloadTooLarge), ({"n": float("nan")}, ValidationError), ([1], ValidationError),
    ({"n": object()}, ValidationError), (None, ValidationError),
])  # fmt: skip
def test_inputs_that_no_execution_takes_leave_nothing_behind(world, input, error):
    with pytest.raises(error):
        world.service.start("acme", "flow", input, user="ann", key="k")
    assert world.service.list("acme").items == ()
    assert world.machines.started == []


def test_declared_inputs_are_checked_and_completed():
    world = World(release(inputs={"n": {"type": "integer", "required": True}, "m": {"type": "string", "default": "x"}}))
    made = world.service.start("acme", "flow", {"n": 1}, user="ann")
    assert world.machines.input(made.id)["input"] == {"n": 1, "m": "x"}
    with pytest.raises(ValidationError, match="n is required"):
        world.service.start("acme", "flow", {}, user="ann")


def test_a_machine_that_is_gone_fails_the_execution(world, monkeypatch):
    def gone(*_):
        raise NotFoundError("no machine")

    monkeypatch.setattr(world.machines, "start", gone)
    with pytest.raises(NotFoundError):
        started(world)
    (found,) = world.service.list("acme").items
    assert (found.status, found.error) == ("failed", Failure("NotFoundError", "no machine"))


def test_an_engine_that_does_not_answer_is_asked_again(world, monkeypatch):
    start, answers = world.machines.start, [NetworkError("away")]

    def flaky(*given):
        if answers:
            raise answers.pop()
        return start(*given)

    monkeypatch.setattr(world.machines, "start", flaky)
    with pytest.raises(NetworkError):
        started(world, key="k")
    assert started(world, key="k").status == "running"
    assert len(world.machines.started) == 1


@pytest.mark.parametrize("id", ["", "unknown", "x#", "\ud800", "y" * 5000])
def test_unknown_ids(world, id):
    service = world.service
    for call in (
        lambda: service.get("acme", id), lambda: service.input("acme", id), lambda: service.steps("acme", id),
        lambda: service.pause("acme", id, by="ann"), lambda: service.cancel("acme", id, by="ann"),
        lambda: service.resume("acme", id, by="ann"), lambda: service.checkpoint("acme", id, by="ann"),
        lambda: service.reconcile("acme", id), lambda: service.plan("acme", id, "resume"),
    ):
        with pytest.raises(NotFoundError):
            call()


def test_nothing_of_another_tenant(world):
    made = started(world)
    service, before = world.service, world.service.get("acme", made.id)
    for name in ("get", "input", "output", "steps", "transitions", "runs", "children", "checkpoints", "reconcile"):
        with pytest.raises(NotFoundError):
            getattr(service, name)("other", made.id)
    for name in ("pause", "cancel", "resume", "retry", "rollback", "checkpoint"):
        with pytest.raises(NotFoundError):
            getattr(service, name)("other", made.id, by="eve")
    for call in (
        lambda: service.restore("other", made.id, 1, by="eve"), lambda: service.rerun("other", made.id, "a", by="eve"),
        lambda: service.read_checkpoint("other", made.id, 1), lambda: service.delete_checkpoint("other", made.id, 1),
    ):
        with pytest.raises(NotFoundError):
            call()
    assert service.list("other").items == ()
    assert (service.get("acme", made.id), world.machines.running) == (before, [made.id])


# --- pause, resume, retry, cancel


def test_pause_and_resume(world):
    made = started(world)
    world.completed(made.id, "a")
    world.clock.now += 5
    paused = world.service.pause("acme", made.id, by="bob", reason="lunch")
    assert (paused.status, paused.reason, paused.finished_at) == ("paused", "lunch", None)
    assert world.machines.running == []
    assert world.service.pause("acme", made.id, by="bob") == paused
    again = world.service.resume("acme", made.id, by="bob")
    assert (again.status, again.run) == ("running", 2)
    assert world.machines.running == [f"{made.id}-r2"]
    assert world.machines.input(f"{made.id}-r2")["execution"]["run"] == 2
    assert world.service.resume("acme", made.id, by="eve") == again
    assert [(one.before, one.after, one.by) for one in world.service.transitions("acme", made.id)] == [
        ("", "running", "ann"), ("running", "paused", "bob"), ("paused", "running", "bob"),
    ]
    assert [step.label for step in world.service.steps("acme", made.id)] == ["a"]


def test_retry_keeps_what_completed(world):
    made = started(world)
    world.completed(made.id, "a")
    world.failed(made.id, "b")
    world.end(made.id, "failed", error=Failure("E", "m", "b"), ttl=5)
    plan = world.service.plan("acme", made.id, "retry")
    assert [(step.label, step.action, step.repeats) for step in plan.steps] == [("a", "kept", False), ("b", "re-runs", True)]
    again = world.service.retry("acme", made.id, by="bob")
    assert (again.status, again.run, again.error, again.finished_at, again.ttl) == ("running", 2, None, None, None)
    assert world.service.retry("acme", made.id, by="bob") == again
    assert world.machines.running == [f"{made.id}-r2"]
    for what in ("retry", "resume"):
        with pytest.raises(InvalidTransition, match="running"):
            world.service.plan("acme", made.id, what)


ALLOWED = {
    "pause": {"running", "paused"},
    "cancel": {"pending", "running", "paused", "cancelled", "rolling_back"},
    "resume": {"paused"},
    "retry": {"failed", "timed_out", "cancelled", "rolled_back"},
    "rerun": {"paused", "failed", "timed_out", "cancelled", "rolled_back", "completed"},
    "restore": {"paused", "failed", "timed_out", "cancelled", "rolled_back", "completed"},
    "rollback": {"paused", "failed", "timed_out", "cancelled", "rolling_back", "rolled_back"},
}


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("what", ALLOWED)
def test_what_a_status_allows(what, status):
    world = World(release(rollback="arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"))
    made = started(world)
    world.service.checkpoint("acme", made.id, by="ann")
    world.store.executions["acme", made.id] = before = replace(world.service.get("acme", made.id), status=status)
    more = {"rerun": ("a",), "restore": (1,)}.get(what, ())
    if status in ALLOWED[what]:
        after = getattr(world.service, what)("acme", made.id, *more, by="bob").status
        assert after in {
            "pause": {"paused"}, "cancel": {"cancelled"}, "rollback": {"rolling_back", "rolled_back"},
        }.get(what, {"running"})
    else:
        with pytest.raises(InvalidTransition, match=status):
            getattr(world.service, what)("acme", made.id, *more, by="bob")
        assert world.service.get("acme", made.id) == before


def test_cancel_ends_it_for_good(world):
    made = started(world)
    cancelled = world.service.cancel("acme", made.id, by="bob", reason="wrong input")
    assert (cancelled.status, cancelled.finished_at, cancelled.ttl) == ("cancelled", T0, T0 // 1000 + 90 * 24 * 3600)
    assert world.machines.running == []
    assert world.service.cancel("acme", made.id, by="bob") == cancelled
    with pytest.raises(InvalidTransition):
        world.service.pause("acme", made.id, by="bob")


def test_cancelling_what_has_completed_changes_nothing(world):
    made = started(world)
    done = world.end(made.id, "completed")
    with pytest.raises(InvalidTransition):
        world.service.cancel("acme", made.id, by="bob")
    assert world.service.get("acme", made.id) == done


def test_retention_of_the_release():
    world = World(release(settings={"retention": 60}))
    made = started(world)
    assert world.service.cancel("acme", made.id, by="bob").ttl == T0 // 1000 + 60


def test_pending_approvals_are_cancelled(world):
    class Approvals:
        cancelled: list[tuple[str, str]] = []

        def cancel(self, tenant, execution):
            self.cancelled.append((tenant, execution))

        def set_aside(self, tenant, execution, *, run, chosen, asked_before=None):
            raise AssertionError("nothing is set aside here")

    service = world.through(Budget(), approvals=Approvals())
    made = service.start("acme", "flow", {}, user="ann")
    service.pause("acme", made.id, by="bob")
    assert Approvals.cancelled == []
    service.cancel("acme", made.id, by="bob")
    assert Approvals.cancelled == [("acme", made.id)]


# --- on another version


def test_a_plan_for_another_version_and_its_run(world):
    made = started(world)
    for at, step in enumerate(("a", "b", "c")):
        world.completed(made.id, step, at=at)
    new = release({"a": facts(), "b": facts(after=["a"], hash="new"), "d": facts(after=["b"])}, version="2.0.0")
    new["machine"] += "-2"
    world.releases.put("acme", new)
    world.service.pause("acme", made.id, by="bob")
    plan = world.service.plan("acme", made.id, "resume", version="2.0.0")
    assert [(step.label, step.action) for step in plan.steps] == [("a", "kept"), ("b", "re-runs"), ("c", "gone")]
    assert plan.steps[1].why == "its definition has changed" and plan.steps[1].repeats
    assert len(world.service.steps("acme", made.id)) == 3
    again = world.service.resume("acme", made.id, by="bob", version="2.0.0")
    assert (again.version, again.machine) == ("2.0.0", new["machine"])
    assert [step.label for step in world.service.steps("acme", made.id)] == ["a"]
    assert world.machines.running == [f"{made.id}-r2"]
    assert world.machines.input(f"{made.id}-r2")["execution"]["version"] == "2.0.0"


def test_dependents_of_what_changed_run_again(world):
    made = started(world)
    for step in ("a", "b", "c"):
        world.completed(made.id, step)
    world.releases.put("acme", release({"a": facts(hash="new"), "b": facts(after=["a"]), "c": facts(after=["b"])}, version="2.0.0"))
    world.end(made.id, "failed")
    plan = world.service.plan("acme", made.id, "retry", version="2.0.0")
    assert [(step.label, step.why) for step in plan.again] == [
        ("a", "its definition has changed"), ("b", "it depends on a"), ("c", "it depends on a"),
    ]
    world.service.retry("acme", made.id, by="bob", version="2.0.0")
    assert world.service.steps("acme", made.id) == ()


# --- rerun, restore


def looped() -> tuple[World, str]:
    world = World(release(LOOP))
    made = started(world)
    world.completed(made.id, "side", at=1)
    world.completed(made.id, "prepare", at=2)
    for index in (0, 1):
        world.completed(made.id, "inner", index, at=3 + index)
        world.completed(made.id, "last", index, at=6 + index)
    world.completed(made.id, "report", at=9)
    world.end(made.id, "completed")
    return world, made.id


@pytest.mark.parametrize(("step", "kept"), [
    ("report", ["inner[0]", "inner[1]", "last[0]", "last[1]", "prepare", "side"]),
    ("each", ["prepare", "side"]),
    ("last", ["inner[0]", "inner[1]", "prepare", "side"]),
    ("prepare", ["side"]),
    ("side", ["inner[0]", "inner[1]", "last[0]", "last[1]", "prepare", "report"]),
])  # fmt: skip
def test_rerun_from_a_step(step, kept):
    world, id = looped()
    plan = world.service.plan("acme", id, "rerun", step=step)
    assert sorted(one.label for one in plan.steps if one.action == "kept") == kept
    again = world.service.rerun("acme", id, step, by="bob")
    assert sorted(one.label for one in world.service.steps("acme", id)) == kept
    assert (again.run, again.preparing) == (2, {})
    assert world.service.rerun("acme", id, step, by="bob") == again
    with pytest.raises(InvalidTransition):
        world.service.rerun("acme", id, "side" if step != "side" else "report", by="bob")


def test_rerun_as_another_version_has_it():
    world, id = looped()
    first = world.service.get("acme", id)
    world.releases.put("acme", {**world.releases.get("acme", first.workflow, first.version), "version": "2.0.0"})
    again = world.service.rerun("acme", id, "report", by="bob", version="2.0.0")
    assert (first.version, again.version, again.run) == ("1.0.0", "2.0.0", 2)


def test_rerun_of_a_step_that_is_none():
    world, id = looped()
    with pytest.raises(NotFoundError, match="nothing"):
        world.service.rerun("acme", id, "nothing", by="bob")
    assert world.service.get("acme", id).status == "completed"


def test_restore_keeps_what_the_checkpoint_has():
    world, id = looped()
    point = world.service.take_checkpoint(world.service.get("acme", id), reason="every_n", by="", at=(T0 + 4) * 1000)
    assert point.steps == ("side", "prepare", "inner[0]", "inner[1]")
    plan = world.service.plan("acme", id, "restore", checkpoint=1)
    assert [one.label for one in plan.again] == ["last[0]", "last[1]", "report"]
    again = world.service.restore("acme", id, 1, by="bob")
    assert sorted(one.label for one in world.service.steps("acme", id)) == ["inner[0]", "inner[1]", "prepare", "side"]
    assert world.store.asides("acme", id) == [(2, "last[0]"), (2, "last[1]"), (2, "report")]
    assert (again.run, world.service.runs("acme", id)[-1].detail) == (2, "1")
    assert world.service.restore("acme", id, 1, by="bob") == again


def test_a_checkpoint_whose_records_changed_is_refused():
    world, id = looped()
    world.service.checkpoint("acme", id, by="ann")
    (record,) = [one for one in world.store.steps("acme", id) if one.label == "inner[1]"]
    world.store.put_step("acme", id, replace(record, output_sha256="another"))
    with pytest.raises(ConflictError, match="not those"):
        world.service.restore("acme", id, 1, by="bob")
    world.store.set_aside("acme", id, run=9, chosen=lambda one: one.label == "inner[1]")
    with pytest.raises(ConflictError, match=r"inner\[1\]"):
        world.service.restore("acme", id, 1, by="bob")
    assert (world.service.get("acme", id).status, world.service.get("acme", id).preparing) == ("completed", {})


def test_checkpoints_by_hand():
    world, id = looped()
    one, two = (world.service.checkpoint("acme", id, by="ann", label=label) for label in ("first", ""))
    assert (one.number, two.number, one.reason, one.label, len(one.steps)) == (1, 2, "manual", "first", 7)
    assert world.service.checkpoints("acme", id) == (one, two)
    world.service.delete_checkpoint("acme", id, 2)
    assert world.service.read_checkpoint("acme", id, 1) == one
    for number in (2, 0, -1, 10**9):
        with pytest.raises(NotFoundError):
            world.service.delete_checkpoint("acme", id, number)
        with pytest.raises(NotFoundError):
            world.service.restore("acme", id, number, by="ann")
    three = world.service.checkpoint("acme", id, by="ann")
    assert three.number == 3
    # One of a policy is written when the stream tells of its step: what it is of may lie before one by hand.
    late = world.service.take_checkpoint(world.service.get("acme", id), reason="every_node", by="", at=one.at - 1)
    assert late.number == 4 and world.service.checkpoints("acme", id) == (late, one, three)


# --- rollback


def test_rollback_starts_its_machine():
    undo = "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"
    world = World(release(rollback=undo))
    made = started(world)
    world.end(made.id, "failed", error=Failure("E", "m", "b"))
    rolling = world.service.rollback("acme", made.id, by="bob")
    assert (rolling.status, rolling.run, rolling.error) == ("rolling_back", 2, Failure("E", "m", "b"))
    assert rolling.arn == f"{undo.replace('stateMachine', 'execution')}:{made.id}-r2"
    assert world.machines.input(f"{made.id}-r2")["rollback"] == {
        "by": "request", "action": "rollback", "error": {"error": "E", "message": "m", "step": "b"},
    }
    assert world.service.rollback("acme", made.id, by="bob") == rolling
    assert world.machines.running == [f"{made.id}-r2"]


def test_cancel_with_compensation():
    world = World(release(rollback="arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"))
    made = started(world)
    rolling = world.service.cancel("acme", made.id, by="bob", compensate=True)
    assert rolling.status == "rolling_back"
    assert world.service.cancel("acme", made.id, by="bob", compensate=True) == rolling
    assert world.machines.running == [f"{made.id}-r2"]


def undoing_family() -> tuple[World, str]:
    world, root = family()
    flow = world.releases.get("acme", "flow")
    world.releases.put("acme", {**flow, "rollback": "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"})
    return world, root


def test_children_of_a_paused_execution_that_is_undone_end_as_cancelled():
    world, root = undoing_family()
    world.service.pause("acme", root, by="bob")
    assert world.service.rollback("acme", root, by="bob").status == "rolling_back"
    assert [world.service.get("acme", id).status for id in ("c1", "c2", "g")] == ["cancelled"] * 3
    assert world.machines.running == [f"{root}-r2"]


def test_a_child_left_paused_by_a_parent_that_was_undone_is_ended_by_looking():
    world, root = undoing_family()
    paused = world.service.pause("acme", root, by="bob")
    rolled = replace(paused, status="rolled_back", run=2, arn="undone")
    run = Run(2, "undone", "undo", "1.0.0", "rollback", "bob", T0, status="SUCCEEDED")
    world.store.transition(paused, rolled, by="engine", run=run)
    for id in ("g", "c1", "c2"):
        assert world.service.reconcile("acme", id).status == "cancelled"


def test_nothing_to_undo_is_said(world):
    made = started(world)
    world.end(made.id, "failed")
    with pytest.raises(InvalidTransition, match="nothing to undo"):
        world.service.rollback("acme", made.id, by="bob")


def test_a_retry_after_a_rollback_does_again_what_was_undone(world):
    made = started(world)
    for at, step in enumerate(("a", "b")):
        world.completed(made.id, step, at=at)
    world.completed(made.id, "undo b", at=5)
    world.end(made.id, "failed", undone=("b",), not_undone=("a",))
    again = world.service.retry("acme", made.id, by="bob")
    assert [one.label for one in world.service.steps("acme", made.id)] == ["a"]
    assert (again.undone, again.not_undone) == ((), ())


# --- children


def family(status: str = "running", run: int = 1) -> tuple[World, str]:
    """A parent, two children and a grandchild that run."""
    flow = release({"call": facts("workflow"), "after": facts(after=["call"])})
    world = World(flow, release(workflow="child", steps={"call": facts("workflow")}), release(workflow="leaf"))
    root = started(world)
    for id, parent, workflow in (("c1", root.id, "child"), ("c2", root.id, "leaf"), ("g", "c1", "leaf")):
        info = {
            "id": id, "tenant": "acme", "workflow": workflow, "version": "1.0.0", "run": run, "user": "ann",
            "parent": {"execution": parent, "step": "call", "iteration": [], "attempt": 0},
        }  # fmt: skip
        store_child(world, info)
    return world, root.id


def store_child(world: World, info) -> None:
    from aslant.executions.family import adopted
    from aslant.executions.naming import run_name

    machine = f"arn:aws:states:us-east-1:123456789012:stateMachine:{info['workflow']}"
    arn = world.machines.start(machine, run_name(info["id"], info["run"]), {"input": {}, "execution": info})
    execution, given, run = adopted(info, arn=arn, machine=machine, started_at=T0, given={"input": {}})
    world.store.create(execution, given, run)
    parent = execution.parent
    assert parent is not None
    world.store.add_child("acme", parent.execution, Child(execution.id, parent.step, parent.iteration, parent.attempt))


@pytest.mark.parametrize(("what", "status"), [("pause", "paused"), ("cancel", "cancelled")])
def test_children_are_taken_along(what, status):
    world, root = family()
    assert len(world.machines.running) == 4
    getattr(world.service, what)("acme", root, by="bob")
    assert world.machines.running == []
    assert [world.service.get("acme", id).status for id in (root, "c1", "c2", "g")] == [status] * 4
    before = [world.service.get("acme", id) for id in ("c1", "c2", "g")]
    getattr(world.service, what)("acme", root, by="bob")
    assert [world.service.get("acme", id) for id in ("c1", "c2", "g")] == before


def test_a_child_that_completed_stays_completed():
    world, root = family()
    done = world.end("c2", "completed")
    world.service.cancel("acme", root, by="bob")
    assert world.service.get("acme", "c2") == done


def test_a_child_that_no_notice_told_of_is_found_in_the_history():
    world, root = family()
    info = {"id": "late", "tenant": "acme", "workflow": "leaf", "run": 1,
            "parent": {"execution": root, "step": "call", "iteration": [3], "attempt": 0}}  # fmt: skip
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:leaf"
    arn = world.machines.start(machine, "late", {"input": {}, "execution": info})
    world.machines.histories[world.service.get("acme", root).arn] = [{
        "id": 5, "type": "TaskSubmitted", "taskSubmittedEventDetails": {
            "resource": "startExecution.sync:2", "output": f'{{"ExecutionArn": "{arn}"}}',
        },
    }]  # fmt: skip
    world.service.pause("acme", root, by="bob")
    assert world.machines.running == []
    assert world.service.get("acme", "late").status == "paused"
    assert world.service.get("acme", "late").parent == Parent(root, "call", (3,), 0)
    assert [one.id for one in world.service.children("acme", root)] == ["c1", "c2", "late"]


def test_children_go_with_their_parent():
    world, root = family()
    for what in ("pause", "rerun", "retry", "resume"):
        with pytest.raises(InvalidTransition):
            getattr(world.service, what)("acme", "c1", *(("call",) if what == "rerun" else ()), by="bob")
    world.service.pause("acme", root, by="bob")
    for undoing in (
        lambda: world.service.resume("acme", "c1", by="bob"), lambda: world.service.rollback("acme", "c1", by="bob"),
        lambda: world.service.cancel("acme", "c1", by="bob", compensate=True),
    ):
        with pytest.raises(InvalidTransition, match=f"part of {root}"):
            undoing()
    assert world.service.cancel("acme", "c1", by="bob").status == "cancelled"


def undoing_child(parents: str) -> tuple[World, str]:
    """A family whose parent has ended as `parents`; a child `c2` of it is rolled back, and the start of that got lost."""
    world, root = undoing_family()
    leaf = world.releases.get("acme", "leaf")
    undo = "arn:aws:states:us-east-1:123456789012:stateMachine:leaf-rollback"
    world.releases.put("acme", {**leaf, "rollback": undo})
    flow = world.releases.get("acme", "flow")
    world.releases.put("acme", {**flow, "ending": "arn:aws:states:us-east-1:123456789012:stateMachine:flow-ending"})
    if parents == "cancelled":
        world.service.cancel("acme", root, by="bob")
    else:
        world.end("c2", "failed")
        world.end(root, "failed")
    rolling = world.service.rollback("acme", "c2", by="bob")
    del world.machines.known[rolling.arn]
    return world, root


@pytest.mark.parametrize("parents", ["failed", "cancelled"])
def test_a_rollback_of_a_child_that_got_lost_is_started_whatever_its_parent_is(parents):
    world, _ = undoing_child(parents)
    rolling = world.service.get("acme", "c2")
    assert world.service.reconcile("acme", "c2") == rolling
    assert rolling.status == "rolling_back" and rolling.arn.rpartition(":")[2] in world.machines.running


def test_a_child_that_a_parent_left_behind_when_it_came_to_its_finally_is_ended():
    world, root = undoing_family()
    flow = world.releases.get("acme", "flow")
    world.releases.put("acme", {**flow, "ending": "arn:aws:states:us-east-1:123456789012:stateMachine:flow-ending"})
    child = world.service.get("acme", "c2")
    world.service.cancel("acme", root, by="bob")
    world.store.executions["acme", "c2"] = replace(child, status="rolling_back", revision=child.revision + 1)
    assert world.service.reconcile("acme", "c2").status == "cancelled"


def test_a_parent_goes_on_only_when_what_was_asked_of_its_child_is_over():
    world, root = undoing_child("failed")
    with pytest.raises(InvalidTransition, match="c2, is being rolled back"):
        world.service.retry("acme", root, by="bob")
    undone = world.service.get("acme", "c2")
    world.store.transition(undone, replace(undone, status="rolled_back"), by="engine")
    assert world.service.retry("acme", root, by="bob").status == "running"


def test_a_child_that_undoes_something_when_its_parent_is_paused_is_over():
    world, root = family()
    child = world.service.get("acme", "c2")
    world.store.transition(child, replace(child, status="rolling_back"), by="rollback")
    world.service.pause("acme", root, by="bob")
    assert {id: world.service.get("acme", id).status for id in ("c1", "c2", "g")} == {
        "c1": "paused", "c2": "cancelled", "g": "paused",
    }
    assert world.machines.running == []


def test_a_run_has_a_number_that_no_child_has_had():
    world, root = family()
    world.store.executions["acme", "g"] = replace(world.service.get("acme", "g"), run=4)
    world.service.pause("acme", root, by="bob")
    assert world.service.resume("acme", root, by="bob").run == 5


def test_pausing_leaves_a_later_run_of_a_child_alone():
    """A run of the child that a later run of the parent has started is none of a slow pause's business."""
    world, root = family()
    before = world.service.get("acme", root)
    world.store.executions["acme", "c2"] = replace(world.service.get("acme", "c2"), run=2)
    world.service._family.halt(replace(before, status="paused"), "paused", by="bob")
    assert world.service.get("acme", "c2").status == "running"


def test_what_a_child_did_for_a_step_that_runs_again_does_not_count():
    world, root = family()
    for id in ("c1", "g"):
        world.completed(id, "a")
    world.service.pause("acme", root, by="bob")
    world.service.rerun("acme", root, "after", by="bob")
    assert len(world.service.steps("acme", "g")) == 1
    world.service.pause("acme", root, by="bob")
    world.service.rerun("acme", root, "call", by="bob")
    assert world.service.steps("acme", "c1") == world.service.steps("acme", "g") == ()


def test_another_version_of_a_child_counts_too():
    world, root = family()
    for step in ("a", "b", "c"):
        world.completed("g", step)
    world.releases.put("acme", release(
        {"call": facts("workflow"), "after": facts(after=["call"])}, version="2.0.0",
    ))  # fmt: skip
    world.releases.put("acme", release({"a": facts(), "b": facts(after=["a"], hash="new")}, workflow="leaf", version="2.0.0"))
    world.service.pause("acme", root, by="bob")
    world.service.resume("acme", root, by="bob")
    assert len(world.service.steps("acme", "g")) == 3
    world.service.pause("acme", root, by="bob")
    world.service.resume("acme", root, by="bob", version="2.0.0")
    assert [one.label for one in world.service.steps("acme", "g")] == ["a"]


def test_what_a_child_has_undone_is_done_again():
    world, root = family()
    for step in ("a", "b", "c"):
        world.completed("g", step)
    world.store.executions["acme", "g"] = replace(world.service.get("acme", "g"), undone=("b",), status="failed")
    world.end(root, "failed")
    world.service.retry("acme", root, by="bob")
    assert [one.label for one in world.service.steps("acme", "g")] == ["a"]
    assert world.service.get("acme", "g").undone == ()


def test_the_history_of_a_rollback_is_not_that_of_the_workflow():
    undo = "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"
    world = World(release({"w": facts("wait"), "b": facts(after=["w"])}, rollback=undo))
    made = started(world)
    at = "2027-01-15T08:00:05+00:00"
    world.machines.histories[made.arn] = [
        {"id": 1, "previousEventId": 0, "type": "WaitStateEntered", "timestamp": at, "stateEnteredEventDetails": {"name": "w"}},
    ]  # fmt: skip
    world.end(made.id, "failed")
    world.service.rollback("acme", made.id, by="bob")
    world.end(made.id, "failed")
    world.service.retry("acme", made.id, by="bob")
    assert world.machines.input(f"{made.id}-r3")["execution"]["entered"] == {f"{made.id}/w": T0 + 5000}


def test_waits_of_earlier_runs_keep_their_first_moment_but_not_those_that_are_set_aside():
    world = World(release({"a": facts(), "w": facts("wait", after=["a"]), "b": facts(after=["w"])}))
    made = started(world)

    def waited(arn: str, second: int) -> None:
        world.machines.histories[arn] = [{
            "id": 1, "previousEventId": 0, "type": "WaitStateEntered", "timestamp": f"2027-01-15T08:00:{second:02d}+00:00",
            "stateEnteredEventDetails": {"name": "w"},
        }]  # fmt: skip

    def next_run(call, second: int) -> int | None:
        waited(world.service.get("acme", made.id).arn, second)
        world.service.pause("acme", made.id, by="bob")
        after = call()
        given = world.machines.input(f"{made.id}-r{after.run}")["execution"].get("entered", {})
        assert set(given) <= {f"{made.id}/w"}
        return given.get(f"{made.id}/w")

    resume, rerun = (lambda: world.service.resume("acme", made.id, by="bob")), (lambda: world.service.rerun("acme", made.id, "a", by="bob"))
    assert next_run(resume, 5) == T0 + 5000
    assert next_run(resume, 20) == T0 + 5000
    assert next_run(rerun, 30) is None
    assert next_run(resume, 40) == T0 + 40_000


def test_a_restore_reaches_into_children_by_time():
    world, root = family()
    world.completed("g", "a", at=1)
    world.completed("g", "b", at=8)
    world.service.take_checkpoint(world.service.get("acme", root), reason="manual", by="", at=(T0 + 4) * 1000)
    world.service.pause("acme", root, by="bob")
    world.service.restore("acme", root, 1, by="bob")
    assert [one.label for one in world.service.steps("acme", "g")] == ["a"]


# --- at once


def at_once(*calls):
    barrier, errors = threading.Barrier(len(calls)), []

    def run(call) -> None:
        barrier.wait()
        try:
            call()
        except (InvalidTransition, ConflictError) as error:  # such as a restore of what a rerun has set aside
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("attempt", range(10))
def test_resumes_at_once_make_one_run(world, attempt):
    made = started(world)
    world.service.pause("acme", made.id, by="bob")
    assert at_once(*[lambda: world.service.resume("acme", made.id, by="bob")] * 5) == []
    assert world.machines.running == [f"{made.id}-r2"]
    assert len(world.service.runs("acme", made.id)) == 2


@pytest.mark.parametrize("attempt", range(10))
def test_restores_and_resumes_at_once_make_one_run(attempt):
    world, id = looped()
    world.service.take_checkpoint(world.service.get("acme", id), reason="manual", by="", at=(T0 + 4) * 1000)
    at_once(
        *[lambda: world.service.restore("acme", id, 1, by="bob")] * 3, *[lambda: world.service.rerun("acme", id, "side", by="eve")] * 2
    )
    (run,) = world.machines.running[-1:]
    assert (run, len(world.machines.running), len(world.service.runs("acme", id))) == (f"{id}-r2", 1, 2)
    left = {one.label for one in world.service.steps("acme", id)}
    if world.service.runs("acme", id)[-1].why == "restore":
        assert left <= {"inner[0]", "inner[1]", "prepare", "side"}
    else:
        assert "side" not in left
    assert world.service.get("acme", id).preparing == {}


@pytest.mark.parametrize("attempt", range(10))
def test_pause_against_resume_and_cancel(world, attempt):
    made = started(world)
    at_once(
        lambda: world.service.pause("acme", made.id, by="bob"), lambda: world.service.resume("acme", made.id, by="bob"),
        lambda: world.service.cancel("acme", made.id, by="bob"), lambda: world.service.pause("acme", made.id, by="bob"),
    )
    assert world.service.get("acme", made.id).status == "cancelled"
    assert world.machines.running == []


@pytest.mark.parametrize("attempt", range(10))
def test_cancel_against_the_end(world, attempt):
    made = started(world)

    def end() -> None:
        with contextlib.suppress(ConflictError):
            world.end(made.id, "completed")

    refused = at_once(lambda: world.service.cancel("acme", made.id, by="bob"), end)
    after = world.service.get("acme", made.id).status
    assert after == ("completed" if refused else "cancelled")
    finals = [one for one in world.service.transitions("acme", made.id) if one.after in ("completed", "cancelled")]
    assert len(finals) == 1


# --- reconcile


def test_a_run_that_never_started_is_started(world):
    made = started(world)
    world.machines.known.clear()
    assert world.service.reconcile("acme", made.id) == made
    assert world.machines.running == [made.id]


def test_a_run_that_the_engine_lost_goes_on_as_another(world):
    made = started(world)
    world.completed(made.id, "a")
    world.machines.known.clear()
    again = world.service.reconcile("acme", made.id)
    assert (again.status, again.run, world.service.runs("acme", made.id)[-1].why) == ("running", 2, "recover")
    assert world.machines.running == [f"{made.id}-r2"]
    assert world.service.reconcile("acme", made.id) == again


def test_a_run_that_is_lost_again(world):
    made = started(world)
    world.completed(made.id, "a")
    world.machines.known.clear()
    world.service.reconcile("acme", made.id)
    world.completed(made.id, "b", run=2)
    world.machines.known.clear()
    again = world.service.reconcile("acme", made.id)
    assert world.machines.running == [f"{made.id}-r3"]
    assert [(run.why, run.detail) for run in world.service.runs("acme", made.id)] == [("start", ""), ("recover", "1"), ("recover", "2")]
    assert world.service.reconcile("acme", made.id) == again


def test_what_native_states_did_in_a_lost_run_is_recorded_first():
    world = World(release({"nap": facts("wait"), "rest": facts("wait", after=["nap"])}))
    made = started(world)
    at = [datetime.fromtimestamp(made.started_at / 1000 + second, UTC) for second in range(5)]
    kinds = [("ExecutionStarted", ""), ("WaitStateEntered", "nap"), ("WaitStateExited", "nap"), ("WaitStateEntered", "rest")]
    world.machines.histories[made.arn] = [
        {"id": number + 1, "previousEventId": number, "type": kind, "timestamp": at[number], "stateEnteredEventDetails": {"name": name},
         "stateExitedEventDetails": {"name": name}}
        for number, (kind, name) in enumerate(kinds)
    ]  # fmt: skip
    world.machines.known.clear()
    again = world.service.reconcile("acme", made.id)
    nap, rest = world.service.steps("acme", made.id)
    assert (nap.status, nap.run, nap.finished_at) == ("completed", 1, made.started_at * 1000 + 2_000_000)
    assert (rest.status, rest.finished_at) == ("running", None)
    first, second = world.service.runs("acme", made.id)
    assert (first.status, first.ended_at, second.number) == ("ABORTED", made.started_at + 3000, again.run)
    assert second.entered[f"{made.id}/rest"] == made.started_at + 3000


def test_a_lost_run_of_which_only_the_history_is_left_goes_on_as_another(world):
    made = started(world)
    world.machines.histories[made.arn] = [{"id": 1, "previousEventId": 0, "type": "ExecutionStarted", "timestamp": "2026-01-01T00:00:00.000Z"}]
    world.machines.known.clear()
    assert world.service.reconcile("acme", made.id).run == 2


def test_an_end_that_nobody_noticed_is_recorded(world):
    seen = []

    def record_end(execution, described):
        seen.append(described["status"])
        world.end(execution.id, "failed")

    service = world.through(Budget(), record_end=record_end)
    made = service.start("acme", "flow", {}, user="ann")
    assert service.reconcile("acme", made.id).status == "running"
    world.machines.end(made.arn, "FAILED")
    assert service.reconcile("acme", made.id).status == "failed"
    assert seen == ["FAILED"]


def test_a_pause_that_was_only_noted_is_carried_out(world):
    made = started(world)
    world.store.transition(made, replace(made, status="paused"), by="bob")
    assert world.machines.running == [made.id]
    world.service.reconcile("acme", made.id)
    assert world.machines.running == []
