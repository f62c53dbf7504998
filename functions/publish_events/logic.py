"""From the records of a stream to events on the bus and checkpoints: everything once, nothing left out.

A batch may come again, in whole or in part. Events have the same ids then, and a checkpoint that is there is not made
again; so after a crash anywhere the records simply come once more.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aslant import observability, ports
from aslant.errors import AuthorizationError, ConflictError, NotFoundError, StepError
from aslant.events import Change, Event, change_of, events_of
from aslant.executions import checkpoints
from aslant.executions.checkpoints import StepEvent
from aslant.executions.naming import arn_of, run_name
from aslant.executions.records import Checkpoint, Execution, StepRecord
from aslant.executions.states import FINAL
from aslant.executions.store import ExecutionStore

Json = Any
Record = Mapping[str, Any]

BY = "policy"  # who makes the checkpoints
COUNTED = frozenset({  # of these there are metrics, which the alarms and the dashboard take
    "workflow_started", "workflow_completed", "workflow_failed", "workflow_cancelled", "workflow_timed_out",
    "workflow_rolled_back", "approval_requested", "approval_granted", "approval_rejected", "approval_expired",
})  # fmt: skip
_BATCH = 10    # entries of one PutEvents
_ROUNDS = 6    # requests in a row in which something failed
_PAUSE, _LONGEST_PAUSE = 0.1, 2.0  # seconds after a request in which something failed
_RESERVE = 3.0  # seconds of the invocation that are kept for the answer
_TAKE_TIME = frozenset({"approval", "workflow", "parallel", "foreach", "wait"})  # of what the machine itself does
_TRIES = 10    # of a checkpoint whose number others take


@dataclass(slots=True)
class _Known:
    """What checkpoints of an execution are made from, as it was when first needed."""

    last: Checkpoint | None
    records: tuple[StepRecord, ...]
    moments: set[int] | None = None  # those of all checkpoints, once somebody asked


@dataclass(slots=True)
class Publisher:
    """Works on one batch of one shard. `time_left` gives the seconds that the invocation may still take."""

    bus: ports.Bus
    store: ExecutionStore
    releases: ports.Releases
    time_left: Callable[[], float]
    sleep: Callable[[float], None] = time.sleep
    _policies: dict[tuple[str, str, str | None], Mapping[str, Json] | None] = field(default_factory=dict)
    _executions: dict[tuple[str, str, int], Execution | None] = field(default_factory=dict)
    _known: dict[tuple[str, str], _Known] = field(default_factory=dict)

    def work(self, records: Sequence[Record]) -> str | None:
        """The sequence number of the first record that has to come again, or None."""
        found: list[tuple[int, Event]] = []
        changes: list[tuple[int, Change]] = []
        for index, record in enumerate(records):
            try:
                found += [(index, event) for event in events_of(record) if not self._begins_too_late(event)]
                change = change_of(record)
            except (KeyError, TypeError, ValueError) as error:
                # Trying again would never help, and the shard would stand still for a day.
                where = {"sequence": record.get("dynamodb", {}).get("SequenceNumber")}
                observability.log("ERROR", "a record tells nothing", where, error=f"{type(error).__name__}: {error}")
                continue
            if change is not None:
                changes.append((index, change))
        failed = self._publish(found)
        changes.sort(key=lambda one: _moment(one[1]))  # checkpoints are numbered as things happened, as far as that is known
        for index, change in changes:
            if failed is not None and index >= failed:
                continue
            try:
                self._checkpoint(change)
            except StepError as error:
                observability.log("ERROR", "a checkpoint failed", {"sequence": change.sequence}, error=str(error))
                # What stays as it is (an object that is gone, say) must not hold up the shard.
                if error.retryable or isinstance(error, ConflictError | AuthorizationError):
                    failed = index  # lower than any before
        return None if failed is None else str(records[failed]["dynamodb"]["SequenceNumber"])

    def _publish(self, found: Sequence[tuple[int, Event]]) -> int | None:
        """The index of the first record with an event that the bus did not take.

        A request has one event of each execution at most: so none overtakes an earlier one that is not taken.
        """
        waiting = list(found)
        rounds = 0
        while waiting:
            batch: dict[tuple[str, str, str], tuple[int, Event]] = {}
            for index, event in waiting:
                batch.setdefault((event.tenant, event.execution, event.workflow if not event.execution else ""), (index, event))
                if len(batch) == _BATCH:
                    break
            problem = self._send(list(batch.values()), waiting)
            if not problem:
                rounds = 0
                continue
            rounds += 1
            pause = min(_PAUSE * 2 ** (rounds - 1), _LONGEST_PAUSE)
            if rounds >= _ROUNDS or self.time_left() < pause + _RESERVE:
                observability.log("ERROR", "events wait", {"events": len(waiting)}, error=problem)
                return min(index for index, _ in waiting)
            self.sleep(pause)
        return None

    def _send(self, batch: Sequence[tuple[int, Event]], waiting: list[tuple[int, Event]]) -> str:
        """Takes what was published out of `waiting`; what went wrong with one of the others."""
        try:
            answers = self.bus.publish([self._complete(event) for _, event in batch])
        except StepError as error:
            return str(error)
        taken = {event.id for (_, event), answer in zip(batch, answers, strict=True) if not answer}
        waiting[:] = [entry for entry in waiting if entry[1].id not in taken]
        for _, event in batch:
            if event.id in taken and event.type in COUNTED:
                observability.emit({"Events": (1, "Count")}, {"event_type": event.type, "workflow": event.workflow})
        return next((answer for answer in answers if answer), "")

    def _complete(self, event: Event) -> Event:
        """The event with the workflow that its item does not name."""
        if event.workflow or not event.execution:
            return event
        execution = self._execution(event.tenant, event.execution, int(event.payload.get("run") or 0))
        return replace(event, workflow=execution.workflow) if execution is not None else event

    def _begins_too_late(self, event: Event) -> bool:
        """Whether a step begins when the end of its execution has been told: a call was on its way when that was stopped."""
        if event.type not in ("node_started", "node_retrying"):
            return False
        run = int(event.payload.get("run") or 1)
        try:
            found = self._execution(event.tenant, event.execution, run)
        except StepError:
            return False
        if found is None or found.status not in FINAL | {"rolling_back"} or event.at <= (found.finished_at or found.changed_at):
            return False
        own = found.arn == arn_of(found.machine, run_name(found.id, found.run))  # not a run that undoes, or `finally`
        return run < found.run or (own and run == found.run and found.status in FINAL)

    def _checkpoint(self, change: Change) -> None:
        """The checkpoint that is due after what happened to a step."""
        happened = _step_event(change)
        if happened is None or change.after is None:
            return
        run = int(change.after.get("run", 1))
        execution = self._execution(change.tenant, change.owner, run)
        policy = self._policy(change, execution)
        # What needs no look at the records is decided first: most steps make no checkpoint.
        if checkpoints.due(policy, None, happened._replace(completed=1_000_000_000)) is None:
            return
        place = (change.tenant, change.owner)
        for _ in range(_TRIES):
            known = self._known.get(place)
            if known is None:
                # All that the batch tells of is in the tables by now: one look does for all of it.
                known = self._known[place] = _Known(self.store.last_checkpoint(*place), self.store.steps(*place))
            last = known.last
            if last is not None and last.at >= happened.at:
                if known.moments is None:
                    known.moments = {last.at, *(each.at for each in self.store.checkpoints(*place))}
                if happened.at in known.moments:
                    return  # made when the record came before
            completed = len(checkpoints.completed_by(known.records, happened.at))
            reason = checkpoints.due(policy, last, happened._replace(completed=completed))
            if reason is None:
                return
            number = last.number + 1 if last is not None else 1
            taken = checkpoints.taken(
                known.records, number=number, at=happened.at, reason=reason, by=BY, run=run,
                label=_label(happened, change.after),
            )
            if self.store.put_checkpoint(*place, taken):
                known.last = taken
                if known.moments is not None:
                    known.moments.add(taken.at)
                return
            del self._known[place]  # somebody else has taken one meanwhile
        raise ConflictError(f"the checkpoints of the execution {change.owner} keep changing")

    def _policy(self, change: Change, execution: Execution | None) -> Mapping[str, Json] | None:
        workflow = execution.workflow if execution is not None else str((change.after or {}).get("workflow", ""))
        if not workflow:
            return None
        # A child's first steps may be faster than the notice that makes its record; then the published version tells.
        version = execution.version if execution is not None else None
        place = (change.tenant, workflow, version)
        if place not in self._policies:
            try:
                self._policies[place] = self.releases.get(*place)["settings"].get("checkpoint")
            except NotFoundError:
                self._policies[place] = None
        return self._policies[place]

    def _execution(self, tenant: str, id: str, run: int) -> Execution | None:
        """The execution, read once for each run: its version may change between two."""
        if self._executions.get((tenant, id, run)) is None:
            self._executions[tenant, id, run] = self.store.read(tenant, id)
        return self._executions[tenant, id, run]


def _label(happened: StepEvent, after: Mapping[str, Any]) -> str:
    """`after pay[2]`: where in the execution a checkpoint is."""
    inside = "".join(f"[{index}]" for index in json.loads(after.get("iteration") or "[]"))
    return f"{'before' if happened.kind == 'began' else 'after'} {after['step']}{inside}"


def _moment(change: Change) -> int:
    happened = _step_event(change)
    return 0 if happened is None else happened.at


def _step_event(change: Change) -> StepEvent | None:
    """What a policy is asked about; None for undone steps, what takes no time, and what is no change of a step.

    What the machine itself did is known when its run has ended.
    """
    after, before = change.after, change.before or {}
    if after is None or change.kind != "execution" or not change.sort.startswith("step#"):
        return None
    if str(after["step"]).startswith("undo "):
        return None
    status, kind = after["status"], str(after.get("type", ""))
    if after.get("native") and (status != "completed" or kind not in _TAKE_TIME):
        return None
    if status == "running":
        first = after.get("attempts") == 1 and after.get("begun_at") != before.get("begun_at")
        return StepEvent("began", kind, int(after["begun_at"]), 0) if first else None
    if status not in ("completed", "failed") or (status, after.get("run")) == (before.get("status"), before.get("run")):
        return None
    return StepEvent(status, kind, int(after["finished_at"]), 0, str(after["step"]))
