"""The executions of a run: the first one, and all that were started by it or by one of those."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from infra.local.cloud import Event, ExecutionHandle, LocalCloud, Result
from infra.local.progress import Child, Progress, Status, StepRun, Undone, progress_of
from infra.local.tracking import Tracker, blamed, error_of, message_of
from translator.pipeline import Compilation

_STATUS = {
    "SUCCEEDED": Status.COMPLETED, "FAILED": Status.FAILED, "TIMED_OUT": Status.FAILED, "ABORTED": Status.CANCELLED,
}


@dataclass(slots=True)
class Member:
    """An execution whose steps are known; `child` is how its parent knows it."""

    handle: ExecutionHandle
    compilation: Compilation
    progress: Progress
    tracker: Tracker
    child: Child | None = None
    ended: Result | None = None
    part: bool = False  # it runs a part of another one's machine


@dataclass(slots=True)
class Family:
    """Follows them.

    `machines` are the compiled workflows, those that undo others too, and the ids of those that nobody defined, by machine
    name. `plans` has the iterations of what is undone, in that order, by the execution's id: see `progress.Undone`.
    """

    cloud: LocalCloud
    machines: Mapping[str, Compilation | str]
    plans: Mapping[str, Sequence[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(list))
    members: dict[str, Member] = field(default_factory=dict)  # by ARN, parents before their children
    _open: list[Child | Member] = field(default_factory=list)
    _by_id: dict[str, list[Progress]] = field(default_factory=dict)

    def lead(self, handle: ExecutionHandle, compilation: Compilation) -> Member:
        """The execution that everything starts with."""
        member = self._join(handle, compilation, Progress(compilation.workflow))
        self._open.append(member)
        return member

    @property
    def running(self) -> bool:
        """Whether a state runs."""
        return any(isinstance(one, Member) and one.tracker.running for one in self._open)

    def progress(self, identifier: str, step: str) -> Progress | None:
        """That of the execution with a step, by the id that it knows it by: an execution and its undoing share theirs."""
        return next((one for one in self._by_id.get(identifier, ()) if one.shows(step)), None)

    def look(self) -> bool:
        """Takes what has happened since the last look; True when a step changed."""
        changed = False
        waiting, self._open = self._open, []
        while waiting:  # grows by the children that come to light
            one = waiting.pop()
            if isinstance(one, Child):
                changed |= self._look_at_unknown(one)
                continue
            one.ended = _result(one.handle)  # before the events, so that none is missed
            events = one.handle.events(one.tracker.last_event)
            if events and one.tracker.last_event == 0:
                identifier = _identifier(events[0]) or one.handle.name
                self._by_id.setdefault(identifier, []).append(one.progress)
                if isinstance(one.progress, Undone):
                    one.progress.plan = self.plans[identifier]
                if one.child is not None:
                    one.child.started = datetime.fromisoformat(events[0]["timestamp"])
            changed |= one.tracker.feed(events)
            for run, arn in one.tracker.started:
                waiting += self._born(run, arn)
            one.tracker.started.clear()
            waiting += [self._join_part(one, arn, path) for arn, path in one.tracker.parts]
            one.tracker.parts.clear()
            waiting += [
                self._join_part(one, arn, (*one.tracker.place(state), (state, index)))
                for arn, state, index in self.cloud.items(one.handle.arn) if arn not in self.members
            ]
            if one.ended is None:
                self._open.append(one)
            else:
                changed |= self._settle(one, one.ended)
        return changed

    def close(self, now: datetime) -> list[Child]:
        """Nothing goes on after the end of the first execution: what still ran, such as children that nobody waits for."""
        left = [one if isinstance(one, Child) else one.child for one in self._open]
        for one in self._open:
            if isinstance(one, Member):
                one.progress.finish(completed=False, now=now)
        self._open = []
        lost = [child for child in left if child is not None]
        for child in lost:
            child.status, child.ended = Status.CANCELLED, now
        return lost

    def culprits(self, arn: str, error: str | None, cause: str | None) -> list[tuple[Member, StepRun]]:
        """The step whose failure ended an execution, the step of its child that made it fail, and so on."""
        found: list[tuple[Member, StepRun]] = []
        member: Member | None = self.members[arn]
        while member is not None:
            run = member.tracker.culprit(error_of(error, cause), message_of(cause), blamed(cause))
            if run is None:
                break
            found.append((member, run))
            member = self.members.get(run.children[-1].execution) if run.children else None
            if member is not None:
                ended = member.ended
                if ended is None or ended.status != "FAILED" or message_of(ended.cause) != run.message:
                    break  # it was stopped, ran out of time as a whole, or was an earlier attempt
                error, cause = ended.error, ended.cause
        return found

    def _born(self, run: StepRun, arn: str) -> list[Child | Member]:
        machine = self.machines.get(arn.split(":")[6], "")
        workflow = machine if isinstance(machine, str) else machine.workflow.id
        child = Child(arn, workflow, len(run.children) + 1)
        run.children.append(child)
        if isinstance(machine, str):
            run.simulated = True
            return [child]
        label = run.label if child.attempt == 1 else f"{run.label} (attempt {child.attempt})"
        child.progress = progress_of(machine.workflow, (*run.path, label))
        return [self._join(self.cloud.execution(arn), machine, child.progress, child)]

    def _join(
        self, handle: ExecutionHandle, compilation: Compilation, progress: Progress, child: Child | None = None
    ) -> Member:
        member = Member(handle, compilation, progress, Tracker(compilation, progress), child)
        self.members[handle.arn] = member
        return member

    def _join_part(self, around: Member, arn: str, path: tuple[tuple[str, int], ...]) -> Member:
        """A part of an execution: its steps are those of the one around it, and so is its end."""
        member = Member(self.cloud.execution(arn), around.compilation, around.progress, around.tracker.part(path), part=True)
        self.members[arn] = member
        return member

    def _look_at_unknown(self, child: Child) -> bool:
        ended = _result(self.cloud.execution(child.execution))
        if ended is None:
            self._open.append(child)
            return False
        _end(child, ended)
        return True

    def _settle(self, member: Member, ended: Result) -> bool:
        if member.part:
            return False
        member.progress.finish(completed=ended.status == "SUCCEEDED", now=ended.stopped)
        if member.child is not None:
            _end(member.child, ended)
        return True


def _end(child: Child, ended: Result) -> None:
    child.status, child.started, child.ended = _STATUS[ended.status], ended.started, ended.stopped


def _result(handle: ExecutionHandle) -> Result | None:
    try:
        return handle.wait(0)
    except TimeoutError:
        return None


def _identifier(event: Event) -> str:
    """The id of an execution in records, from the input in its first event."""
    try:
        given = json.loads(event["executionStartedEventDetails"]["input"])
        return str(given["execution"]["id"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
