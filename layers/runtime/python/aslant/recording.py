"""Brings executions to the status that Step Functions says their runs have.

Works on notices that may come twice, late, in another order, or for runs that do not count any more. Whatever arrives, an
execution ends as its latest run did, unless somebody paused it, cancelled it or rolls it back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from aslant import observability, ports, prices, sla, timeouts
from aslant.claims import Claims
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.family import ApprovalControl, changed_to, parents_status, retention
from aslant.executions.left_open import cut_short, fail_silent_undos
from aslant.executions.records import Child, Execution, Failure, Parent, Run
from aslant.executions.states import FINAL, TRANSITIONS, Status
from aslant.executions.store import NOTHING, ExecutionStore
from aslant.history.joined import history_of
from aslant.history.native import record_run
from aslant.history.steps import StepHistory, blamed, error_of, message_of
from aslant.notices import Notice, complete, parsed, same_machine
from aslant.releases import Release

Json = Any

BY = "engine"  # who makes the transitions
HAND_MADE = "default"  # the tenant of executions that were started by hand
_TRIES = 12  # an execution changes while a notice is worked on
_MAX_MESSAGE = 2_000  # characters of an error's message
_RESULT: Mapping[str, Status] = {
    "SUCCEEDED": "completed", "FAILED": "failed", "TIMED_OUT": "timed_out", "ABORTED": "cancelled",
}
_AROUND = "An error occurred while executing the state"  # how Step Functions wraps what a state itself said
_HELD: frozenset[Status] = frozenset({"paused", "cancelled"})  # what children take over from their parents


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose run a notice is about."""

    tenant: str
    id: str
    run: int
    workflow: str
    version: str
    user: str
    parent: Parent | None


