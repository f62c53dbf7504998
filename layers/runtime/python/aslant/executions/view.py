"""An execution as people look at it: its steps as a tree, what each is doing, how long it took and what it cost.

An ended run is told by its records alone. While one goes on, the history of it is merged in: it knows states that have no
record yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from aslant import ports, prices
from aslant.errors import NotFoundError
from aslant.executions.durations import idle, rests_of, times
from aslant.executions.family import Answered, ApprovalControl
from aslant.executions.naming import is_id, is_part, without_part
from aslant.executions.records import Child, Execution, Failure, Run, StepRecord
from aslant.executions.states import ACTIVE
from aslant.executions.store import ExecutionStore
from aslant.history.joined import history_of
from aslant.history.native import WAITING, ended_by, micros, passed_again
from aslant.history.steps import HOLDERS, SeenStep, StepHistory
from aslant.releases import Release

ViewStatus = Literal[
    "not_started", "running", "waiting_approval", "retrying", "completed", "failed", "skipped", "cancelled"
]
Substate = Literal["", "executing", "waiting_approval", "retrying"]

REJECTED = "ApprovalRejected"
_SETTLED = frozenset({"completed", "failed", "skipped"})

Place = tuple[str, tuple[int, ...]]


def counted(statuses: Iterable[str]) -> tuple[int, int]:
    """How many steps are settled, and how many there are, of the statuses of an execution's steps.

    Each step counts once, or once in each iteration that has begun. What a sub-workflow or an undoing does is not counted here:
    these are executions of their own.
    """
    every = [*statuses]
    return sum(status in _SETTLED for status in every), len(every)


@dataclass(frozen=True, slots=True)
class StepView:
    """One step in one iteration. Moments are epoch microseconds, `duration` is milliseconds (so far, while it runs).

    `steps` are those inside of a parallel or loop, a loop's by iteration; `executions` are the ids of children it started,
    the latest last. `settled` failures are ones that the workflow went on after.
    """

    step: str
    iteration: tuple[int, ...]
    type: str
    status: ViewStatus
    started_at: int | None = None
    finished_at: int | None = None
    duration: float | None = None
    attempts: int = 0
    run: int = 0
    error: Failure | None = None
    native: bool = False
    settled: bool = False
    outcome: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    cost: prices.Cost = prices.Cost()
    steps: tuple[StepView, ...] = ()
    executions: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`step`, or `step[2][0]` inside of loops."""
        return self.step + "".join(f"[{index}]" for index in self.iteration)

    def walk(self) -> Iterator[StepView]:
        """This step and all inside of it, outer before inner."""
        stack = [self]
        while stack:
            here = stack.pop()
            yield here
            stack.extend(reversed(here.steps))


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """`done` of `total` steps are settled; see `counted`.

    `substate` says what a running execution does. `duration` is how long it worked, `paused` how long it rested on purpose;
    the time between an end and a retry is in neither. `cost` is that of the execution itself, without its children's.
    """

    execution: Execution
    substate: Substate
    steps: tuple[StepView, ...]
    done: int
    total: int
    duration: int  # milliseconds
    paused: int  # milliseconds
    cost: prices.Cost
    usage: Mapping[str, float]
    runs: tuple[Run, ...]
    children: tuple[Child, ...]

    def walk(self) -> Iterator[StepView]:
        """All steps, outer before inner, in the order of the definition."""
        for step in self.steps:
            yield from step.walk()

    @property
    def timeline(self) -> tuple[StepView, ...]:
        """Steps that have started, in the order in which they did."""
        started = [step for step in self.walk() if step.started_at is not None and step.status != "skipped"]
        return tuple(sorted(started, key=lambda step: step.started_at or 0))  # of two at once, the outer one first


