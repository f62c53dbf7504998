"""How executions end otherwise than by their own run: undone by a rollback, or cancelled with what stands in `finally`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aslant.errors import ConflictError, InvalidTransition, NotFoundError
from aslant.executions import states
from aslant.executions.family import Family, changed_to
from aslant.executions.launch import Launcher
from aslant.executions.naming import arn_of, run_name
from aslant.executions.records import Execution, Run

Json = Any

_TRIES = 10  # times that a change is tried again because somebody else was faster


@dataclass(frozen=True, slots=True)
class Endings:
    """`record_end` brings a record to the end that its run has come to."""

    family: Family
    launcher: Launcher
    record_end: Callable[[Execution, Mapping[str, Json]], object] | None = None

    def roll_back(self, execution: Execution, *, by: str) -> Execution | None:
        """Starts the undoing; None when somebody else changed the execution meanwhile. Raises InvalidTransition."""
        states.check(execution.status, "rolling_back", "rollback")
        if execution.status == "running":
            raise InvalidTransition("rollback: the execution is running; pause or cancel it first")
        family = self.family
        release = family.releases.get(execution.tenant, execution.workflow, execution.version)
        machine = release.get("rollback")
        if not machine:
            raise InvalidTransition(f"rollback: {execution.workflow} {execution.version} has nothing to undo")
        # Until `finally` has run, it is a part of what is left to be done.
        stopped = execution.status in ("paused", "cancelled")
        ends = stopped and self._is_left(execution)
        # Children of a paused one stay paused until it is certain that it is undone: a crash before leaves it resumable.
        family.halt(execution, "paused" if execution.status == "paused" else "cancelled", by=by)
        if ends:
            family.note_run(execution, release)
        number = family.next_number(execution)
        now, arn = family.clock(), arn_of(machine, run_name(execution.id, number))
        run = Run(number, arn, machine, execution.version, "rollback", by, now, detail="finally" if ends else "")
        after = replace(
            changed_to(execution, "rolling_back", now=now, reason="rollback"), run=number, arn=arn,
        )  # fmt: skip
        try:
            changed = family.store.transition(execution, after, by=by, reason="rollback", run=run)
        except ConflictError:
            return None
        return self.undo(changed, run)

    def undo(self, execution: Execution, run: Run) -> Execution:
        """Starts the run of a rollback that is noted. Before it looks, all that it belongs to has come to rest."""
        self.family.call_off(execution, by=run.by)
        self.end_children(execution, run.by)
        return self.launcher.launch(execution, run)

    def can_undo(self, execution: Execution) -> bool:
        release = self.family.release(execution)
        return release is not None and bool(release.get("rollback"))

    def end_children(self, execution: Execution, by: str) -> None:
        for _, child in self.family.descendants(execution):
            self.end(child, by)

    def end(self, execution: Execution, by: str) -> Execution:
        """Runs what stands in `finally`, once for a cancelled execution. Its own run has been stopped before."""
        family = self.family
        for _ in range(_TRIES):
            release = family.release(execution)
            machine = release.get("ending") if release is not None else None
            if execution.status != "cancelled" or release is None or not machine:
                return execution
            run = self.of(execution)
            if run is not None:
                return execution if run.status else self._follow(execution, run)
            family.note_run(execution, release)
            number = family.next_number(execution)
            arn = arn_of(machine, run_name(execution.id, number))
            run = Run(number, arn, machine, execution.version, "finally", by, family.clock())
            after = replace(execution, run=number, arn=arn, changed_at=max(run.started_at, execution.changed_at))
            try:
                changed = family.store.transition(execution, after, by=by, reason="finally", run=run)
            except ConflictError:
                execution = family.store.read(execution.tenant, execution.id) or execution
                continue
            return self.launcher.launch(changed, run)
        raise ConflictError(f"the execution {execution.id} keeps changing")

    def of(self, execution: Execution) -> Run | None:
        """The run of `finally`, if the execution was cancelled and has come to it."""
        run = self.family.run_of(execution) if execution.status == "cancelled" else None
        return run if run is not None and run.why == "finally" else None

    def noted(self, execution: Execution, described: Mapping[str, Json]) -> Execution:
        """The execution after its run has ended, if it has and nobody has noted that."""
        if self.record_end is not None and described.get("status") != "RUNNING":
            self.record_end(execution, described)
            return self.family.store.read(execution.tenant, execution.id) or execution
        return execution

    def told(self, execution: Execution) -> Execution:
        """The same for one whose run was stopped: what it took is known by its end only."""
        run = self.family.run_of(execution)
        if self.record_end is None or (run is not None and run.status):
            return execution
        try:
            return self.noted(execution, self.family.machines.describe(execution.arn))
        except NotFoundError:
            return execution

    def _follow(self, execution: Execution, run: Run) -> Execution:
        """Starts a run that is noted unless it has started, and notes its end if it has ended."""
        try:
            return self.noted(execution, self.family.machines.describe(run.arn))
        except NotFoundError:
            return self.launcher.launch(execution, run)

    def _is_left(self, execution: Execution) -> bool:
        """Whether a stopped execution has a `finally` that has not ended."""
        release = self.family.release(execution)
        if release is None or not release.get("ending"):
            return False
        run = self.family.run_of(execution)
        return run is None or run.own or (run.why == "finally" and not run.status)
