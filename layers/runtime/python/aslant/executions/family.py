"""An execution with the executions that its steps started: found, noted, stopped together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol

from aslant.errors import ConflictError, NotFoundError
from aslant.executions.left_open import cut_short
from aslant.executions.naming import child_id
from aslant.executions.records import Child, Execution, Parent, Run
from aslant.executions.states import FINAL, TRANSITIONS, Status
from aslant.executions.store import ExecutionStore
from aslant.history.joined import history_of
from aslant.history.native import micros, record_run
from aslant.history.steps import StepHistory
from aslant.ports import Machines, Releases
from aslant.releases import Release

Json = Any

DAY = 24 * 3600
RETENTION = 90 * DAY  # seconds that an ended execution is kept where its release says nothing else
_TRIES = 10           # times that a change is tried again because somebody else was faster
_LOOKS = 3            # times that children are looked up again, since one may start in that very moment


class Answered(NamedTuple):
    """How a request was decided, when (epoch milliseconds), and what a refusal says."""

    approved: bool
    at: int
    message: str = ""


class ApprovalControl(Protocol):
    """What happens to approvals when their execution is controlled."""

    def cancel(self, tenant: str, execution: str) -> None:
        """Closes all pending ones as cancelled; nothing happens when there is none."""

    def set_aside(
        self, tenant: str, execution: str, *, run: int, chosen: Callable[[str, tuple[int, ...], int], bool],
        asked_before: int | None = None,
    ) -> None:
        """Takes those out of the way for which `chosen(step, iteration, when it was decided or asked for)` holds, so that
        run number `run` asks anew; with `asked_before` none that was asked since then. Moments are epoch milliseconds. May
        be called again.
        """

    def answered(self, tenant: str, execution: str) -> Mapping[tuple[str, tuple[int, ...]], Answered]:
        """By step and iteration those whose latest request is decided: nobody may have told the machine, which rests."""


def retention(release: Release | None) -> float:
    """Seconds that an execution of a release is kept after its end."""
    return float(release["settings"].get("retention") or RETENTION) if release is not None else RETENTION


def changed_to(execution: Execution, status: Status, *, now: int, reason: str, keep: float = RETENTION) -> Execution:
    """The record in another status. In a final one it has an end, and a time to live of `keep` seconds from then."""
    final = status in FINAL
    return replace(
        execution, status=status, changed_at=now, reason=reason, preparing={},
        finished_at=now if final else None, ttl=now // 1000 + int(keep) if final else None,
    )


def adopted(
    info: Mapping[str, Json], *, arn: str, machine: str, started_at: int, given: Mapping[str, Json]
) -> tuple[Execution, dict[str, Json], Run]:
    """The record, input and run of an execution that nobody has stored yet. `info` is the `execution` entry of its input
    (empty for one that was started by hand), `given` its whole input, `started_at` epoch milliseconds.
    """
    parent = info.get("parent")
    number = int(info.get("run") or 1)
    version = str(info.get("version") or "")
    execution = Execution(
        tenant=str(info.get("tenant") or "default"), id=str(info.get("id") or arn), workflow=str(info.get("workflow") or ""),
        version=version, status="running", revision=0, run=number, machine=machine, arn=arn,
        user=str(info.get("user") or ""), started_at=started_at, changed_at=started_at,
        parent=Parent(
            str(parent.get("execution")), str(parent.get("step")), tuple(parent.get("iteration") or ()),
            int(parent.get("attempt") or 0),
        ) if isinstance(parent, Mapping) else None,
    )  # fmt: skip
    run = Run(number, arn, machine, version, "start", execution.user, started_at)
    return execution, {"input": given.get("input", {}), "context": given.get("context") or {}}, run


def parents_status(store: ExecutionStore, execution: Execution) -> Literal["paused", "cancelled"] | None:
    """What a child has become by what its parent is, or one of its parents; None when it goes on.

    A machine that is stopped may take its children with it before the parent between has been marked.
    """
    found: Literal["paused"] | None = None
    above = execution
    while above.parent is not None:
        parent = store.read(execution.tenant, above.parent.execution)
        if parent is None or parent.id == execution.id:
            break
        held = parent.status if parent.status in ("paused", "cancelled") else None
        if held is not None or parent.run > execution.run:
            own = next((run.own for run in store.runs(parent.tenant, parent.id) if run.number == parent.run), True)
            if parent.run > execution.run:  # a later run starts the child again, but for one that undoes or ends the parent
                return found if own else "cancelled"
            if not own:  # what such a run has started itself goes on although the parent has ended
                break
            if held == "cancelled":
                return held
            found = "paused"
        above = parent
    return found


@dataclass(frozen=True, slots=True)
class Family:
    """Stops executions together with their children. `clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: Machines
    releases: Releases
    clock: Callable[[], int]
    approvals: ApprovalControl | None = None

    def release(self, execution: Execution) -> Release | None:
        """The facts of its version; None when the catalog does not know it."""
        try:
            return self.releases.get(execution.tenant, execution.workflow, execution.version or None)
        except NotFoundError:
            return None

    def run_of(self, execution: Execution) -> Run | None:
        """The run that goes on, or went last."""
        runs = self.store.runs(execution.tenant, execution.id)
        return next((run for run in runs if run.number == execution.run), None)

    def note_run(self, execution: Execution, release: Release, *, lost: bool = False) -> None:
        """Records what the states of the latest run have computed, by its history, before its end is told of.

        `lost`: the engine does not know the run any more, so nothing else will tell of its end.
        """
        run = self.run_of(execution)
        if run is None or not run.own or (lost and run.status):
            return
        try:
            events = history_of(execution.arn, release, self.machines.history)
            history = StepHistory.of(release["steps"], release["states"], events)
        except NotFoundError:
            return  # it never started
        now = self.clock()
        until = micros(history.timeline.until)
        at = now if until is None else until // 1000
        record_run(self.store, execution, history, run=run, completed=False, at=at, now=now, approvals=self.approvals)
        if execution.status in FINAL:
            self._cut_short(execution)
        if lost:
            self.store.end_run(
                execution.tenant, execution.id, run.number, status="ABORTED", ended_at=at, transitions=history.transitions
            )

    def next_number(self, execution: Execution) -> int:
        """The number of a new run: beyond those of children too, since a child's run has the number of its parent's."""
        return 1 + max([execution.run, *(child.run for _, child in self.descendants(execution))])

    def children(self, execution: Execution) -> tuple[Child, ...]:
        """Noted children, those of the run's history that nobody noted yet among them (they are noted then)."""
        noted = {child.id: child for child in self.store.children(execution.tenant, execution.id)}
        release = self.release(execution)
        calls = release is None or any(facts["type"] == "workflow" for facts in release["steps"].values())
        if not calls:
            return tuple(noted.values())
        for arn in self._started(execution):
            if child_id(arn) in noted:
                continue
            found = self._adopt(execution, arn)
            if found is not None and found.parent is not None:
                parent = found.parent
                noted[found.id] = Child(found.id, parent.step, parent.iteration, parent.attempt)
        return tuple(noted.values())

    def descendants(self, execution: Execution) -> Iterator[tuple[Child, Execution]]:
        """The stored executions of all children, theirs included, parents first."""
        for child in self.store.children(execution.tenant, execution.id):
            found = self.store.read(execution.tenant, child.id)
            if found is not None and found.id != execution.id:
                yield child, found
                yield from self.descendants(found)

    def halt(self, execution: Execution, status: Literal["paused", "cancelled"], *, by: str) -> None:
        """Stops the run and turns what its children do into `status` as well. Done already, it does nothing."""
        self._stop(execution)
        if status == "cancelled":
            if self.approvals is not None:
                self.approvals.cancel(execution.tenant, execution.id)
            self._cut_short(execution)
        self._stop_rollback(execution)
        halted: set[str] = set()
        for _ in range(_LOOKS):
            fresh = [child for child in self.children(execution) if child.id not in halted]
            if not fresh:
                return
            for child in fresh:
                halted.add(child.id)
                self._halt_child(execution, child.id, status, by)

    def call_off(self, execution: Execution, *, by: str) -> None:
        """Ends what is left of an execution that is undone now: questions, and children that were paused with it."""
        if self.approvals is not None:
            self.approvals.cancel(execution.tenant, execution.id)
        self._cut_short(execution)
        for child in self.store.children(execution.tenant, execution.id):
            self._halt_child(execution, child.id, "cancelled", by)

    def _cut_short(self, execution: Execution) -> None:
        cut_short(self.store, execution, execution.finished_at or execution.changed_at)

    def call_off_child(self, child: Execution, *, by: str) -> Execution:
        """Ends a child that is still paused, though its parent has been undone; the child as it is then."""
        parent = self.store.read(child.tenant, child.parent.execution) if child.parent is not None else None
        if parent is not None:
            self._halt_child(parent, child.id, "cancelled", by)
        return self.store.read(child.tenant, child.id) or child

    def _halt_child(self, parent: Execution, id: str, status: Literal["paused", "cancelled"], by: str) -> None:
        for _ in range(_TRIES):
            child = self.store.read(parent.tenant, id)
            if child is not None and child.status == "rolling_back":
                status = "cancelled"  # what undoes cannot be paused: when the parent goes on, it starts the child again
            # A later run of the child belongs to a later run of the parent, which somebody has started meanwhile.
            if child is None or child.run > parent.run or (child.status in FINAL and child.status != status):
                return
            if child.status != status and status in TRANSITIONS[child.status]:
                reason = f"its parent {parent.id} was {status}"
                after = changed_to(child, status, now=self.clock(), reason=reason, keep=retention(self.release(child)))
                try:
                    child = self.store.transition(child, after, by=by, reason=reason)
                except ConflictError:
                    continue
            if child.status == status:
                self.halt(child, status, by=by)
            return
        raise ConflictError(f"the execution {id} keeps changing")

    def _stop(self, execution: Execution) -> None:
        try:
            self.machines.stop(execution.arn, "Paused" if execution.status == "paused" else "Cancelled", execution.reason)
        except NotFoundError:
            return  # it was never started, or is long gone

    def _stop_rollback(self, execution: Execution) -> None:
        """Stops what the run itself has started under its own id: the machine that undoes, and those that run parts of it."""
        release = self.release(execution)
        if release is None or not (release.get("rollback") or release.get("parts")):
            return
        for arn in self._started(execution):
            try:
                info = _info(self.machines.describe(arn))
                if info is not None and info.get("id") == execution.id:
                    self.machines.stop(arn, "Cancelled", execution.reason)
            except NotFoundError:
                continue

    def _started(self, execution: Execution, arn: str = "") -> Iterator[str]:
        """ARNs of the executions that a run's history shows as started, or that of a part of it."""
        release = self.release(execution)
        parts = release.get("parts", []) if release is not None else []
        try:
            for event in self.machines.history(arn or execution.arn):
                if event.get("type") not in ("TaskSubmitted", "TaskSucceeded"):
                    continue
                details = event.get("taskSubmittedEventDetails") or event.get("taskSucceededEventDetails") or {}
                if not str(details.get("resource", "")).startswith("startExecution"):
                    continue
                try:
                    output = json.loads(str(details.get("output") or ""))
                except ValueError:
                    continue
                if isinstance(output, dict) and isinstance(output.get("ExecutionArn"), str):
                    yield output["ExecutionArn"]
                    if output["ExecutionArn"].replace(":execution:", ":stateMachine:").rpartition(":")[0] in parts:
                        yield from self._started(execution, output["ExecutionArn"])
        except NotFoundError:
            return

    def _adopt(self, parent: Execution, arn: str) -> Execution | None:
        """Stores a child that runs already but that no notice has told of."""
        try:
            described = self.machines.describe(arn)
        except NotFoundError:
            return None
        info = _info(described)
        if info is None or info.get("tenant", "default") != parent.tenant or info.get("id") == parent.id:
            return None
        started = described.get("startDate")
        at = round(started.timestamp() * 1000) if started is not None else self.clock()
        execution, data, run = adopted(
            info, arn=arn, machine=str(described.get("stateMachineArn") or ""), started_at=at,
            given=json.loads(described["input"]),
        )
        if execution.parent is None or execution.parent.execution != parent.id:
            return None
        _, found = self.store.create(execution, data, run)
        self.store.add_child(
            parent.tenant, parent.id,
            Child(found.id, execution.parent.step, execution.parent.iteration, execution.parent.attempt),
        )
        return found


def _info(described: Mapping[str, Json]) -> Mapping[str, Json] | None:
    """The `execution` entry of a described execution's input."""
    try:
        given = json.loads(str(described.get("input") or ""))
    except ValueError:
        return None
    info = given.get("execution") if isinstance(given, dict) else None
    return info if isinstance(info, dict) else None