@dataclass(frozen=True, slots=True)
class Views:
    """`clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: ports.Machines
    releases: ports.Releases
    clock: Callable[[], int]
    approvals: ApprovalControl | None = None

    def view(self, tenant: str, id: str) -> ExecutionView:
        """The execution as it is now. Raises NotFoundError."""
        execution = self.store.read(tenant, id) if is_id(id) else None
        if execution is None:
            raise NotFoundError("there is no such execution")
        runs = self.store.runs(tenant, id)
        children = self.store.children(tenant, id)
        release = self._release(execution)
        history = self._live(execution, runs, release)
        # After the history: a record may be finished while that is read, but never the other way round.
        records = {(record.step, record.iteration): record for record in self.store.steps(tenant, id)}
        answers = self._answers(execution, records.values(), history)
        known = release["steps"] if release is not None else {}
        undoing = any(one.status == "failed" and one.step not in known for one in records.values()) and self._undoing(execution)
        now, changes = self.clock(), self.store.transitions(tenant, id)
        working, paused = times(execution, changes, now)
        rests = rests_of(changes, now * 1000)
        merge = _Merge(execution, release, records, history, children, runs, now * 1000, answers, undoing, rests)
        steps = merge.tree()
        every = [step for root in steps for step in root.walk()]
        done, total = counted(step.status for root in steps if release is None or root.step in release["steps"]
            for step in root.walk())
        transitions = sum(run.transitions for run in runs) + (history.transitions if history is not None else 0)
        taken = [*records.values(), *(self.store.earlier_steps(tenant, id) if execution.run > 1 else ())]
        return ExecutionView(
            execution=execution, substate=_substate(execution, every), steps=steps,
            done=done, total=total,
            duration=working, paused=paused, cost=prices.cost(taken, transitions),
            usage=prices.totals(taken, transitions), runs=runs, children=children,
        )

    def _answers(
        self, execution: Execution, records: Iterable[StepRecord], history: StepHistory | None
    ) -> Mapping[Place, Answered]:
        """Answers that a paused execution has got since its machine was stopped, and those that a record will tell."""
        asks = execution.status == "paused" and any(one.type == "approval" and one.status == "running" for one in records)
        asks = asks or history is not None and any(one.type == "approval" for one in history.seen.values())
        return self.approvals.answered(execution.tenant, execution.id) if self.approvals is not None and asks else {}

    def _undoing(self, execution: Execution) -> bool:
        """Whether it is being undone, by itself or by an execution that it is a part of."""
        above: Execution | None = execution
        while above is not None and above.status != "rolling_back":
            above = self.store.read(above.tenant, above.parent.execution) if above.parent is not None else None
        return above is not None

    def _release(self, execution: Execution) -> Release | None:
        try:
            return self.releases.get(execution.tenant, execution.workflow, execution.version)
        except NotFoundError:
            return None

    def _live(self, execution: Execution, runs: tuple[Run, ...], release: Release | None) -> StepHistory | None:
        """The history of the run that goes on; None when none does, or nothing is known of it."""
        current = next((run for run in runs if run.number == execution.run), None)
        if release is None or not execution.arn or (current is not None and current.status):
            return None
        if current is not None and not current.own:
            return None  # it undoes or ends the execution, which records tell
        try:
            events = history_of(execution.arn, release, self.machines.history)
            return StepHistory.of(release["steps"], release["states"], events)
        except NotFoundError:
            return None


@dataclass(slots=True)
class _Merge:
    """Records and history of one execution as views of steps. `now`: epoch microseconds.

    `rests` are the times, in their order, in which the execution did not run: it was paused, or had ended until it was taken up
    again.
    """

    execution: Execution
    release: Release | None
    records: Mapping[Place, StepRecord]
    history: StepHistory | None
    children: tuple[Child, ...]
    runs: tuple[Run, ...]
    now: int
    answers: Mapping[Place, Answered] = field(default_factory=dict)
    undoing: bool = False
    rests: tuple[tuple[int, int], ...] = ()

    def tree(self) -> tuple[StepView, ...]:
        if self.release is None:  # the version is gone: what was recorded, without its nesting
            return tuple(self._one(place) for place in sorted(self.records) if not is_part(place[0], ()))
        facts = self.release["steps"]
        inside = {child for fact in facts.values() for child in fact.get("children", ())}
        roots = [step for step in facts if step not in inside]
        seen = self._seen()
        views = [
            self._build(step, ()) for step in roots if not facts[step].get("hidden") or (step, ()) in self.records
            or (step, ()) in seen
        ]  # fmt: skip
        # Steps of other versions, and those that undo: they stand at the end as they were recorded.
        others = [self._one(place) for place in sorted(self.records) if place[0] not in facts and not is_part(place[0], facts)]
        views += sorted(others, key=lambda view: view.started_at or math.inf)
        return tuple(views)

    def _build(self, step: str, iteration: tuple[int, ...]) -> StepView:
        assert self.release is not None
        facts = self.release["steps"][step]
        view = self._one((step, iteration))
        inner = facts.get("children", [])
        if not inner:
            return view
        if facts["type"] == "foreach":
            places = [(*iteration, index) for index in self._iterations(step, iteration)]
        else:
            places = [iteration]
        return self._around(replace(view, steps=tuple(self._build(child, place) for place in places for child in inner)))

    def _around(self, view: StepView) -> StepView:
        """A parallel or a loop spans what is inside of it, in whatever run that was. What rested with the execution is no part
        of how long it took, unless something inside went on.
        """
        ran = [step for step in view.steps if step.started_at is not None and step.status != "skipped"]
        if not ran:
            return view
        status, over = view.status, all(step.status in ("completed", "skipped") for step in view.steps)
        if view.type == "parallel" and over and status in ("cancelled", "not_started") and not self._goes_on:
            status = "completed"  # the last one inside of it was told of by its record, the end of the parallel by nothing
        started = min(step.started_at for step in (*ran, view) if step.started_at is not None)
        finished = view.finished_at
        if status == "completed" and all(step.finished_at is not None for step in ran):
            finished = max(step.finished_at for step in ran if step.finished_at is not None)
        view = replace(view, status=status, started_at=started, finished_at=finished)
        took = self._duration(view, started)
        if took is not None and self.rests:
            went_on = [
                (each.finished_at - round(each.duration * 1000), each.finished_at) if each.finished_at is not None
                else (self.now - round(each.duration * 1000), self.now)
                for each in ran if each.duration is not None
            ]
            took -= idle(self.rests, went_on, started, started + round(took * 1000)) / 1000
        return replace(view, duration=took)

    @property
    def _goes_on(self) -> bool:
        return self.execution.status in ("pending", "running", "paused")

    def _iterations(self, loop: str, outer: tuple[int, ...]) -> list[int]:
        assert self.release is not None
        depth = len(outer)
        facts = self.release["steps"]
        return sorted({
            iteration[depth] for step, iteration in {**self.records, **self._seen()}
            if len(iteration) > depth and iteration[:depth] == outer and step in facts
            and facts[step].get("loops", [])[depth : depth + 1] == [loop]
        })  # fmt: skip

    def _seen(self) -> Mapping[Place, SeenStep]:
        return self.history.seen if self.history is not None else {}

    def _one(self, place: Place) -> StepView:
        step, iteration = place
        record, seen = self.records.get(place), self._seen().get(place)
        kind = record.type if record is not None and record.type else seen.type if seen is not None else ""
        if not kind and self.release is not None and step in self.release["steps"]:
            kind = self.release["steps"][step]["type"]
        executions = tuple(
            child.id for child in sorted(self.children, key=lambda child: child.attempt)
            if (child.step, child.iteration) == place
        )  # fmt: skip
        status = self._status(record, seen, kind)
        view = StepView(step, iteration, kind, status, executions=executions)
        if record is not None:
            view = _of_record(view, record)
        began = view.started_at
        if record is not None and kind not in HOLDERS:  # what an earlier run began is no part of it
            first = 0 if record.native else record.first_at
            began = first or (record.begun_at if record.native or record.attempts <= 1 else 0) or began
            prepared = self._prepared(record)
            if prepared is not None and began is not None and view.started_at is not None:
                began = min(began, prepared)
                view = replace(view, started_at=min(view.started_at, began))
        run = self.execution.run
        if seen is not None and (record is None or record.native) and (
            not passed_again(record, seen.status, run)
        ):
            earlier, began = view.started_at, micros(seen.started)
            view = _of_history(view, seen, run)
            if kind in WAITING and began is not None and (entered := self._entered(view)) is not None:
                began = min(began, entered)
            if kind == "approval" and place in self.answers and began is not None and view.finished_at is not None:
                view = replace(view, finished_at=ended_by(self.answers[place], began, view.finished_at))
            if status != "skipped" and began is not None:
                view = replace(view, started_at=min(began, earlier or began))
        if status == "cancelled" and view.started_at is not None and view.finished_at is None:
            view = replace(view, finished_at=(record.stopped_at if record is not None else None) or self._stopped(view))
        if status == "not_started":
            return replace(view, started_at=None, finished_at=None, error=None)
        if status == "waiting_approval" and place in self.answers:
            view = self._answered(view, self.answers[place])
        elif status in ("running", "waiting_approval", "retrying"):
            view = replace(view, finished_at=None)
        return replace(view, duration=self._duration(view, began))

    def _prepared(self, record: StepRecord) -> int | None:
        """When the values of a step that began in this run were begun to be computed, by a call of their own."""
        known = self.release["steps"] if self.release is not None else ()
        return min((
            one.begun_at or one.started_at for (name, iteration), one in self.records.items()
            if iteration == record.iteration and one.run == record.run and is_part(name, known)
            and without_part(name) == record.step and (one.begun_at or one.started_at)
        ), default=None)

    def _answered(self, view: StepView, answer: Answered) -> StepView:
        """An approval that has its answer, of which the machine is told when it goes on."""
        facts = self.release["steps"].get(view.step) if self.release is not None else None
        good = answer.approved or (facts is not None and REJECTED in facts.get("accepts", ()))
        return replace(
            view, status="completed" if good else "failed", finished_at=max(answer.at * 1000, view.started_at or 0),
            error=None if good else Failure(REJECTED, answer.message, view.step, view.iteration),
        )

    def _entered(self, view: StepView) -> int | None:
        """When a wait or an approval began, by what its run was told of earlier ones."""
        run = next((run for run in self.runs if run.number == view.run), None)
        at = run.entered.get(f"{self.execution.id}/{view.label}") if run is not None else None
        return None if at is None else at * 1000

    def _stopped(self, view: StepView) -> int | None:
        """When something was interrupted: at the end of its run."""
        run = next((run for run in self.runs if run.number == view.run), None)
        at = (run.ended_at if run is not None else None) or self.execution.finished_at
        return None if at is None else max(at * 1000, view.started_at or 0)

    def _status(self, record: StepRecord | None, seen: SeenStep | None, kind: str) -> ViewStatus:
        live = self.history is not None and self.execution.status in ("pending", "running")
        if record is None or record.native:
            if record is not None and seen is not None and passed_again(record, seen.status, self.execution.run):
                return record.status
            if seen is not None:
                if seen.status == "cancelled" and self.execution.status == "paused":
                    return _open(kind)
                return _live_status(seen, kind)
            if record is None:
                return "not_started"
            if record.status == "running" and not live:
                return _open(kind) if self._goes_on else "cancelled"
            # A later run works native states out again; what completed in an earlier one will again.
            again = live and record.run < self.execution.run and record.status != "completed"
            return "not_started" if again else record.status
        if record.status == "completed" or record.status == "skipped":
            return record.status
        if record.status == "failed":
            if self._is_undone_again(record):
                return "retrying"
            if seen is not None and seen.status == "running":
                if seen.asked:
                    return "waiting_approval"
                return "retrying" if record.run == self.execution.run else "running"
            again = live and seen is None and record.run < self.execution.run and not record.settled
            return "not_started" if again else "failed"
        if seen is not None and seen.status in ("failed", "cancelled"):
            return seen.status  # its function went away without a word
        return "running" if self.history is not None or self.execution.status in ACTIVE else "cancelled"

    def _is_undone_again(self, record: StepRecord) -> bool:
        """Whether another attempt of an undo may come: nothing else has begun in this rollback since it failed."""
        known = self.release["steps"] if self.release is not None else {}
        if not self.undoing or record.step in known or record.run != self.execution.run:
            return False
        return not any(
            one.begun_at > (record.finished_at or 0) for one in self.records.values()
            if one.run == record.run and one.step not in known
        )

    def _duration(self, view: StepView, began: int | None) -> float | None:
        if view.started_at is None or began is None or view.status == "skipped":
            return None
        ended = view.finished_at
        if ended is None:
            if view.status not in ("running", "waiting_approval", "retrying"):
                return None
            # Only the time of waits and questions goes on while the execution is paused.
            still = self.execution.status == "paused" and view.type not in WAITING
            ended = self.execution.changed_at * 1000 if still else self.now
        return max(0, ended - began) / 1000


def _live_status(seen: SeenStep, kind: str) -> ViewStatus:
    if seen.status != "running":
        return seen.status
    if seen.retrying:
        return "retrying"
    return "waiting_approval" if seen.asked else _open(kind)


def _open(kind: str) -> ViewStatus:
    return "waiting_approval" if kind == "approval" else "running"


def _of_record(view: StepView, record: StepRecord) -> StepView:
    return replace(
        view, started_at=record.started_at or None, finished_at=record.finished_at, attempts=record.attempts, run=record.run,
        error=record.error, native=record.native, settled=record.settled, usage=dict(record.usage),
        cost=prices.step_cost(record), outcome=record.outcome,
    )


def _of_history(view: StepView, seen: SeenStep, run: int) -> StepView:
    failed = seen.status == "failed" or seen.retrying
    return replace(
        view, started_at=micros(seen.started), finished_at=micros(seen.ended), attempts=seen.attempts, run=run,
        error=Failure(seen.error, seen.message, seen.step, seen.iteration) if failed and seen.error else None,
        native=True, settled=seen.settled, outcome=seen.outcome,
    )


def _substate(execution: Execution, steps: list[StepView]) -> Substate:
    if execution.status not in ACTIVE:
        return ""
    now = {step.status for step in steps if step.type not in HOLDERS}
    order: tuple[tuple[ViewStatus, Substate], ...] = (
        ("running", "executing"), ("waiting_approval", "waiting_approval"), ("retrying", "retrying"),
    )
    return next((name for status, name in order if status in now), "executing")