@dataclass(frozen=True, slots=True)
class Recorder:
    """`clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: ports.Machines
    releases: ports.Releases
    timers: ports.Timers
    clock: Callable[[], int]
    approvals: ApprovalControl | None = None
    claims: Callable[[str], Claims] | None = None  # the stored values of a tenant

    def record(self, notice: Notice) -> Execution | None:
        """The execution as the notice leaves it; None when it is about no execution of ours.

        Raises ConflictError when others keep changing the execution: the notice is to be tried again.
        """
        try:
            notice = complete(notice, self.machines, with_output=False)
        except NotFoundError:
            return None
        identity = self._identity(notice)
        if identity is None:
            return None
        for _ in range(_TRIES):
            try:
                return self._apply(notice, identity)
            except ConflictError:
                continue
        raise ConflictError(f"the execution {identity.id} keeps changing")

    def _apply(self, notice: Notice, identity: Identity) -> Execution | None:
        release = self._release(identity)
        execution = self.store.read(identity.tenant, identity.id)
        if not _may_tell(notice, release, execution):
            return execution
        if execution is None:
            execution = self._create(notice, identity, release)
            if execution is None:
                return None
        elif identity.run > execution.run:
            execution = self._advance(execution, notice, identity)
        if identity.parent is not None:  # before the parent is looked at: whoever pauses it sees this child, or we see that
            self.store.add_child(identity.tenant, identity.parent.execution, _child(identity, identity.parent))
        if identity.run < execution.run:
            return self._end_earlier(execution, notice, identity, release)
        if not _is_run_of(notice, execution):  # such as the machine that undoes steps, which runs under the same id
            if notice.ended and notice.status != "ABORTED" and release is not None and _undoes(release, notice):
                fail_silent_undos(self.store, execution, release, identity.run, _ended(notice, self.clock))
            return execution
        return self._end(execution, notice, release) if notice.ended else self._begin(execution, notice, release)

    def _identity(self, notice: Notice) -> Identity | None:
        given = parsed(notice.input)
        info = given.get("execution") if isinstance(given, Mapping) else None
        if isinstance(info, Mapping) and isinstance(info.get("id"), str) and info["id"]:
            run = info.get("run")
            return Identity(
                str(info.get("tenant") or HAND_MADE), info["id"], run if isinstance(run, int) and run > 0 else 1,
                str(info.get("workflow") or ""), str(info.get("version") or ""), str(info.get("user") or ""),
                _parent(info.get("parent")),
            )  # fmt: skip
        try:
            release = self.releases.of_machine(HAND_MADE, notice.machine)
        except NotFoundError:
            return None
        return Identity(HAND_MADE, notice.arn, 1, release["workflow"], release["version"], "", None)

    def _release(self, identity: Identity) -> Release | None:
        for version in dict.fromkeys((identity.version or None, None)):
            try:
                return self.releases.get(identity.tenant, identity.workflow, version)
            except NotFoundError:
                continue
        return None

    def _create(self, notice: Notice, identity: Identity, release: Release | None) -> Execution | None:
        """The record of an execution that nobody has made one of: a child, or one that was started by hand."""
        if release is None or not same_machine(release["machine"], notice.machine):
            return None
        given = parsed(notice.input)
        given = given if isinstance(given, dict) else {}
        execution = Execution(
            tenant=identity.tenant, id=identity.id, workflow=identity.workflow, version=release["version"],
            status="running", revision=1, run=identity.run, machine=release["machine"], arn=notice.arn,
            user=identity.user, started_at=notice.started_at, changed_at=notice.started_at, parent=identity.parent,
            sla_due=sla.due(release, notice.started_at),
        )
        run = Run(
            identity.run, notice.arn, release["machine"], release["version"], "start", identity.user or BY, notice.started_at
        )
        body = {"input": given.get("input", {}), "context": given.get("context") or {}}
        return self.store.create(execution, body, run)[1]

    def _advance(self, execution: Execution, notice: Notice, identity: Identity) -> Execution:
        """The engine has started another run: of a child, by its parent's next run."""
        if execution.status != "running" and "running" not in TRANSITIONS[execution.status]:
            return execution
        after = replace(
            execution, status="running", run=identity.run, arn=notice.arn, version=identity.version or execution.version,
            changed_at=self._now(execution), finished_at=None, error=None, reason="", ttl=None,
        )
        run = Run(identity.run, notice.arn, execution.machine, after.version, "resume", BY, notice.started_at)
        return self.store.transition(execution, after, by=BY, reason="its parent goes on", run=run)

    def _begin(self, execution: Execution, notice: Notice, release: Release | None) -> Execution:
        run = self._run(execution)
        if run.status or run.why == "finally":
            return execution  # it has ended meanwhile, or goes on although the execution has ended
        if execution.status == "pending":
            execution = self._to(execution, "running", "", release)
        held = parents_status(self.store, execution)
        if execution.status == "running" and held is not None:
            execution = self._to(execution, held, f"its parent is {held}", release)
        if execution.status in _HELD:
            self._stop(notice, f"the execution is {execution.status}")
        else:
            timeouts.Timeouts(self.store, self.machines, self.timers, self.releases, self.clock).again(execution, release)
            if release is not None and execution.sla_due is not None and not execution.sla_breached:
                sla.arm(self.timers, execution, release)  # once more, in case whoever started it got no further
        return execution

    def _end(self, execution: Execution, notice: Notice, release: Release | None) -> Execution:
        run = self._run(execution)
        if run.status and execution.status not in ("pending", "running"):
            return execution
        notice = self._with_output(notice)
        history = self._history(notice, release)
        transitions = history.transitions if history is not None else 0
        ended_at = _ended(notice, self.clock)
        ended = replace(run, status=notice.status, ended_at=ended_at, transitions=transitions)
        if history is not None and not _undoes(release, notice):
            completed = notice.status == "SUCCEEDED"
            record_run(
                self.store, execution, history, run=run, completed=completed, at=ended_at, now=self.clock(),
                approvals=self.approvals,
            )
        elif release is not None and _undoes(release, notice) and notice.status != "ABORTED":
            fail_silent_undos(self.store, execution, release, run.number, ended_at)
        usage = self._usage(execution, ended)
        status = self._status_after(execution, notice, release)
        if (status or execution.status) in FINAL - {"completed"}:  # where nothing is open
            cut_short(self.store, execution, execution.finished_at or ended_at)
        if status is None:
            execution = self.store.amend(execution, replace(execution, usage=usage))
            self.store.end_run(
                execution.tenant, execution.id, ended.number, status=ended.status, ended_at=ended_at, transitions=transitions
            )
            return execution
        if execution.status == "pending" and status not in TRANSITIONS["pending"]:
            execution = self._to(execution, "running", "", release)
        failed = None if notice.status == "SUCCEEDED" else _failure(history, notice)  # what is undone may have been cancelled
        error = None if status in ("completed", "paused") else execution.error or failed
        after = replace(
            execution, status=status, usage=usage, error=error, changed_at=max(ended_at, execution.changed_at),
            finished_at=ended_at if status in FINAL else None,
            reason=f"its parent is {status}" if status == "paused" else "",
            ttl=ended_at // 1000 + int(retention(release)) if status in FINAL else None,
        )
        reason = after.reason or (error.error if error is not None else "")
        if status in FINAL:
            self._close_approvals(execution)  # before its end is noted: a notice that comes again does nothing then
        output = parsed(notice.output) if status == "completed" else NOTHING
        if self.claims is not None and output is not NOTHING:
            output = self.claims(execution.tenant).resolve(output)
        execution = self.store.transition(execution, after, by=BY, reason=reason, run=ended, output=output)
        if status in FINAL:
            sla.disarm(self.timers, execution)
            _tell(execution)
        return execution

    def _end_earlier(
        self, execution: Execution, notice: Notice, identity: Identity, release: Release | None
    ) -> Execution:
        """A notice of a run that another one has followed: only what it took still counts."""
        if not notice.ended:
            self._stop(notice, "a later run goes on")
            return execution
        runs = self.store.runs(execution.tenant, execution.id)
        run = next((run for run in runs if run.number == identity.run), None)
        if run is None or run.status:
            return execution
        history = self._history(notice, release)
        run = replace(run, transitions=history.transitions if history is not None else 0)
        current = self._run(execution)
        # A run that sets records aside (another version, a rerun) must not meet what the one before it says this late.
        same = current.version == run.version and current.why not in ("retry", "rerun", "restore")
        if history is not None and run.own and same:
            at = _ended(notice, self.clock)
            record_run(
                self.store, execution, history, run=run, completed=False, at=at, now=self.clock(), late=True,
                approvals=self.approvals,
            )
            if not current.own:
                cut_short(self.store, execution, at)
        if execution.usage:
            execution = self.store.amend(execution, replace(execution, usage=self._usage(execution, run)))
        self.store.end_run(
            execution.tenant, execution.id, run.number, status=notice.status, ended_at=_ended(notice, self.clock),
            transitions=run.transitions,
        )
        return execution

    def _status_after(self, execution: Execution, notice: Notice, release: Release | None) -> Status | None:
        """What the end of the current run makes of the execution; None when it stays as it is."""
        result = _RESULT[notice.status]
        if execution.status in ("pending", "running"):
            if notice.status == "ABORTED" and notice.error == timeouts.ERROR:
                return "timed_out"
            if notice.status == "ABORTED":
                return parents_status(self.store, execution) or "cancelled"
            if notice.status == "FAILED" and _by_a_stopped_child(notice):
                return parents_status(self.store, execution) or result  # stopping a family may reach the children first
            return result
        if execution.status != "rolling_back":
            return None
        if notice.status == "ABORTED":
            # The undoing was stopped with it. (A run that is stopped to be undone is not the current one any more.)
            return "cancelled"
        if _undoes(release, notice):
            return "rolled_back" if notice.status == "SUCCEEDED" else result
        if notice.status == "TIMED_OUT":
            return "timed_out"
        # What is still to be undone is noted before the first undo, so one that broke off is told by it.
        return "failed" if execution.not_undone else "rolled_back"

    def _run(self, execution: Execution) -> Run:
        for run in self.store.runs(execution.tenant, execution.id):
            if run.number == execution.run:
                return run
        return Run(
            execution.run, execution.arn, execution.machine, execution.version, "start", execution.user, execution.started_at
        )

    def _to(self, execution: Execution, status: Status, reason: str, release: Release | None) -> Execution:
        after = changed_to(execution, status, now=self._now(execution), reason=reason, keep=retention(release))
        if status in FINAL:
            self._close_approvals(execution)
        execution = self.store.transition(execution, after, by=BY, reason=reason)
        if status in FINAL:
            sla.disarm(self.timers, execution)
        return execution

    def _close_approvals(self, execution: Execution) -> None:
        """Nobody waits any more for what was not answered."""
        if self.approvals is not None:
            self.approvals.cancel(execution.tenant, execution.id)

    def _stop(self, notice: Notice, cause: str) -> None:
        try:
            self.machines.stop(notice.arn, "Stopped", cause)
        except NotFoundError:
            return

    def _with_output(self, notice: Notice) -> Notice:
        try:
            return complete(notice, self.machines, with_output=True)
        except NotFoundError:
            return notice

    def _history(self, notice: Notice, release: Release | None) -> StepHistory | None:
        if release is None:
            return None
        try:
            return StepHistory.of(release["steps"], release["states"], history_of(notice.arn, release, self.machines.history))
        except NotFoundError:  # Step Functions forgets it after 90 days, and at once when the machine is deleted
            return None

    def _usage(self, execution: Execution, ended: Run) -> dict[str, float]:
        steps = [
            *self.store.steps(execution.tenant, execution.id), *self.store.earlier_steps(execution.tenant, execution.id)
        ]
        others = self.store.runs(execution.tenant, execution.id)
        transitions = ended.transitions + sum(run.transitions for run in others if run.number != ended.number)
        return prices.totals(steps, transitions)

    def _now(self, execution: Execution) -> int:
        return max(self.clock(), execution.changed_at)


