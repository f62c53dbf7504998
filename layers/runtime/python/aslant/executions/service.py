"""Executions from start to end: what a caller can ask for. Every call is safe to repeat, also after a crash in its midst."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from aslant import inputs
from aslant.contracts import LARGEST_INPUT, MAX_INPUT, Json
from aslant.errors import ConflictError, InvalidInput, NotFoundError, PayloadTooLarge, ValidationError
from aslant.executions import checkpoints, states
from aslant.executions.again import Again, Wish, unchanged
from aslant.executions.endings import Endings
from aslant.executions.family import ApprovalControl, Family, changed_to, parents_status, retention
from aslant.executions.launch import Fit, Launcher
from aslant.executions.listing import listed
from aslant.executions.naming import arn_of, body_hash, is_id, keyed_id, run_name
from aslant.executions.plan import Plan
from aslant.executions.records import Checkpoint, Execution, Page, Run, StepRecord, Transition
from aslant.executions.store import ExecutionStore
from aslant.ports import Machines, Releases
from aslant.releases import Release
from aslant.values import size, well_formed

_TRIES = 10       # times that a change is tried again because somebody else was faster


def new_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True)
class Executions:
    """The executions of one installation. `clock` gives epoch milliseconds.

    All raise NotFoundError for an id that the tenant does not have, and InvalidTransition for what the status does not
    allow. A call that finds its work done gives the execution as it is. What changes an execution takes the `revision` that
    its caller has seen, and raises PreconditionFailed when there is another one by now.
    """

    store: ExecutionStore
    machines: Machines
    releases: Releases
    clock: Callable[[], int]
    approvals: ApprovalControl | None = None
    # Told of a new execution before it starts (a timer for its time limit, say); called again when a start is repeated.
    on_start: Callable[[Execution, Release], None] | None = None
    # Raises RateLimited for a start that has no place: of a release, by a tenant and user, with its id, trigger and options.
    admit: Callable[[Release, str, str, str, Mapping[str, Json]], None] | None = None
    # Told of an execution that was cancelled; called again when that is repeated.
    on_end: Callable[[Execution], None] | None = None
    # Brings a record to the end that its run has come to: what a notice of Step Functions leads to, if one got lost.
    record_end: Callable[[Execution, Mapping[str, Json]], object] | None = None
    # Makes large inputs small enough for a machine; without, an execution takes what a machine takes.
    fit: Fit | None = None
    new_id: Callable[[], str] = new_id

    def start(
        self, tenant: str, workflow: str, input: Json, *, user: str, version: str | None = None, key: str | None = None,
        context: Mapping[str, Json] | None = None, trigger: Mapping[str, Json] | None = None,
        labels: Mapping[str, str] | None = None, options: Mapping[str, Json] | None = None,
    ) -> Execution:
        """A new execution of a version, or of the published one.

        With `key` it is the same execution however often it is asked for; ConflictError when the key came with something
        else. Raises InvalidInput or PayloadTooLarge for the input, RateLimited when too much runs; nothing is stored then.
        """
        release = self.releases.get(tenant, workflow, version)
        try:
            given = well_formed({"input": input, "context": dict(context or {})})
            length = size(given)
        except (ValueError, TypeError) as error:
            raise ValidationError(f"the input is not JSON: {error}") from None
        most = MAX_INPUT if self.fit is None else LARGEST_INPUT
        if length > most:
            raise PayloadTooLarge(f"the input has {length:,} bytes of JSON; an execution takes {most:,} at most")
        complete, problems = inputs.prepare(release.get("inputs"), given["input"])
        if problems:
            raise InvalidInput([(one.pointer, one.message) for one in problems])
        asked = body_hash({
            **given, "workflow": workflow, "version": version, "labels": dict(labels or {}),
            **({"options": dict(options)} if options else {}),
        })  # fmt: skip
        id, now = keyed_id(tenant, key) if key is not None else self.new_id(), self.clock()
        arn = arn_of(release["machine"], run_name(id, 1))
        if self.admit is not None and (key is None or self.store.read(tenant, id) is None):
            self.admit(release, tenant, user, id, {**(trigger or {}), **(options or {})})
        sla = release["settings"].get("sla")
        execution = Execution(
            tenant=tenant, id=id, workflow=workflow, version=release["version"], status="running", revision=0, run=1,
            machine=release["machine"], arn=arn, user=user, started_at=now, changed_at=now, input_hash=asked,
            trigger=dict(trigger or {}), labels=dict(labels or {}), sla_due=now + round(sla * 1000) if sla else None,
            options=dict(options or {}),
        )  # fmt: skip
        run = Run(1, arn, release["machine"], release["version"], "start", user, now)
        given = {**given, "input": complete}
        if self.fit is not None:
            self.fit(execution, execution.version, given)  # what no machine can take is not stored
        created, found = self.store.create(execution, given, run)
        if not created and found.input_hash != asked:
            raise ConflictError("this key was used for another start already")
        if self.on_start is not None and found.status == "running" and found.run == 1:
            self.on_start(found, release)
        if not created:
            return self._heal(found)
        return self._launcher.launch(found, run, given)

    def get(self, tenant: str, id: str) -> Execution:
        execution = self.store.read(tenant, id) if is_id(id) else None
        if execution is None:
            raise NotFoundError("there is no such execution")
        return execution

    def input(self, tenant: str, id: str) -> Json:
        """What it was started with, defaults filled in."""
        return self.store.input(tenant, self.get(tenant, id).id)["input"]

    def output(self, tenant: str, id: str) -> Json:
        """What it completed with; null until then."""
        execution = self.get(tenant, id)
        return self.store.output(tenant, id) if execution.status == "completed" else None

    def steps(self, tenant: str, id: str, outputs: bool = False) -> tuple[StepRecord, ...]:
        return self.store.steps(tenant, self.get(tenant, id).id, outputs=outputs)

    def transitions(self, tenant: str, id: str) -> tuple[Transition, ...]:
        return self.store.transitions(tenant, self.get(tenant, id).id)

    def runs(self, tenant: str, id: str) -> tuple[Run, ...]:
        return self.store.runs(tenant, self.get(tenant, id).id)

    def children(self, tenant: str, id: str) -> tuple[Execution, ...]:
        """Executions that its steps started, the oldest first."""
        noted = self.store.children(tenant, self.get(tenant, id).id)
        found = [self.store.read(tenant, child.id) for child in noted]
        return tuple(sorted((one for one in found if one is not None), key=lambda one: (one.started_at, one.id)))

    def list(
        self, tenant: str, *, workflow: str | None = None, status: str | None = None, limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """The newest first. `limit` is 1 to 1,000; `cursor` is `Page.next` of the same list. Raises ValidationError."""
        return listed(self.store, tenant, workflow=workflow, status=status, limit=limit, cursor=cursor)

    def pause(self, tenant: str, id: str, *, by: str, reason: str = "", revision: int | None = None) -> Execution:
        """Stops the run; steps in flight may finish, and their results count. Children are paused with it."""
        execution = self._become(tenant, id, "paused", by, reason, revision, alone=False)
        self._family.halt(execution, "paused", by=by)
        return execution

    def cancel(
        self, tenant: str, id: str, *, by: str, reason: str = "", compensate: bool = False, revision: int | None = None
    ) -> Execution:
        """Ends it together with its children and pending approvals; `compensate` starts the rollback then.

        What stands in `finally` runs once, of children too. That changes no status.
        """
        execution = self._seen(tenant, id, revision)
        if compensate and execution.status in ("rolling_back", "rolled_back"):
            return self._heal(execution)
        if compensate:
            self._again.refuse_child(execution, "rollback")
        execution = self._become(tenant, id, "cancelled", by, reason, revision, alone=True)
        endings = self._endings
        if endings.of(execution) is None:
            self._family.halt(execution, "cancelled", by=by)
        if self.on_end is not None:
            self.on_end(execution)
        endings.end_children(execution, by)
        if compensate and endings.can_undo(execution):
            return self.rollback(tenant, id, by=by)
        execution = endings.end(execution, by)
        return self.rollback(tenant, id, by=by) if compensate else execution

    def resume(
        self, tenant: str, id: str, *, by: str, version: str | None = None, revision: int | None = None
    ) -> Execution:
        """Goes on with a paused one by replay, on its own version or another."""
        return self._again.go(self._seen(tenant, id, revision), Wish("resume", by, version), revision)

    def retry(
        self, tenant: str, id: str, *, by: str, version: str | None = None, revision: int | None = None
    ) -> Execution:
        """Goes on with one that failed, timed out, was cancelled or rolled back: what completed and was not undone is kept."""
        return self._again.go(self._seen(tenant, id, revision), Wish("retry", by, version), revision)

    def restore(self, tenant: str, id: str, number: int, *, by: str, revision: int | None = None) -> Execution:
        """Goes on from a checkpoint: what ended after it runs again. Raises ConflictError when the records are not those
        that it was taken of.
        """
        found = self.read_checkpoint(tenant, id, number)
        return self._again.go(self._seen(tenant, id, revision), Wish("restore", by, None, str(found.number)), revision)

    def rerun(
        self, tenant: str, id: str, step: str, *, by: str, version: str | None = None, revision: int | None = None
    ) -> Execution:
        """Runs a step and everything that depends on it again, as `version` has them; its own without."""
        return self._again.go(self._seen(tenant, id, revision), Wish("rerun", by, version, step), revision)

    def plan(
        self, tenant: str, id: str, what: str, *, version: str | None = None, checkpoint: int | None = None,
        step: str | None = None,
    ) -> Plan:
        """What resume, retry, restore (of `checkpoint`) or rerun (of `step`) would do. Changes nothing."""
        if what not in ("resume", "retry", "restore", "rerun"):
            raise ValidationError("there are plans for resume, retry, restore and rerun")
        execution = self.get(tenant, id)
        if what == "restore" and checkpoint is None or what == "rerun" and step is None:
            raise ValidationError("restore needs the number of a checkpoint, rerun the id of a step")
        detail = str(checkpoint) if what == "restore" else step or "" if what == "rerun" else ""
        if what == "restore" and checkpoint is not None:
            self.read_checkpoint(tenant, id, checkpoint)
        return self._again.plan(execution, Wish(what, "", version, detail))

    def rollback(self, tenant: str, id: str, *, by: str, revision: int | None = None) -> Execution:
        """Starts the undoing of what completed, on one that is paused, failed, timed out or was cancelled.

        Children that were stopped half way end as cancelled, and what they did is undone first.
        """
        for _ in range(_TRIES):
            execution = self._seen(tenant, id, revision)
            if execution.status in ("rolling_back", "rolled_back"):
                return self._heal(execution)
            self._again.refuse_child(execution, "rollback")
            rolling = self._endings.roll_back(execution, by=by)
            if rolling is not None:
                return rolling
        raise ConflictError(f"the execution {id} keeps changing")

    def checkpoint(self, tenant: str, id: str, *, by: str, label: str = "") -> Checkpoint:
        """A checkpoint of what has completed by now."""
        return self.take_checkpoint(self.get(tenant, id), reason="manual", by=by, label=label)

    def take_checkpoint(
        self, execution: Execution, *, reason: str, by: str, at: int | None = None, label: str = ""
    ) -> Checkpoint:
        """A checkpoint of what had completed by `at` (epoch microseconds; None is now), numbered after the last one."""
        tenant, id = execution.tenant, execution.id
        for _ in range(_TRIES):
            last = self.store.last_checkpoint(tenant, id)
            records = self.store.steps(tenant, id)
            # Functions have clocks of their own: now is not before anything that is recorded.
            now = max([self.clock() * 1000, *(record.finished_at or 0 for record in records)])
            taken = checkpoints.taken(
                records, number=last.number + 1 if last is not None else 1, at=now if at is None else at, reason=reason,
                by=by, run=execution.run, label=label,
            )  # fmt: skip
            if self.store.put_checkpoint(tenant, id, taken):
                return taken
        raise ConflictError(f"the checkpoints of the execution {id} keep changing")

    def checkpoints(self, tenant: str, id: str) -> tuple[Checkpoint, ...]:
        """By the moment that they are of. Numbers may stand otherwise: a policy's are written a little later."""
        found = self.store.checkpoints(tenant, self.get(tenant, id).id)
        return tuple(sorted(found, key=lambda one: (one.at, one.number)))

    def read_checkpoint(self, tenant: str, id: str, number: int) -> Checkpoint:
        for found in self.checkpoints(tenant, id):
            if found.number == number:
                return found
        raise NotFoundError(f"the execution has no checkpoint {number}")

    def delete_checkpoint(self, tenant: str, id: str, number: int) -> None:
        execution = self.get(tenant, id)
        if type(number) is not int or not 0 < number < 10**8 or not self.store.delete_checkpoint(tenant, execution.id, number):
            raise NotFoundError(f"the execution has no checkpoint {number}")

    def reconcile(self, tenant: str, id: str) -> Execution:
        """Finishes whatever a crash left half done, of this service or of the engine; the execution as it is then."""
        return self._heal(self.get(tenant, id))

    def _heal(self, execution: Execution) -> Execution:
        if execution.preparing:
            claim = execution.preparing
            wish = Wish(str(claim["why"]), str(claim["by"]), claim.get("version"), str(claim.get("detail", "")))
            return self._again.go(execution, wish)
        endings = self._endings
        if execution.status in ("paused", "cancelled"):
            by = self.store.transitions(execution.tenant, execution.id)[-1].by
            if execution.status == "paused" and parents_status(self.store, execution) == "cancelled":
                execution = self._family.call_off_child(execution, by=by)
            if endings.of(execution) is None:
                self._family.halt(execution, "paused" if execution.status == "paused" else "cancelled", by=by)
            execution = endings.told(execution)
            if execution.status == "paused":
                return execution
            endings.end_children(execution, by)
            return endings.end(execution, by)
        if execution.status not in states.ACTIVE:
            return execution
        run = self._family.run_of(execution)
        if run is None:
            return execution
        parent = self.store.read(execution.tenant, execution.parent.execution) if execution.parent is not None else None
        if run.own and parent is not None and parent.status not in states.FINAL - {"cancelled"}:
            # It goes with its parent: that one stops it, or starts it again. (A rollback that was asked for goes by itself.)
            if parent.status in ("paused", "cancelled") and not parent.preparing:
                self._heal(parent)
                if parents_status(self.store, execution) == "cancelled":  # the parent has come to its `finally`
                    return self._family.call_off_child(execution, by=self.store.transitions(parent.tenant, parent.id)[-1].by)
            return self.get(execution.tenant, execution.id)
        try:
            described = self.machines.describe(execution.arn)
        except NotFoundError:
            if execution.status == "running" and self._began(execution):
                return self._again.go(execution, Wish("recover", run.by, None, str(run.number)))
            if execution.status == "rolling_back" and run.why != "rollback":
                # What its machine has begun to undo after a failure must not be done again: the failure stands.
                self.store.settle(execution.tenant, execution.id, [
                    step for step in self.store.steps(execution.tenant, execution.id)
                    if step.status == "failed" and not step.settled
                ])  # fmt: skip
            if run.why == "rollback":
                return endings.undo(execution, run)
            return self._launcher.launch(execution, run)
        return endings.noted(execution, described)

    def _began(self, execution: Execution) -> bool:
        """Whether a run that the engine has lost had begun. Waits and approvals show in its history only, if that is left."""
        if any(step.run == execution.run for step in self.store.steps(execution.tenant, execution.id)):
            return True
        try:
            return next(iter(self.machines.history(execution.arn)), None) is not None
        except NotFoundError:
            return False

    def _seen(self, tenant: str, id: str, revision: int | None) -> Execution:
        execution = self.get(tenant, id)
        unchanged(execution, revision)
        return execution

    def _become(
        self, tenant: str, id: str, status: states.Status, by: str, reason: str, revision: int | None, *, alone: bool
    ) -> Execution:
        for _ in range(_TRIES):
            execution = self._seen(tenant, id, revision)
            if execution.status == status:
                return execution
            doing = {"paused": "pause", "cancelled": "cancel"}[status]
            states.check(execution.status, status, doing)
            if not alone:
                self._again.refuse_child(execution, doing)
            keep = retention(self._family.release(execution))
            try:
                after = changed_to(execution, status, now=self.clock(), reason=reason, keep=keep)
                return self.store.transition(execution, after, by=by, reason=reason)
            except ConflictError:
                continue
        raise ConflictError(f"the execution {id} keeps changing")

    @property
    def _family(self) -> Family:
        return Family(self.store, self.machines, self.releases, self.clock, self.approvals)

    @property
    def _again(self) -> Again:
        return Again(self._family, self._launcher)

    @property
    def _endings(self) -> Endings:
        return Endings(self._family, self._launcher, self.record_end)

    @property
    def _launcher(self) -> Launcher:
        return Launcher(self.store, self.machines, self.clock, self.fit)
