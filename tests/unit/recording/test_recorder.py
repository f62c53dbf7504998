"""Notices of the engine against records in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aslant.executions.records import Execution, Failure, Run, StepRecord
from aslant.executions.states import Status
from aslant.executions.view import Views
from aslant.history.native import record_run
from aslant.history.steps import StepHistory
from aslant.notices import notice_of, read_notice
from aslant.recording import Recorder
from tests.unit.recording.fakes import (
    MACHINE,
    T0,
    UNDOING,
    WRITES,
    FakeMachines,
    FakeReleases,
    FakeTimers,
    MemoryStore,
    arn,
    status_change,
)
from tests.unit.recording.flow import RELEASE, START, history, info, notice


def started(store: MemoryStore, status: Status = "running", *, run: int = 1, id: str = "e1", **more: Any) -> Execution:
    """An execution as the service makes it."""
    name = id if run == 1 else f"{id}-r{run}"
    execution = Execution(
        "acme", id, "flow", "1.0.0", status, 1, run, MACHINE, arn(name), "ada", T0, T0, sla_due=T0 + 60_000, **more
    )
    store.create(execution, {"input": {"n": 1}}, Run(run, arn(name), MACHINE, "1.0.0", "start", "ada", T0))
    return execution


def step(name: str, status: Any = "completed", **more: Any) -> StepRecord:
    return StepRecord(name, (), status, type="http", attempts=1, total_attempts=1, started_at=T0 * 1000, begun_at=T0 * 1000,
                      finished_at=T0 * 1000 + 50_000, **more)


def record(recorder: Recorder, event: dict[str, Any]) -> Execution | None:
    return recorder.record(read_notice(event))


def test_an_execution_that_succeeds(recorder: Recorder, store: MemoryStore, machines: FakeMachines, timers: FakeTimers) -> None:
    started(store, "pending")
    store.put_step("acme", "e1", step("fetch", output={"a": 1}, usage={"billed_ms": 100, "memory_mb": 512}))
    store.put_step("acme", "e1", step("pay", usage={"billed_ms": 50, "memory_mb": 512, "tokens_in": 7, "cost_usd": 0.5}))
    machines.histories[arn("e1")] = history("SUCCEEDED")
    record(recorder, notice("RUNNING"))
    assert store.executions["acme", "e1"].status == "running"
    ((at, function, payload),) = timers.timers.values()
    assert (at, function, payload) == (T0 // 1000 + 60, "aslant-watch-sla", {"tenant": "acme", "execution": "e1", "run": 1})

    ended = record(recorder, notice("SUCCEEDED", output={"paid": 5}))

    assert ended is not None and ended.status == "completed" and ended.finished_at == T0 + 5000 and ended.error is None
    assert store.output("acme", "e1") == {"paid": 5}
    assert timers.timers == {}
    assert ended.usage["lambda_ms"] == 150 and ended.usage["tokens_in"] == 7 and ended.usage["state_transitions"] == 4
    # 4 transitions, 0.15 s of half a GB, two requests, and half a dollar of tokens
    assert ended.usage["cost_usd"] == pytest.approx(4 * 0.000025 + 0.075 * 0.0000133334 + 2 * 0.0000002 + 0.5, abs=1e-9)
    assert ended.ttl == (T0 + 5000) // 1000 + 90 * 86400
    (run,) = store.runs("acme", "e1")
    assert (run.status, run.ended_at, run.transitions) == ("SUCCEEDED", T0 + 5000, 4)
    steps = {each.step: each for each in store.steps("acme", "e1", outputs=True)}
    assert [(name, each.status, each.native) for name, each in steps.items()] == [
        ("fetch", "completed", False), ("pay", "completed", False), ("refuse", "skipped", True), ("route", "completed", True),
    ]
    assert steps["fetch"].output == {"a": 1}  # a function's record stays as it is
    assert steps["route"].output == {"outcome": "big"}
    assert steps["route"].started_at == round(START.timestamp() * 1_000_000) + 600_000
    assert steps["route"].finished_at == steps["route"].started_at + 100_000


def test_the_metrics_of_an_end(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[Any] = []
    monkeypatch.setattr("aslant.observability.emit", lambda metrics, dimensions, **fields: told.append((metrics, dimensions, fields)))
    started(store)
    machines.histories[arn("e1")] = history("FAILED")
    for _ in range(2):
        record(recorder, notice("FAILED"))
    ((metrics, dimensions, fields),) = told  # the same end is counted once
    assert dimensions == {"workflow": "flow", "status": "failed"}
    assert metrics["Executions"] == (1, "Count") and metrics["ExecutionDuration"] == (5000, "Milliseconds")
    cost = store.executions["acme", "e1"].usage["cost_usd"]
    assert metrics["ExecutionCost"][0] == cost > 0
    assert (fields["tenant"], fields["execution"], fields["run"]) == ("acme", "e1", 1)


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED"])
def test_the_same_notice_again_writes_nothing(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, status: str
) -> None:
    started(store, "pending")
    machines.histories[arn("e1")] = history("SUCCEEDED")
    record(recorder, notice("RUNNING"))
    record(recorder, notice("SUCCEEDED"))
    before, execution = len(store.writes), store.executions["acme", "e1"]
    record(recorder, notice(status))
    assert len(store.writes) == before
    assert store.executions["acme", "e1"] == execution


def test_a_failure_names_its_step(recorder: Recorder, store: MemoryStore, machines: FakeMachines) -> None:
    started(store)
    machines.histories[arn("e1")] = history("FAILED", error="HttpError")
    ended = record(recorder, notice("FAILED"))
    assert ended is not None and ended.status == "failed"
    assert ended.error == Failure("HttpError", "no money", "pay", ())
    pay = next(each for each in store.steps("acme", "e1") if each.step == "pay")
    assert (pay.status, pay.native, pay.error) == ("failed", True, Failure("HttpError", "no money", "pay", ()))
    # what the run never came to has no record
    assert "refuse" not in {each.step for each in store.steps("acme", "e1")}


def test_a_step_that_was_killed_at_its_last_attempt_has_failed(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines
) -> None:
    execution = started(store)
    lease = T0 * 1000 + 900_000_000
    begun = replace(step("pay", "running", run=1), finished_at=None, lease_until=lease)
    store.put_step("acme", "e1", begun)
    store.put_step("acme", "e1", replace(begun, step="fetch"))  # whose end the machine took for a success
    machines.histories[arn("e1")] = history("FAILED", error="Runtime.ExitError")
    for _ in range(2):
        record(recorder, notice("FAILED"))
    found = {one.step: one for one in store.steps("acme", "e1")}
    pay = found["pay"]
    assert (pay.status, pay.native, pay.error) == ("failed", False, Failure("Runtime.ExitError", "no money", "pay", ()))
    assert pay.lease_until == lease, "it may still be at work"
    assert pay.finished_at == T0 * 1000 + 1_100_000 and found["fetch"].status == "running"
    # What a later run has begun meanwhile is none of an earlier run's business.
    store.put_step("acme", "e1", replace(begun, run=2))
    record_run(store, execution, StepHistory.of(RELEASE["steps"], RELEASE["states"], history("FAILED", error="E")),
               run=Run(1, arn("e1"), MACHINE, "1.0.0", "start", "ada", T0), completed=False, at=T0, now=T0)
    assert {one.step: one.status for one in store.steps("acme", "e1")}["pay"] == "running"


@pytest.mark.parametrize("status", ["running", "cancelled"])
def test_what_is_open_at_the_end_of_an_execution_was_cut_short(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, status: Status
) -> None:
    started(store, status, **({"finished_at": T0 + 500} if status == "cancelled" else {}))
    open_ = replace(step("fetch", "running"), finished_at=None, begun_at=T0 * 1000)
    for one in (open_, replace(open_, step="beside")):
        store.put_step("acme", "e1", one)
    machines.histories[arn("e1")] = history("ABORTED")
    for _ in range(2):
        record(recorder, notice("ABORTED"))
    found = {one.step: one for one in store.steps("acme", "e1")}
    at = 1000 * (T0 + (500 if status == "cancelled" else 5000))
    assert {name: (one.status, one.stopped_at) for name, one in found.items() if name != "route"} == {
        "fetch": ("running", at), "beside": ("running", at),
    }
    assert found["route"].late is (status == "cancelled")  # the end was told before what the machine did was known


def test_an_undo_that_was_killed_at_its_last_attempt_has_failed(recorder: Recorder, store: MemoryStore) -> None:
    """By a machine that the run itself has started, or a parent of it."""
    started(store, "rolling_back")
    begun = replace(step("undo pay", "running"), finished_at=None, lease_until=(T0 + 900_000) * 1000)
    store.put_step("acme", "e1", begun)
    store.put_step("acme", "e1", replace(begun, step="pay"))  # of the run itself, which tells of it
    store.put_step("acme", "e1", replace(begun, step="undo fetch", run=2))
    record(recorder, status_change("e1-undo", "RUNNING", machine=UNDOING, input=info()))
    assert all(one.status == "running" for one in store.steps("acme", "e1"))
    record(recorder, status_change("e1-undo", "FAILED", machine=UNDOING, input=info()))
    found = {one.step: one for one in store.steps("acme", "e1")}
    assert (found["undo pay"].status, found["pay"].status, found["undo fetch"].status) == ("failed", "running", "running")
    assert found["undo pay"].finished_at == (T0 + 5000) * 1000 and found["undo pay"].lease_until == begun.lease_until


@pytest.mark.parametrize(("end", "status", "error"), [
    ("ABORTED", "cancelled", Failure("Mine", "stopped by hand")), ("TIMED_OUT", "timed_out", Failure("States.Timeout")),
])  # fmt: skip
def test_ends_outside_of_our_control(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, end: str, status: str, error: Failure
) -> None:
    started(store)
    machines.histories[arn("e1")] = history(end, error="Mine")
    ended = record(recorder, notice(end))
    assert ended is not None and (ended.status, ended.error) == (status, error)


def test_one_that_was_stopped_for_its_time_has_timed_out(recorder: Recorder, store: MemoryStore) -> None:
    started(store)
    ended = record(recorder, status_change("e1", "ABORTED", input=info(), error="States.Timeout", cause="too long"))
    assert ended is not None and (ended.status, ended.error) == ("timed_out", Failure("States.Timeout", "too long"))


def test_without_a_history_the_notice_says_why(recorder: Recorder, store: MemoryStore) -> None:
    started(store)
    ended = record(recorder, status_change("e1", "FAILED", input=info(), error="Broken", cause="it broke"))
    assert ended is not None and ended.error == Failure("Broken", "it broke")


def test_a_pause_is_not_ended_by_the_run_that_it_stopped(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines
) -> None:
    started(store, "paused")
    machines.histories[arn("e1")] = history("ABORTED")
    after = record(recorder, notice("ABORTED"))
    assert after is not None and after.status == "paused" and after.finished_at is None
    assert after.usage["state_transitions"] == 3
    assert store.runs("acme", "e1")[0].status == "ABORTED"
    before = len(store.writes)
    record(recorder, notice("ABORTED"))
    assert len(store.writes) == before


def test_a_run_that_starts_after_its_pause_is_stopped(recorder: Recorder, store: MemoryStore, machines: FakeMachines) -> None:
    started(store, "paused")
    after = record(recorder, notice("RUNNING"))
    assert after is not None and after.status == "paused"
    assert machines.stopped == [arn("e1")]


def test_transitions_of_all_runs_count_and_what_was_set_aside(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines
) -> None:
    execution = started(store, "paused")
    store.put_step("acme", "e1", step("fetch", usage={"billed_ms": 100, "tokens_in": 7, "cost_usd": 0.5}))
    machines.histories[arn("e1")] = history("ABORTED")
    record(recorder, notice("ABORTED"))
    machines.histories[arn("e1-r2")] = history("SUCCEEDED")
    store.set_aside("acme", "e1", run=2, chosen=lambda one: one.step == "fetch")
    store.put_step("acme", "e1", step("fetch", run=2, usage={"billed_ms": 30, "tokens_in": 2, "cost_usd": 0.25}))
    current = store.executions["acme", "e1"]
    store.transition(current, replace(current, status="running", run=2, arn=arn("e1-r2")), by="ada",
                     run=Run(2, arn("e1-r2"), MACHINE, "1.0.0", "resume", "ada", T0))
    ended = record(recorder, notice("SUCCEEDED", 2))
    assert ended is not None and ended.usage["state_transitions"] == 3 + 4
    assert (ended.usage["tokens_in"], ended.usage["lambda_ms"]) == (9, 130) and ended.usage["cost_usd"] > 0.75
    assert execution.usage == {}
    seen = Views(store, machines, FakeReleases(RELEASE), lambda: T0).view("acme", "e1")
    assert seen.usage == ended.usage


def test_a_notice_of_an_earlier_run_ends_only_that(recorder: Recorder, store: MemoryStore) -> None:
    started(store)
    current = store.executions["acme", "e1"]
    store.transition(current, replace(current, run=2, arn=arn("e1-r2")), by="ada",
                     run=Run(2, arn("e1-r2"), MACHINE, "1.0.0", "resume", "ada", T0))
    after = record(recorder, notice("ABORTED", 1))
    assert after is not None and (after.status, after.run) == ("running", 2)
    assert [run.status for run in store.runs("acme", "e1")] == ["ABORTED", ""]


def test_a_machine_that_is_not_ours_is_none_of_our_business(recorder: Recorder, store: MemoryStore) -> None:
    other = MACHINE.replace("flow", "elsewhere")
    assert record(recorder, status_change("x", "SUCCEEDED", machine=other)) is None
    assert record(recorder, status_change("x", "RUNNING", machine=other, input=[1])) is None
    # somebody's machine with an input that looks like ours
    assert record(recorder, status_change("e1", "RUNNING", machine=other, input=info())) is None
    assert store.executions == {}


def test_a_copied_input_does_not_touch_the_execution_it_came_from(recorder: Recorder, store: MemoryStore) -> None:
    execution = started(store)
    record(recorder, status_change("by-hand", "FAILED", input=info()))
    assert store.executions["acme", "e1"] == execution


def test_one_started_by_hand_is_known_by_its_arn(recorder: Recorder, store: MemoryStore, machines: FakeMachines) -> None:
    machines.histories[arn("mine")] = history("SUCCEEDED")
    record(recorder, status_change("mine", "RUNNING", input={"input": {"n": 4}}))
    ended = record(recorder, status_change("mine", "SUCCEEDED", input={"input": {"n": 4}}, output=7))
    assert ended is not None and (ended.tenant, ended.id, ended.workflow) == ("default", arn("mine"), "flow")
    assert ended.status == "completed" and store.output("default", arn("mine")) == 7
    assert store.inputs["default", arn("mine")] == {"input": {"n": 4}, "context": {}}


PARENT = {"execution": "p1", "step": "call", "iteration": [2], "attempt": 1}


def test_a_child_gets_a_record_and_is_noted_with_its_parent(recorder: Recorder, store: MemoryStore) -> None:
    started(store, id="p1")
    child = record(recorder, notice("RUNNING", id="c1", parent=PARENT))
    assert child is not None and child.status == "running" and child.parent is not None
    assert (child.parent.execution, child.parent.step, child.parent.iteration) == ("p1", "call", (2,))
    (noted,) = store.children("acme", "p1")
    assert (noted.id, noted.step, noted.iteration, noted.attempt) == ("c1", "call", (2,), 1)


@pytest.mark.parametrize("status", ["paused", "cancelled"])
def test_a_child_that_starts_late_becomes_what_its_parent_is(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, status: Status
) -> None:
    started(store, status, id="p1")
    child = record(recorder, notice("RUNNING", id="c1", parent=PARENT))
    assert child is not None and child.status == status
    assert machines.stopped == [arn("c1")]
    ended = record(recorder, notice("ABORTED", id="c1", parent=PARENT))
    assert ended is not None and ended.status == status


@pytest.mark.parametrize("status", ["paused", "cancelled"])
def test_a_child_that_was_stopped_with_its_parent_becomes_that_too(
    recorder: Recorder, store: MemoryStore, status: Status
) -> None:
    parent = started(store, id="p1")
    record(recorder, notice("RUNNING", id="c1", parent=PARENT))
    store.transition(parent, replace(parent, status=status), by="ada")
    child = record(recorder, notice("ABORTED", id="c1", parent=PARENT))
    assert child is not None and child.status == status


@pytest.mark.parametrize(("why", "status", "number", "then"), [
    ("rollback", "rolling_back", 1, "cancelled"), ("rollback", "rolled_back", 1, "cancelled"), ("finally", "cancelled", 1, "cancelled"),
    ("retry", "running", 1, "running"), ("finally", "cancelled", 2, "running"),
])
def test_a_child_that_starts_late_ends_when_its_parent_is_undone_or_ended(
    recorder: Recorder, store: MemoryStore, why: str, status: Status, number: int, then: str
) -> None:
    """`number`: of the child's run; the parent's is 2."""
    parent = started(store, id="p1")
    run = Run(2, arn("p1-r2"), MACHINE, "1.0.0", why, "ada", 1)
    store.transition(parent, replace(parent, status=status, run=2, arn=run.arn), by="ada", run=run)
    child = record(recorder, notice("RUNNING", number, id="c1", parent=PARENT))
    assert child is not None and child.status == then


def test_the_next_run_of_a_parent_starts_its_child_again(recorder: Recorder, store: MemoryStore, machines: FakeMachines) -> None:
    parent = started(store, id="p1")
    record(recorder, notice("RUNNING", id="c1", parent=PARENT))
    parent = store.transition(parent, replace(parent, status="paused"), by="ada")
    record(recorder, notice("ABORTED", id="c1", parent=PARENT))
    store.transition(parent, replace(parent, status="running", run=2, arn=arn("p1-r2")), by="ada")
    again = record(recorder, notice("RUNNING", 2, id="c1", parent=PARENT))
    assert again is not None and (again.status, again.run, again.arn) == ("running", 2, arn("c1-r2"))
    assert machines.stopped == []
    ended = record(recorder, notice("SUCCEEDED", 2, id="c1", parent=PARENT))
    assert ended is not None and ended.status == "completed" and [run.number for run in store.runs("acme", "c1")] == [1, 2]


def test_undoing_runs_under_the_same_id_and_is_no_run_of_its_own(recorder: Recorder, store: MemoryStore) -> None:
    execution = started(store, "rolling_back")
    record(recorder, status_change("e1-undo", "RUNNING", machine=UNDOING, input=info()))
    record(recorder, status_change("e1-undo", "SUCCEEDED", machine=UNDOING, input=info()))
    assert store.executions["acme", "e1"] == execution


@pytest.mark.parametrize(("undone", "not_undone", "status"), [
    (("fetch",), (), "rolled_back"), (("fetch",), ("pay",), "failed"), ((), ("fetch",), "failed"), ((), (), "rolled_back"),
])  # fmt: skip
def test_a_run_that_failed_after_undoing(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, undone: Any, not_undone: Any, status: str
) -> None:
    started(store, "rolling_back", undone=undone, not_undone=not_undone)
    machines.histories[arn("e1")] = history("FAILED", error="HttpError")
    ended = record(recorder, notice("FAILED"))
    assert ended is not None and ended.status == status and ended.error == Failure("HttpError", "no money", "pay", ())


@pytest.mark.parametrize(("end", "status"), [
    ("SUCCEEDED", "rolled_back"), ("FAILED", "failed"), ("TIMED_OUT", "timed_out"), ("ABORTED", "cancelled"),
])  # fmt: skip
def test_undoing_that_was_asked_for_later(recorder: Recorder, store: MemoryStore, end: str, status: str) -> None:
    first = Failure("HttpError", "no money", "pay")
    execution = started(store, "failed", error=first)
    undoing = arn("e1-r2", UNDOING)
    store.transition(execution, replace(execution, status="rolling_back", run=2, arn=undoing, machine=MACHINE), by="ada",
                     run=Run(2, undoing, UNDOING, "1.0.0", "rollback", "ada", T0))
    ended = record(recorder, status_change("e1-r2", end, machine=UNDOING, input=info(run=2), error="RollbackIncomplete"))
    assert ended is not None and (ended.status, ended.error) == (status, first)


def test_undoing_goes_on_when_the_run_before_it_is_stopped(recorder: Recorder, store: MemoryStore) -> None:
    execution = started(store, "cancelled")
    undoing = arn("e1-r2", UNDOING)
    store.transition(execution, replace(execution, status="rolling_back", run=2, arn=undoing), by="ada",
                     run=Run(2, undoing, UNDOING, "1.0.0", "rollback", "ada", T0))
    after = record(recorder, notice("ABORTED"))
    assert after is not None and after.status == "rolling_back"


def test_undoing_that_is_stopped_with_its_run_is_over(recorder: Recorder, store: MemoryStore) -> None:
    started(store, "rolling_back", not_undone=("fetch",))
    after = record(recorder, notice("ABORTED"))
    assert after is not None and (after.status, after.not_undone) == ("cancelled", ("fetch",))


def test_undoing_says_nothing_about_steps_that_it_does_not_have(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines
) -> None:
    execution = started(store, "cancelled")
    store.put_step("acme", "e1", step("route", native=True))
    undoing = arn("e1-r2", UNDOING)
    store.transition(execution, replace(execution, status="rolling_back", run=2, arn=undoing), by="ada",
                     run=Run(2, undoing, UNDOING, "1.0.0", "rollback", "ada", T0))
    machines.histories[undoing] = [{**event, "xEventDetails": {}} for event in history("SUCCEEDED")]
    ended = record(recorder, status_change("e1-r2", "SUCCEEDED", machine=UNDOING, input=info(run=2)))
    assert ended is not None and (ended.status, ended.error) == ("rolled_back", None), "what was cancelled has not failed"
    assert {each.step: each.status for each in store.steps("acme", "e1")} == {"route": "completed"}


def test_what_was_too_large_for_the_notice_is_looked_up(recorder: Recorder, store: MemoryStore, machines: FakeMachines) -> None:
    import json

    started(store)
    event = notice("SUCCEEDED")
    event["detail"] |= {"input": None, "inputDetails": {"included": False}, "output": None, "outputDetails": {"included": False}}
    machines.descriptions[arn("e1")] = {"status": "SUCCEEDED", "input": json.dumps(info()), "output": '{"big": 1}'}
    ended = record(recorder, event)
    assert ended is not None and ended.status == "completed" and store.output("acme", "e1") == {"big": 1}


def test_nothing_can_be_told_of_what_is_gone(recorder: Recorder, store: MemoryStore) -> None:
    event = notice("SUCCEEDED")
    event["detail"] |= {"input": None, "inputDetails": {"included": False}}
    assert record(recorder, event) is None and store.executions == {}


def test_a_crash_at_any_write_is_healed_by_the_same_notice(machines: FakeMachines, timers: FakeTimers) -> None:
    """Whatever write is the last one before the process dies, the notice that comes again leads to the same end."""
    from tests.unit.recording.fakes import FakeReleases

    class Died(Exception):
        pass

    class Dying(MemoryStore):
        left = 1_000

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            if name in WRITES:
                if super().__getattribute__("left") <= 0:
                    raise Died
                object.__setattr__(self, "left", super().__getattribute__("left") - 1)
            return value

    machines.histories[arn("c1")] = history("FAILED", error="HttpError")
    ends = []
    for writes in range(12):
        store = Dying()
        started(store, id="p1")
        recorder = Recorder(store, machines, FakeReleases(RELEASE), timers, lambda: T0 + 10_000)
        store.left = writes
        for event in (notice("RUNNING", id="c1", parent=PARENT), notice("FAILED", id="c1", parent=PARENT)):
            try:
                record(recorder, event)
            except Died:
                store.left = 1_000
                record(recorder, event)
        end = store.executions["acme", "c1"]
        ends.append((end.status, end.error, dict(end.usage), store.steps("acme", "c1"), store.children("acme", "p1")))
        assert [each.after for each in store.transitions("acme", "c1")] == ["running", "failed"]
    assert all(end == ends[0] for end in ends)


def test_a_description_stands_for_the_notice_that_never_came(recorder: Recorder, store: MemoryStore) -> None:
    import json
    from datetime import timedelta

    started(store)
    described = {"status": "SUCCEEDED", "startDate": START, "stopDate": START + timedelta(seconds=3), "output": "5",
                 "input": json.dumps(info())}
    ended = recorder.record(notice_of(arn("e1"), described))
    assert ended is not None and (ended.status, ended.finished_at) == ("completed", T0 + 3000)


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED", "RUNNING"])
def test_what_nobody_answered_is_closed_at_the_end(
    store: MemoryStore, machines: FakeMachines, timers: FakeTimers, status: str
) -> None:
    closed: list[tuple[str, str]] = []

    class Approvals:
        def cancel(self, tenant: str, execution: str) -> None:
            assert store.executions[tenant, execution].status == "running", "a crash here must not lose it"
            closed.append((tenant, execution))

        def set_aside(self, *given: Any, **more: Any) -> None:
            raise AssertionError("nothing is set aside")

    recorder = Recorder(store, machines, FakeReleases(RELEASE), timers, lambda: T0 + 10_000, Approvals())
    started(store)
    if status != "RUNNING":
        machines.histories[arn("e1")] = history(status)
    record(recorder, notice(status))
    record(recorder, notice(status))
    assert closed == ([] if status == "RUNNING" else [("acme", "e1")])


@pytest.mark.parametrize("status", ["RUNNING", "SUCCEEDED", "ABORTED"])
@pytest.mark.parametrize("run", [1, 2, 7])
def test_a_state_machine_of_others_says_nothing_of_an_execution(
    recorder: Recorder, store: MemoryStore, machines: FakeMachines, status: str, run: int
) -> None:
    started(store, run=2)
    started(store, id="parent")
    before = (dict(store.executions), store.runs("acme", "e1"), store.children("acme", "parent"))
    forged = info("e1", run, parent={"execution": "parent", "step": "s"})
    strange = MACHINE + "-of-another-tenant"
    machines.histories[arn("x", strange)] = history(status)
    record(recorder, status_change("x", status, machine=strange, input=forged, output={}))
    assert (dict(store.executions), store.runs("acme", "e1"), store.children("acme", "parent")) == before


def test_the_end_of_finally_after_a_cancel_is_noted(store: MemoryStore, machines: FakeMachines, timers: FakeTimers) -> None:
    ending = MACHINE + "-ending"
    release = {key: value for key, value in RELEASE.items() if key != "rollback"} | {"ending": ending}
    recorder = Recorder(store, machines, FakeReleases(release), timers, lambda: T0 + 10_000)
    before = started(store)
    store.transition(before, replace(before, status="cancelled", run=2, arn=arn("e1-r2", ending)), by="ada",
                     run=Run(2, arn("e1-r2", ending), ending, "1.0.0", "finally", "ada", T0))  # fmt: skip
    ended = record(recorder, status_change("e1-r2", "SUCCEEDED", machine=ending, input=info(run=2)))
    assert ended is not None and ended.status == "cancelled"
    assert [(run.number, run.status) for run in store.runs("acme", "e1")] == [(1, ""), (2, "SUCCEEDED")]
