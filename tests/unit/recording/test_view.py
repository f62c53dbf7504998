"""What people see of an execution, from records and the history of the run that goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from aslant.errors import NotFoundError
from aslant.executions.family import Answered
from aslant.executions.records import Execution, Failure, Run, StepRecord
from aslant.executions.view import ExecutionView, Views
from tests.unit.recording.fakes import MACHINE, T0, FakeMachines, FakeReleases, MemoryStore, arn
from tests.unit.recording.flow import RELEASE, history

LOOPS: dict[str, Any] = {
    "workflow": "flow", "version": "1.0.0", "hash": "h", "machine": MACHINE,
    "steps": {
        "flow variable v": {"type": "transform", "hash": "v", "after": [], "hidden": True},
        "outer": {"type": "foreach", "hash": "a", "after": ["both"], "children": ["both"]},
        "both": {"type": "parallel", "hash": "b", "after": ["left", "right"], "loops": ["outer"], "children": ["left", "right"]},
        "left": {"type": "http", "hash": "c", "after": [], "loops": ["outer"]},
        "right": {"type": "foreach", "hash": "d", "after": ["deep"], "loops": ["outer"], "children": ["deep"]},
        "deep": {"type": "http", "hash": "e", "after": [], "loops": ["outer", "right"]},
        "after": {"type": "approval", "hash": "f", "after": ["outer"]},
    },
    "states": {}, "settings": {},
}


def make(store: MemoryStore, status: Any = "running", *, run: int = 1, ended: str = "") -> None:
    name = arn("e1" if run == 1 else f"e1-r{run}")
    _, made = store.create(
        Execution("acme", "e1", "flow", "1.0.0", "running" if ended else status, 1, run, MACHINE, name, "ada", T0, T0),
        {}, Run(run, name, MACHINE, "1.0.0", "start", "ada", T0, T0 + 9000 if ended else None, ended),
    )  # fmt: skip
    if ended:
        change(store, made, status, 9000)


def change(store: MemoryStore, made: Execution, status: Any, after: int) -> Execution:
    """Another status, that many milliseconds after the start."""
    final = status in ("completed", "failed")
    return store.transition(
        made, replace(made, status=status, changed_at=T0 + after, finished_at=T0 + after if final else None), by="ada"
    )


def put(store: MemoryStore, step: str, status: Any = "completed", iteration: tuple[int, ...] = (), **more: Any) -> None:
    values = {"type": "http", "started_at": T0 * 1000 + 1000, "finished_at": T0 * 1000 + 3500, "attempts": 1, **more}
    store.put_step("acme", "e1", StepRecord(step, iteration, status, **values))


def view(store: MemoryStore, machines: FakeMachines, release: Any = RELEASE) -> ExecutionView:
    return Views(store, machines, FakeReleases(release), lambda: T0 + 20_000).view("acme", "e1")


def statuses(found: ExecutionView) -> dict[str, str]:
    return {step.label: step.status for step in found.walk()}


def test_the_time_of_work_and_of_pauses(store: MemoryStore, machines: FakeMachines) -> None:
    make(store)
    made = change(store, store.executions["acme", "e1"], "paused", 3000)
    put(store, "pay", "running", finished_at=None, native=True, begun_at=T0 * 1000 + 1000)
    found = view(store, machines)
    assert (found.duration, found.paused) == (3000, 17_000)
    assert next(step for step in found.walk() if step.step == "pay").duration == 3000 - 1
    for status, after in (("running", 8000), ("failed", 9000), ("running", 15_000), ("paused", 16_000), ("running", 19_500)):
        made = change(store, made, status, after)
    found = view(store, machines)
    assert (found.duration, found.paused) == (3000 + 1000 + 1000 + 500, 5000 + 3500)


@pytest.mark.parametrize(("approved", "accepts", "status"), [
    (True, (), "completed"), (False, (), "failed"), (False, ("ApprovalRejected",), "completed"),
])
def test_an_answer_that_a_paused_execution_has_got(
    store: MemoryStore, machines: FakeMachines, approved: bool, accepts: tuple[str, ...], status: str
) -> None:
    class Approvals:
        def answered(self, tenant: str, execution: str) -> Any:
            return {("after", ()): Answered(approved, T0 + 7000, "rejected by bob")}

    facts = {**LOOPS["steps"], "after": {**LOOPS["steps"]["after"], "accepts": list(accepts)}}
    make(store)
    change(store, store.executions["acme", "e1"], "paused", 3000)
    put(store, "after", "running", type="approval", finished_at=None, native=True, begun_at=T0 * 1000 + 1000)

    def seen(approvals: Any) -> Any:
        views = Views(store, machines, FakeReleases({**LOOPS, "steps": facts}), lambda: T0 + 20_000, approvals)
        return next(step for step in views.view("acme", "e1").walk() if step.step == "after")

    found = seen(Approvals())
    assert (found.status, found.duration) == (status, 7000 - 1)
    assert (found.error is None) == (status == "completed")
    assert seen(None).status == "waiting_approval"


def test_an_undo_that_failed_is_tried_again_until_the_next_one_begins(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "rolling_back")
    at = T0 * 1000
    put(store, "undo pay", "failed", begun_at=at + 1000)
    assert statuses(view(store, machines))["undo pay"] == "retrying"
    put(store, "undo fetch", "running", finished_at=None, begun_at=at + 5000)
    assert statuses(view(store, machines))["undo pay"] == "failed"
    put(store, "undo fetch", "failed", begun_at=at + 5000, finished_at=at + 6000)
    assert statuses(view(store, machines))["undo fetch"] == "retrying"
    change(store, store.executions["acme", "e1"], "failed", 9000)
    assert statuses(view(store, machines))["undo fetch"] == "failed"


def test_one_that_is_not_there(store: MemoryStore, machines: FakeMachines) -> None:
    make(store)
    for tenant, id in (("acme", "e2"), ("other", "e1")):
        with pytest.raises(NotFoundError):
            Views(store, machines, FakeReleases(RELEASE), lambda: T0).view(tenant, id)


def test_an_ended_one_is_told_without_the_engine(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "completed", ended="SUCCEEDED")
    put(store, "fetch")
    put(store, "route", native=True, outcome="small", type="choice")
    put(store, "pay", "skipped", native=True)
    put(store, "refuse")
    found = view(store, machines)  # a history that is asked for would not be found, and the engine is not asked to describe
    assert statuses(found) == {"fetch": "completed", "route": "completed", "pay": "skipped", "refuse": "completed"}
    assert (found.done, found.total, found.substate, found.duration, machines.described) == (4, 4, "", 9000, 0)
    fetch, route, pay, _ = found.steps
    assert (fetch.duration, route.outcome, pay.duration) == (2.5, "small", None)
    assert "pay" not in {step.step for step in found.timeline}


def test_history_tells_what_has_no_record_yet(store: MemoryStore, machines: FakeMachines) -> None:
    make(store)
    put(store, "fetch")
    put(store, "pay", "running", finished_at=None, started_at=T0 * 1000 + 800_000)
    machines.histories[arn("e1")] = history("SUCCEEDED")[:9]
    found = view(store, machines)
    assert statuses(found) == {"fetch": "completed", "route": "completed", "pay": "running", "refuse": "not_started"}
    assert (found.done, found.total, found.substate) == (2, 4, "executing")
    assert next(step for step in found.walk() if step.step == "pay").duration == 20_000 - 800
    assert found.usage["state_transitions"] == 3


def test_a_failed_attempt_that_is_tried_again_is_retrying(store: MemoryStore, machines: FakeMachines) -> None:
    make(store)
    put(store, "fetch")
    put(store, "pay", "failed", error=Failure("HttpError", "503", "pay"))
    machines.histories[arn("e1")] = history("FAILED", error="HttpError")[:10]
    found = view(store, machines)
    assert statuses(found)["pay"] == "retrying" and found.substate == "retrying"


def test_an_approval_is_waited_for(store: MemoryStore, machines: FakeMachines) -> None:
    release = {**RELEASE, "steps": {**RELEASE["steps"], "pay": {"type": "approval", "hash": "c", "after": ["route"]}}}
    make(store)
    machines.histories[arn("e1")] = history("SUCCEEDED")[:9]
    found = view(store, machines, release)
    assert statuses(found)["pay"] == "waiting_approval" and found.substate == "waiting_approval"


def test_a_later_run_has_not_come_to_what_failed_before(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, run=2)
    put(store, "fetch", run=1)
    put(store, "pay", "failed", run=1, error=Failure("HttpError", "no", "pay"))
    machines.histories[arn("e1-r2")] = history("SUCCEEDED")[:2]
    found = view(store, machines)
    assert statuses(found) == {"fetch": "completed", "route": "not_started", "pay": "not_started", "refuse": "not_started"}


def test_what_ran_when_it_was_stopped_is_cancelled(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "cancelled", ended="ABORTED")
    put(store, "fetch", "running", finished_at=None)
    assert statuses(view(store, machines))["fetch"] == "cancelled"


def test_loops_and_parallels_are_nested(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "failed", ended="FAILED")
    for outer in (0, 1):
        put(store, "left", iteration=(outer,))
        put(store, "deep", iteration=(outer, 0))
    put(store, "deep", iteration=(1, 1))
    found = view(store, machines, LOOPS)
    assert [root.step for root in found.steps] == ["outer", "after"]  # nobody wrote the variable, and it did not run
    (first, second) = found.steps[0].steps
    assert [(step.label, [inner.label for inner in step.steps]) for step in first.steps] == [
        ("left[0]", []), ("right[0]", ["deep[0][0]"]),
    ]
    assert [inner.label for inner in second.steps[1].steps] == ["deep[1][0]", "deep[1][1]"]
    put(store, "flow variable v")
    put(store, "undo left", iteration=(0,))
    assert [root.label for root in view(store, machines, LOOPS).steps] == ["flow variable v", "outer", "after", "undo left[0]"]


def test_without_its_release_the_records_are_listed(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "completed", ended="SUCCEEDED")
    put(store, "deep", iteration=(1, 0))
    put(store, "a")
    found = view(store, machines, {**RELEASE, "workflow": "another"})
    assert [step.label for step in found.steps] == ["a", "deep[1][0]"]


def test_the_cost_says_what_it_leaves_out(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "completed", ended="SUCCEEDED")
    store.put_run("acme", "e1", replace(store.runs("acme", "e1")[0], transitions=10))
    put(store, "fetch", usage={"billed_ms": 2000, "memory_mb": 1024}, total_attempts=3)
    put(store, "pay", type="agent", usage={"tokens_in": 1000, "tokens_out": 500})
    found = view(store, machines)
    assert found.cost.parts == pytest.approx({"transitions": 0.00025, "lambda": 2 * 0.0000133334 + 3 * 0.0000002})
    assert found.cost.usd == pytest.approx(sum(found.cost.parts.values()))
    assert found.cost.left_out == ("pay: 1,500 tokens of a model without a price",)


def test_what_is_computed_for_a_step_is_no_step_and_counts_as_its_time(store: MemoryStore, machines: FakeMachines) -> None:
    make(store, "completed", ended="SUCCEEDED")
    base = T0 * 1000
    for undo in ("", "undo "):
        put(store, f"evaluate:0a1b2c3d {undo}pay", type="transform", begun_at=base, started_at=base, finished_at=base + 900)
        put(store, f"{undo}pay", begun_at=base + 1000, finished_at=base + 5000)
    steps = {step.step: step for step in view(store, machines).walk()}
    assert not [name for name in steps if "evaluate" in name]
    assert (steps["pay"].duration, steps["undo pay"].duration) == (5.0, 5.0)
