"""Another run of the same execution, by replay: resume, retry, restore, rerun.

What does not count any more is set aside first, under a claim (`Execution.preparing`): whoever comes in between, or calls
after a crash, first goes on with what was begun. The run begins with the one transition that all of them try and one wins.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from aslant.contracts import MAX_PAYLOAD
from aslant.errors import ConflictError, InvalidTransition, NotFoundError, PreconditionFailed
from aslant.executions import checkpoints, replay
from aslant.executions.family import Family, changed_to
from aslant.executions.launch import Launcher
from aslant.executions.naming import arn_of, run_name
from aslant.executions.plan import Aside, Plan, PlannedStep, again_from, changed, planned, spread
from aslant.executions.records import Child, Execution, Run, StepRecord
from aslant.executions.states import FINAL, Status
from aslant.history.joined import history_of
from aslant.history.timeline import Timeline
from aslant.releases import Release
from aslant.values import size

Json = Any

_TRIES = 10
_FROM: Mapping[str, frozenset[Status]] = {
    "resume": frozenset({"paused"}),
    "retry": frozenset({"failed", "timed_out", "cancelled", "rolled_back"}),
    "restore": FINAL | {"paused"},
    "rerun": FINAL | {"paused"},
    "recover": frozenset({"running"}),  # the engine has lost the run
}
_RESERVE = 2_000  # bytes of a machine's input beyond what is counted here


class Wish(NamedTuple):
    """Which run is wanted. `detail` is the number of a checkpoint or the id of a step."""

    why: str
    by: str
    version: str | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Again:
    family: Family
    launcher: Launcher

    def go(self, execution: Execution, wish: Wish, revision: int | None = None) -> Execution:
        """Starts the run that is wished for. A run of the same wish that goes on already is the one.

        Raises PreconditionFailed when the execution has another `revision` by now.
        """
        for _ in range(_TRIES):
            unchanged(execution, revision)
            if execution.status == "running":
                run = self.family.run_of(execution)
                same = run is not None and self._is(run, wish)
                if run is not None and (same or wish.why != "recover") and self._lost(execution):
                    execution = self.launcher.launch(execution, run)  # whoever noted it got no further
                if same:
                    return execution
            self._check(execution, wish)
            started = self._start(execution, wish)
            if started is not None:
                return self.launcher.launch(*started)
            found = self.family.store.read(execution.tenant, execution.id)
            if found is None:
                raise NotFoundError("there is no such execution")
            execution = found
        raise ConflictError(f"the execution {execution.id} keeps changing")

    def plan(self, execution: Execution, wish: Wish) -> Plan:
        """What `go` would do. Raises as it does."""
        self._check(execution, wish)
        old, new = self._releases(execution, wish)
        records = self.family.store.steps(execution.tenant, execution.id)
        aside = self._aside(execution, wish, old, new, records)
        gone: set[replay.Place] = set()
        if replay.needs_history(old, records):
            gone = replay.passed(self._timeline(execution), old, execution.error)
        records = tuple(
            replace(one, settled=True) if one.status == "failed" and (one.step, one.iteration) in gone else one
            for one in records
        )
        found = planned(wish.why, new, records, aside, answered=self._answered(execution, records))
        return replace(found, steps=found.steps + self._plan_children(execution, wish.why, aside, new is not old))

    def _plan_children(
        self, execution: Execution, what: str, aside: Aside, another: bool, within: str = ""
    ) -> tuple[PlannedStep, ...]:
        """The same of the latest execution that each step started, as `_set_aside` goes about it."""
        latest: dict[replay.Place, tuple[Child, Execution]] = {}
        for child, found in sorted(self._children(execution), key=lambda pair: pair[0].attempt):
            latest[child.step, child.iteration] = child, found
        steps: tuple[PlannedStep, ...] = ()
        for child, found in latest.values():
            release = self.family.release(found)
            if release is None:
                continue
            label = child.step + "".join(f"[{index}]" for index in child.iteration)
            records = self.family.store.steps(found.tenant, found.id)
            point = aside.checkpoint
            if aside.why_step(child.step, child.iteration) is not None:
                inner = Aside(dict.fromkeys(release["steps"], f"it is inside of {label}"), {})
            else:
                late = filter(_later(point.at), records) if point is not None else ()
                labels = {one.label: f"it ended after checkpoint {point.number}" for one in late} if point is not None else {}
                inner = self._changes(found, release, another, labels)
            path = f"{within}{label} > "
            steps += planned(what, release, records, inner, within=path, answered=self._answered(found, records)).steps
            steps += self._plan_children(found, what, inner, another, path)
        return steps

    def _answered(self, execution: Execution, records: Iterable[StepRecord]) -> Collection[replay.Place]:
        """Approvals that were answered while the machine rested."""
        approvals = self.family.approvals
        if approvals is None or not any(one.type == "approval" and one.status == "running" for one in records):
            return ()
        return approvals.answered(execution.tenant, execution.id).keys()

    def _check(self, execution: Execution, wish: Wish) -> None:
        """Raises InvalidTransition where the run that is wished for cannot begin now."""
        if execution.status not in _FROM[wish.why]:
            possible = " or ".join(sorted(_FROM[wish.why]))
            hint = "; it is to be resumed" if execution.status == "paused" else ""
            raise InvalidTransition(
                f"{wish.why}: the execution is {execution.status}{hint}; this is for one that is {possible}"
            )
        self.refuse_child(execution, wish.why)

    def refuse_child(self, execution: Execution, doing: str) -> None:
        """Raises InvalidTransition for a child whose parent goes on or may: they go together."""
        if execution.parent is None:
            return
        parent = self.family.store.read(execution.tenant, execution.parent.execution)
        if parent is not None and (parent.status not in FINAL or parent.preparing):
            status = "about to go on" if parent.preparing else parent.status
            raise InvalidTransition(f"{doing}: the execution is a part of {parent.id}, which is {status}; do it there")

    def _start(self, execution: Execution, wish: Wish) -> tuple[Execution, Run] | None:
        """Prepares and notes the run; None when somebody else changed the execution meanwhile."""
        family = self.family
        old, new = self._releases(execution, wish)
        self._aside(execution, wish, old, new)  # says no before anything is touched
        family.halt(execution, "cancelled" if execution.status == "cancelled" else "paused", by=wish.by)
        if wish.why == "recover":  # the engine has lost its children with it
            for lost in (execution, *(child for _, child in family.descendants(execution))):
                release = family.release(lost)
                if release is not None and self._lost(lost):
                    family.note_run(lost, release, lost=True)
        claim = execution.preparing
        undoing = [child.id for _, child in family.descendants(execution) if child.status == "rolling_back"]
        if undoing and not claim:
            raise InvalidTransition(f"{wish.why}: a part of it, {undoing[0]}, is being rolled back; wait until that has ended")
        if claim and not self._same(claim, wish):
            before = Wish(str(claim["why"]), str(claim["by"]), claim.get("version"), str(claim["detail"]))
            # A claim whose checkpoint or version is gone stays as it is: what is left has all that it was made from.
            with contextlib.suppress(NotFoundError, ConflictError):
                versions = self._releases(execution, before)
                begun = self._aside(execution, before, *versions)
                self._set_aside(execution, begun, int(claim["run"]), versions[0] is not versions[1])
        number = int(claim["run"]) if claim else family.next_number(execution)
        aside = self._aside(execution, wish, old, new)
        another = new is not old
        if not aside.empty or any(another or child.undone or self._rolled(child) for _, child in family.descendants(execution)):
            if not claim or not self._same(claim, wish):
                fresh = {"run": number, "why": wish.why, "by": wish.by, "version": wish.version, "detail": wish.detail}
                try:
                    execution = family.store.amend(execution, replace(execution, preparing=fresh))
                except ConflictError:
                    return None
            self._set_aside(execution, aside, number, another)
        times, pending = self._replayed(execution, old, aside, number)
        now, machine = family.clock(), new["machine"]
        arn = arn_of(machine, run_name(execution.id, number))
        run = Run(number, arn, machine, new["version"], wish.why, wish.by, now, detail=wish.detail)
        after = replace(
            changed_to(execution, "running", now=now, reason=wish.why), run=number, arn=arn, machine=machine,
            version=new["version"], error=None, undone=(), not_undone=(),
        )
        given = self.launcher.input(after, run)
        run = replace(run, entered=replay.fitting(times, pending, MAX_PAYLOAD - _RESERVE - size(given)))
        try:
            return family.store.transition(execution, after, by=wish.by, reason=wish.why, run=run), run
        except ConflictError:
            return None

    def _releases(self, execution: Execution, wish: Wish) -> tuple[Release, Release]:
        """The version that it ran on, and the one to go on with."""
        old = self.family.release(execution)
        if old is None:  # started by hand: all that is known is the machine
            old = Release(
                workflow=execution.workflow, version=execution.version, hash="", machine=execution.machine, steps={},
                states={}, settings={},
            )  # fmt: skip
        if wish.version is None or wish.version == old["version"]:
            return old, old
        return old, self.family.releases.get(execution.tenant, execution.workflow, wish.version)

    def _aside(
        self, execution: Execution, wish: Wish, old: Release, new: Release, records: tuple[StepRecord, ...] | None = None
    ) -> Aside:
        """What does not count any more. The same again after a part of it was set aside."""
        steps: dict[str, str] = changed(old, new) if new is not old else {}
        steps |= _undone(execution, old)
        if wish.why == "rerun":
            if wish.detail not in old["steps"]:
                raise NotFoundError(f"the workflow has no step {wish.detail}")
            steps |= again_from(old, wish.detail)
        own, rolled = old["steps"], self._rolled(execution)
        if wish.why != "restore":
            return Aside(steps, {}, None, own, rolled)
        store = self.family.store
        found = [one for one in store.checkpoints(execution.tenant, execution.id) if str(one.number) == wish.detail]
        if not found:
            raise NotFoundError(f"the execution has no checkpoint {wish.detail}")
        checkpoints.verify(found[0], store.steps(execution.tenant, execution.id) if records is None else records)
        return Aside(steps, {}, found[0], own, rolled)

    def _set_aside(self, execution: Execution, aside: Aside, number: int, another: bool) -> None:
        """`another`: the run is one of another version, so children may be as well."""
        family, tenant = self.family, execution.tenant
        # Approvals and children first: as long as a step's own record is there, nothing of this is looked at.
        for child, found in self._children(execution):
            if aside.why_step(child.step, child.iteration) is not None:
                self._forget(found, number, lambda record: True, lambda at: True)
                for each in (found, *(inner for _, inner in family.descendants(found))):
                    if each.undone or each.not_undone:  # of what is forgotten: the next run does all of it again
                        family.store.amend(each, replace(each, undone=(), not_undone=()))
                continue
            if aside.checkpoint is not None:
                self._forget(found, number, _later(aside.checkpoint.at), _after(aside.checkpoint.at))
            self._redo(found, number, another)
        if family.approvals is not None:
            family.approvals.set_aside(tenant, execution.id, run=number, chosen=_approvals(aside))
        family.store.set_aside(tenant, execution.id, run=number, chosen=lambda record: aside.why(record) is not None)

    def _redo(self, child: Execution, number: int, another: bool) -> None:
        """What a child has undone of itself does not count any more, nor what its published version does otherwise."""
        release = self.family.release(child)
        aside = Aside({}, {}) if release is None else self._changes(child, release, another, {})
        self._set_aside(child, aside, number, another)
        self.family.store.amend(child, replace(child, undone=(), not_undone=()))

    def _changes(self, child: Execution, release: Release, another: bool, labels: Mapping[str, str]) -> Aside:
        steps = _undone(child, release)
        if another:
            with contextlib.suppress(NotFoundError):
                steps |= changed(release, self.family.releases.get(child.tenant, child.workflow))
        return Aside(steps, labels, None, release["steps"], bool(release.get("rollback")))

    def _rolled(self, execution: Execution) -> bool:
        """Whether there may be records of a rollback, of its own or by a parent."""
        store = self.family.store
        if any(one.after == "rolling_back" for one in store.transitions(execution.tenant, execution.id)):
            return True
        parent = store.read(execution.tenant, execution.parent.execution) if execution.parent is not None else None
        return parent is not None and self._rolled(parent)

    def _forget(
        self, execution: Execution, number: int, chosen: Callable[[StepRecord], bool], since: Callable[[int], bool]
    ) -> None:
        """Sets aside what a child did, and its children."""
        family, tenant = self.family, execution.tenant
        for _, found in self._children(execution):
            self._forget(found, number, chosen, since)
        if family.approvals is not None:
            family.approvals.set_aside(tenant, execution.id, run=number, chosen=lambda step, iteration, at: since(at))
        family.store.set_aside(tenant, execution.id, run=number, chosen=chosen)

    def _children(self, execution: Execution) -> list[tuple[Child, Execution]]:
        store = self.family.store
        noted = store.children(execution.tenant, execution.id)
        return [(child, found) for child in noted if (found := store.read(execution.tenant, child.id)) is not None]

    def _replayed(
        self, execution: Execution, release: Release, aside: Aside, number: int
    ) -> tuple[dict[str, int], set[str]]:
        """Settles failures that the run went on after; when waits and approvals began, and which have not ended.

        What has ended the execution is asked anew: a refusal would end it at once again.
        """
        before = self._latest(execution)
        times: dict[str, int] = dict(before.entered) if before is not None else {}
        pending: set[str] = set()
        lost: dict[str, set[replay.Place]] = {}
        self._read(execution, release, times, pending, lost)
        for id, places in lost.items() if execution.status in FINAL else ():
            times = {name: at for name, at in times.items() if not _of_places(name, id, places)}
            if self.family.approvals is not None:
                self.family.approvals.set_aside(
                    execution.tenant, id, run=number, asked_before=execution.finished_at, chosen=_about(places)
                )
        dropped = {
            name for name in times
            if name.startswith(f"{execution.id}/") and not _still(aside, name.removeprefix(f"{execution.id}/"), times[name])
        }
        for child, found in self._children(execution):
            if aside.why_step(child.step, child.iteration) is not None:
                dropped |= self._names(found, times)
        if aside.checkpoint is not None:
            dropped |= {name for name, at in times.items() if at * 1000 > aside.checkpoint.at}
        return {name: at for name, at in times.items() if name not in dropped}, pending

    def _read(
        self, execution: Execution, release: Release | None, times: dict[str, int], pending: set[str],
        lost: dict[str, set[replay.Place]],
    ) -> None:
        """What the last run of an execution and of its children says; into `lost` what failed for good, by execution."""
        family, tenant = self.family, execution.tenant
        records = family.store.steps(tenant, execution.id)
        children = self._children(execution)
        gone: set[replay.Place] = set()
        if release is not None and (children or replay.needs_history(release, records)):
            timeline = self._timeline(execution)
            gone = replay.passed(timeline, release, execution.error)
            family.store.settle(tenant, execution.id, [
                record for record in records
                if record.status == "failed" and not record.settled and (record.step, record.iteration) in gone
            ])  # fmt: skip
            lost[execution.id] = {
                (record.step, record.iteration) for record in records if record.status == "failed" and not record.settled
            } - gone
            found, open_ones, anew = replay.entered(timeline, release, execution)
            times |= {name: at for name, at in found.items() if name in anew or name not in times}
            pending |= open_ones
        for child, record in children:
            later = any(
                other.attempt > child.attempt and (other.step, other.iteration) == (child.step, child.iteration)
                for other, _ in children
            )
            if record.status in ("failed", "timed_out", "cancelled") and (later or (child.step, child.iteration) in gone):
                self._settle_all(record)
            self._read(record, family.release(record), times, pending, lost)

    def _settle_all(self, execution: Execution) -> None:
        """A child that failed and that its parent went on after fails the same way again."""
        store = self.family.store
        store.settle(execution.tenant, execution.id, [
            record for record in store.steps(execution.tenant, execution.id)
            if record.status == "failed" and not record.settled
        ])  # fmt: skip
        for _, found in self._children(execution):
            if found.status == "failed":
                self._settle_all(found)

    def _timeline(self, execution: Execution) -> Timeline:
        latest = self._latest(execution)
        arn, release = latest.arn if latest is not None else execution.arn, self.family.release(execution)
        history = self.family.machines.history
        try:
            return Timeline.from_events(history(arn) if release is None else history_of(arn, release, history))
        except NotFoundError:
            return Timeline()

    def _latest(self, execution: Execution) -> Run | None:
        """The latest run of the workflow itself: a rollback's machine has other states."""
        runs = self.family.store.runs(execution.tenant, execution.id)
        return next((run for run in reversed(runs) if run.own and run.number <= execution.run), None)

    def _names(self, execution: Execution, times: Mapping[str, int]) -> set[str]:
        found = {name for name in times if name.startswith(f"{execution.id}/")}
        for _, child in self._children(execution):
            found |= self._names(child, times)
        return found

    def _lost(self, execution: Execution) -> bool:
        """Whether the engine does not know the run."""
        try:
            self.family.machines.describe(execution.arn)
        except NotFoundError:
            return True
        return False

    @staticmethod
    def _is(run: Run, wish: Wish) -> bool:
        return (run.why, run.detail) == (wish.why, wish.detail) and wish.version in (None, run.version)

    @staticmethod
    def _same(claim: Mapping[str, Json], wish: Wish) -> bool:
        return (claim["why"], claim.get("version"), claim["detail"]) == (wish.why, wish.version, wish.detail)