def _by_a_stopped_child(notice: Notice) -> bool:
    """Whether what failed is a task that waited for an execution which was stopped: the cause is its description then."""
    cause = parsed(notice.cause)
    return isinstance(cause, Mapping) and cause.get("Status") == "ABORTED"


def _undoes(release: Release | None, notice: Notice) -> bool:
    """Whether the run is one of the machine that undoes what an execution did, or ends it."""
    return release is not None and any(
        same_machine(machine, notice.machine) for machine in (release.get("rollback", ""), release.get("ending", ""))
    )


def _may_tell(notice: Notice, release: Release | None, execution: Execution | None) -> bool:
    """Whether the state machine is one of what the notice names. An input that somebody wrote may name anything, such as
    an execution of another tenant.
    """
    known = [execution.machine] if execution is not None else []
    if release is not None:
        known += [release["machine"], release.get("rollback", ""), release.get("ending", "")]
    return any(same_machine(machine, notice.machine) for machine in known)


def _is_run_of(notice: Notice, execution: Execution) -> bool:
    return notice.arn == execution.arn or (not execution.arn and same_machine(execution.machine, notice.machine))


def _child(identity: Identity, parent: Parent) -> Child:
    return Child(identity.id, parent.step, parent.iteration, parent.attempt)


def _parent(value: Any) -> Parent | None:
    if not isinstance(value, Mapping) or not isinstance(value.get("execution"), str):
        return None
    iteration = value.get("iteration")
    numbers = iteration if isinstance(iteration, list) and all(isinstance(each, int) for each in iteration) else []
    attempt = value.get("attempt")
    return Parent(
        value["execution"], str(value.get("step") or ""), tuple(numbers), attempt if isinstance(attempt, int) else 0
    )


