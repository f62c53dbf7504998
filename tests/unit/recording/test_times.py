"""When native steps began and ended, over several runs of an execution."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aslant.executions.family import Answered
from aslant.executions.records import Execution, Run, StepRecord
from aslant.executions.view import ExecutionView, StepView, Views
from aslant.history.native import record_run
from aslant.history.steps import StepHistory
from aslant.notices import read_notice
from aslant.recording import Recorder
from tests.unit.recording.fakes import MACHINE, T0, FakeMachines, FakeReleases, FakeTimers, MemoryStore, arn
from tests.unit.recording.flow import notice

SECOND = 1_000_000  # microseconds
START = T0 * 1000
NAMES = ("route", "both", "pay", "ask")
RELEASE: dict[str, Any] = {
    "workflow": "flow", "version": "1.0.0", "hash": "h", "machine": MACHINE,
    "steps": {
        "route": {"type": "choice", "hash": "a", "after": []},
        "both": {"type": "parallel", "hash": "b", "after": ["route", "pay", "ask"], "children": ["pay", "ask"]},
        "pay": {"type": "http", "hash": "c", "after": ["route"]},
        "ask": {"type": "approval", "hash": "d", "after": ["route"]},
    },
    "states": {name: {"step": name, "role": "step"} for name in NAMES}, "settings": {},
}
BEGIN = (
    (0, "ExecutionStarted", ""), (0, "ChoiceStateEntered", "route"), (2, "ChoiceStateExited", "route"),
    (3, "ParallelStateEntered", "both"), (4, "ParallelStateStarted", ""),
    (5, "TaskStateEntered", "pay"), (6, "TaskStateExited", "pay"), (5, "TaskStateEntered", "ask"), (8, "TaskScheduled", ""),
)  # fmt: skip
STOPPED = (*BEGIN, (9, "ExecutionAborted", ""))
ANSWERED = (
    *BEGIN, (9, "TaskSucceeded", ""), (10, "TaskStateExited", "ask"), (11, "ParallelStateSucceeded", ""),
    (12, "ParallelStateExited", "both"), (13, "ExecutionSucceeded", ""),
)  # fmt: skip


def events(rows: tuple[tuple[int, str, str], ...], second: int) -> list[dict[str, Any]]:
    """A second apart, the first one at `second` + 1."""
    start = datetime.fromtimestamp(T0 / 1000, UTC) + timedelta(seconds=second)
    return [
        {"id": number, "previousEventId": before, "type": kind, "timestamp": start + timedelta(seconds=number),
         "detailsEventDetails": {"name": name} if name else {}}
        for number, (before, kind, name) in enumerate(rows, 1)
    ]  # fmt: skip


class Story:
    """Runs of one execution: the first is stopped at its approval, ten seconds in; `pay` has completed by then."""

    approvals: Any = None

    def __init__(self, status: Any) -> None:
        self.store, self.machines = MemoryStore(), FakeMachines()
        self.store.create(
            Execution("acme", "e1", "flow", "1.0.0", "running", 1, 1, MACHINE, arn("e1"), "ada", T0, T0, reason="x"),
            {}, Run(1, arn("e1"), MACHINE, "1.0.0", "start", "ada", T0),
        )
        if status == "paused":
            self.store.transition(self.execution, replace(self.execution, status=status, changed_at=T0 + 10_000), by="ada")
        self.store.put_step("acme", "e1", StepRecord(
            "pay", (), "completed", "http", attempts=1, started_at=START + 6 * SECOND, begun_at=START + 6 * SECOND,
            finished_at=START + 7 * SECOND,
        ))  # fmt: skip
        self.machines.histories[arn("e1")] = events(STOPPED, 0)
        self.tell("ABORTED", 1)

    def tell(self, end: str, run: int, second: int = 0) -> None:
        recorder = Recorder(
            self.store, self.machines, FakeReleases(RELEASE), FakeTimers(), lambda: T0 + 900_000, self.approvals
        )
        recorder.record(read_notice(notice(end, run, at=T0 + second * 1000)))

    def next_run(self, why: str, second: int, rows: Any = ANSWERED, **entered: int) -> None:
        self.begin(why, second, rows, **entered)
        self.tell("SUCCEEDED", self.execution.run, second)

    def begin(self, why: str, second: int, rows: Any, **entered: int) -> None:
        number = self.execution.run + 1
        name = arn(f"e1-r{number}")
        self.machines.histories[name] = events(rows, second)
        self.store.put_run("acme", "e1", Run(
            number, name, MACHINE, "1.0.0", why, "bob", T0 + second * 1000,
            entered={f"e1/{step}": T0 + at * 1000 for step, at in entered.items()},
        ))  # fmt: skip
        self.store.executions["acme", "e1"] = replace(self.execution, status="running", run=number, arn=name, finished_at=None)

    @property
    def execution(self) -> Execution:
        return self.store.executions["acme", "e1"]

    def view(self, second: int = 800) -> ExecutionView:
        clock = lambda: T0 + second * 1000  # noqa: E731
        return Views(self.store, self.machines, FakeReleases(RELEASE), clock, self.approvals).view("acme", "e1")

    def step(self, name: str, second: int = 800) -> StepView:
        return next(step for step in self.view(second).walk() if step.step == name)

    def seconds(self, name: str) -> tuple[float, float, float]:
        step = self.step(name)
        assert step.started_at is not None and step.finished_at is not None
        return (step.started_at - START) / SECOND, (step.finished_at - START) / SECOND, (step.duration or 0) / 1000


def test_an_approval_of_a_paused_execution_is_open() -> None:
    story = Story("paused")
    ask = story.step("ask", 100)
    assert (ask.status, ask.started_at, ask.finished_at, ask.duration) == ("waiting_approval", START + 8 * SECOND, None, 92_000)
    assert story.step("both").status == "running"
    assert story.step("route").status == "completed"


def test_an_approval_of_a_cancelled_execution_says_how_long_it_was_open() -> None:
    story = Story("running")  # stopped from outside, five seconds after it began by the notice
    assert story.execution.status == "cancelled"
    ask = story.step("ask")
    assert ask.status == "cancelled" and ask.finished_at == START + 8 * SECOND  # never before it began
    (record,) = [step for step in story.store.steps("acme", "e1") if step.step == "ask"]
    story.store.put_step("acme", "e1", replace(record, stopped_at=START + 30 * SECOND))
    ask = story.step("ask")
    assert (ask.finished_at, ask.duration) == (START + 30 * SECOND, 22_000)
    story.store.put_run("acme", "e1", replace(story.store.runs("acme", "e1")[0], ended_at=T0 + 31_000))
    assert story.step("ask") == ask, "when the machine was seen to stop is of no matter then"


def test_what_was_only_passed_through_again_keeps_its_times() -> None:
    story = Story("paused")
    story.next_run("resume", 600, ask=8)
    assert story.execution.status == "completed"
    assert story.seconds("route") == (2, 3, 1)
    assert story.seconds("pay") == (6, 7, 1)
    assert story.seconds("ask") == (8, 611, 603)  # it was open all the time
    assert story.seconds("both") == (4, 611, 607)
    assert {step.step: step.run for step in story.store.steps("acme", "e1")} == {"route": 1, "pay": 1, "ask": 2, "both": 2}
    before = story.store.steps("acme", "e1")
    story.next_run("recover", 700, ask=8)
    assert story.store.steps("acme", "e1") == before


def test_the_same_while_the_next_run_goes_on() -> None:
    story = Story("paused")
    story.begin("resume", 600, BEGIN, ask=8)
    assert story.seconds("route") == (2, 3, 1)
    ask = story.step("ask", 700)
    assert (ask.status, ask.started_at, ask.duration) == ("waiting_approval", START + 8 * SECOND, 692_000)
    assert story.step("both", 700).started_at == START + 4 * SECOND
    story.begin("recover", 650, BEGIN[:3], ask=8)
    assert story.step("ask", 700).status == "not_started"  # this run has not come to it


def test_what_has_ended_does_not_change_when_a_later_run_comes_through_again() -> None:
    story = Story("paused")
    story.next_run("resume", 600, ask=8)
    before = {step.step: (step.status, step.started_at, step.finished_at, step.duration) for step in story.view().walk()}
    for rows in (BEGIN, STOPPED):  # the machine asks once more, and has its answer at once
        story.begin("recover", 700, rows, ask=8)
        seen = {step.step: (step.status, step.started_at, step.finished_at, step.duration) for step in story.view().walk()}
        assert seen == before
    records = story.store.steps("acme", "e1")
    story.store.executions["acme", "e1"] = replace(story.execution, status="paused")
    story.tell("ABORTED", story.execution.run)
    assert story.store.steps("acme", "e1") == records


def test_an_approval_ended_when_it_was_answered_though_the_machine_rested() -> None:
    class Approvals:
        def answered(self, tenant: str, execution: str) -> Any:
            return {("ask", ()): Answered(True, T0 + 300_000)}

        def cancel(self, tenant: str, execution: str) -> None:
            """Nothing waits."""

    story = Story("paused")
    story.approvals = Approvals()
    assert story.seconds("ask") == (8, 300, 292)  # answered while it is paused
    story.begin("resume", 600, ANSWERED[:-1], ask=8)
    assert story.seconds("ask") == (8, 300, 292)
    story.begin("resume", 600, ANSWERED, ask=8)
    story.tell("SUCCEEDED", story.execution.run, 600)
    assert story.seconds("ask") == (8, 300, 292) and story.execution.status == "completed"


def test_a_step_took_as_long_as_its_attempts_of_the_last_run() -> None:
    story = Story("paused")
    (pay,) = [step for step in story.store.steps("acme", "e1") if step.step == "pay"]
    story.store.put_step("acme", "e1", replace(
        pay, run=2, attempts=2, total_attempts=3, first_at=START + 500 * SECOND, begun_at=START + 502 * SECOND,
        finished_at=START + 503 * SECOND,
    ))  # fmt: skip
    assert story.seconds("pay") == (6, 503, 3)


def test_a_parallel_took_as_long_as_something_in_it_went_on_or_its_execution_ran() -> None:
    story = Story("paused")
    (ask,) = [step for step in story.store.steps("acme", "e1") if step.step == "ask"]
    story.store.put_step("acme", "e1", replace(
        ask, type="http", status="completed", native=False, attempts=1, run=2, first_at=START + 601 * SECOND,
        begun_at=START + 601 * SECOND, finished_at=START + 605 * SECOND,
    ))  # fmt: skip
    story.store.transition(story.execution, replace(story.execution, status="running", changed_at=T0 + 600_000), by="ada")
    story.store.executions["acme", "e1"] = replace(story.execution, status="completed", finished_at=T0 + 606_000)
    # Six seconds of the first run and five of the second; it did nothing while the execution was paused.
    assert story.seconds("both") == (4, 605, 11)


def test_events_of_a_run_are_in_the_order_in_which_things_happened() -> None:
    story = Story("paused")
    told: list[str] = []
    keep = story.store.record_native

    def record_native(execution: Execution, records: Any, *, now: int) -> None:
        told.extend(record.label for record in records)
        keep(execution, records, now=now)

    story.store.record_native = record_native  # type: ignore[method-assign]
    story.next_run("resume", 600, ask=8)
    assert told == ["route", "ask", "both"]
    (ask,) = [step for step in story.store.steps("acme", "e1") if step.step == "ask"]
    assert (ask.begun_at, ask.first_at) == (START + 8 * SECOND, START + 608 * SECOND)  # open since then; run 2 came to it now


def test_the_late_end_of_a_run_that_another_one_followed_is_recorded() -> None:
    story = Story("paused")
    before = story.store.steps("acme", "e1")
    for step in before:
        if step.native:
            del story.store.items["acme", "e1"]["step", step.step, step.iteration]
    first = story.store.runs("acme", "e1")[0]
    story.store.put_run("acme", "e1", replace(first, status="", ended_at=None))
    story.begin("rollback", 20, ())
    story.tell("ABORTED", 1)
    after = story.store.steps("acme", "e1")
    assert [step.label for step in after if step.stopped_at is not None] == ["ask", "both"]  # which nobody will answer any more
    assert [replace(step, stopped_at=None) for step in after] == [*before]


@pytest.mark.parametrize("status", ["cancelled", "rolled_back", "failed"])
def test_a_parallel_whose_steps_completed_is_completed(status: str) -> None:
    story = Story("paused")
    (ask,) = [step for step in story.store.steps("acme", "e1") if step.step == "ask"]
    story.store.put_step("acme", "e1", replace(ask, status="completed", finished_at=START + 9 * SECOND))
    story.store.executions["acme", "e1"] = replace(story.execution, status=status, finished_at=T0 + 60_000)
    assert story.step("both").status == "completed"
    assert story.seconds("both") == (4, 9, 5)


def test_outer_steps_come_before_inner_ones() -> None:
    story = Story("paused")
    (pay,) = [step for step in story.store.steps("acme", "e1") if step.step == "pay"]
    story.store.put_step("acme", "e1", replace(pay, started_at=START + 3 * SECOND, begun_at=START + 3 * SECOND))
    assert [step.step for step in story.view().timeline] == ["route", "both", "pay", "ask"]


def test_a_step_that_was_killed_took_as_long_as_its_last_attempt() -> None:
    story = Story("paused")
    (pay,) = [step for step in story.store.steps("acme", "e1") if step.step == "pay"]
    again = replace(pay, run=2, total_attempts=2, begun_at=START + 500 * SECOND, finished_at=START + 503 * SECOND)
    story.store.put_step("acme", "e1", again)
    assert story.seconds("pay") == (6, 503, 3)


def test_a_step_that_failed_before_keeps_its_start_and_counts_all_attempts() -> None:
    story = Story("paused")
    (route,) = [step for step in story.store.steps("acme", "e1") if step.step == "route"]
    story.store.put_step("acme", "e1", replace(route, status="failed"))
    history = StepHistory.of(RELEASE["steps"], RELEASE["states"], events(ANSWERED, 600))
    run = Run(2, arn("e1-r2"), MACHINE, "1.0.0", "retry", "bob", T0)
    for _ in range(2):  # the same again changes nothing
        record_run(story.store, story.execution, history, run=run, completed=True, at=T0 + 614_000, now=T0)
        (found,) = [step for step in story.store.steps("acme", "e1") if step.step == "route"]
        assert (found.status, found.run, found.attempts, found.total_attempts) == ("completed", 2, 1, 2)
        assert (found.started_at, found.begun_at) == (START + 2 * SECOND, START + 602 * SECOND)