def unchanged(execution: Execution, revision: int | None) -> None:
    """Raises PreconditionFailed when somebody has seen another revision of it."""
    if revision is not None and revision != execution.revision:
        raise PreconditionFailed(f"the execution has changed meanwhile: its revision is {execution.revision}")


def _undone(execution: Execution, release: Release) -> dict[str, str]:
    """Steps that a rollback has undone, and those that depend on them."""
    undone = {label.partition("[")[0] for label in execution.undone}
    return spread(release["steps"], {step: "it was undone" for step in undone if step in release["steps"]})


def _later(at: int) -> Callable[[StepRecord], bool]:
    """Records that had not ended by `at` (epoch microseconds)."""
    return lambda record: record.finished_at is None or record.finished_at > at


def _after(at: int) -> Callable[[int], bool]:
    """Moments (epoch milliseconds) after `at` (epoch microseconds)."""
    return lambda moment: moment * 1000 > at


def _approvals(aside: Aside) -> Callable[[str, tuple[int, ...], int], bool]:
    def chosen(step: str, iteration: tuple[int, ...], at: int) -> bool:
        if aside.why_step(replay.asked_about(step), iteration) is not None:
            return True
        return aside.checkpoint is not None and at * 1000 > aside.checkpoint.at

    return chosen


def _about(places: set[replay.Place]) -> Callable[[str, tuple[int, ...], int], bool]:
    return lambda step, iteration, at: (replay.asked_about(step), iteration) in places


def _of_places(name: str, id: str, places: set[replay.Place]) -> bool:
    """Whether an entry of `entered` is about one of the places in an execution."""
    return name.startswith(f"{id}/") and replay.place_named(name.removeprefix(f"{id}/")) in places


def _still(aside: Aside, label: str, at: int) -> bool:
    """Whether a wait that began at `at` still counts."""
    step, _ = replay.place_named(label)
    return step not in aside.steps and label not in aside.labels