def _ended(notice: Notice, clock: Callable[[], int]) -> int:
    return notice.stopped_at if notice.stopped_at is not None else clock()


def _failure(history: StepHistory | None, notice: Notice) -> Failure:
    """Why a run ended as it did, with the step where that is known."""
    name, cause = notice.error, notice.cause
    if history is not None and history.error:
        name, cause = history.error, history.cause
    name, message = error_of(name, cause), message_of(cause)
    whole = notice.status in ("TIMED_OUT", "ABORTED")  # the run as such, whatever failed in it
    guilty = None if whole or history is None else history.culprit(name, message, blamed(cause))
    default = {"TIMED_OUT": "States.Timeout", "ABORTED": "Stopped"}.get(notice.status, "Failed")
    name = name or (guilty.error if guilty else "") or default
    if guilty is not None and guilty.message and (not message or message.startswith(_AROUND)):
        message = guilty.message
    message = message[:_MAX_MESSAGE]
    return Failure(name, message, guilty.step, guilty.iteration) if guilty else Failure(name, message)


def _tell(execution: Execution) -> None:
    """A log line with the metrics of an execution that has ended."""
    duration = (execution.finished_at or execution.changed_at) - execution.started_at
    observability.emit(
        {"Executions": (1, "Count"), "ExecutionDuration": (max(0, duration), "Milliseconds"),
         "ExecutionCost": (execution.usage.get("cost_usd", 0.0), "None")},
        {"workflow": execution.workflow, "status": execution.status},
        message=f"execution {execution.status}", tenant=execution.tenant, execution=execution.id, run=execution.run,
        error=execution.error.error if execution.error else "", usage=dict(execution.usage),
    )
