"""What another run of an execution does again, what it keeps, and why. Nothing is read or written here."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from aslant.executions.naming import without_part
from aslant.executions.records import Checkpoint, StepRecord
from aslant.releases import Release, StepFacts, dependents

ASKED = "it was asked for"
_SETTLED = "it failed, and the workflow went on after that"
UNDO = "undo "  # how the ids of steps begin that undo another one
_STANDS = "; its undo failed, so what it did still stands"
_OF_ROLLBACK = "a rollback did it, and what follows is undone anew"

# Steps that change nothing outside of their execution: that they run again is of no matter.
_HARMLESS = frozenset({
    "transform", "choice", "wait", "parallel", "foreach", "aggregate", "scrape", "approval", "workflow", "compensate",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step. `action` is kept, re-runs, computed again (by the state machine itself, from what was kept) or gone (the
    version has no such step any more). Steps of a sub-workflow are labelled `call > step`.

    `repeats`: it acts on the world outside, and has done so before. `discards`: it had completed, or had its answer, and that
    does not count any more; or it acts again though what it did could not be undone.
    """

    label: str
    type: str
    action: str
    why: str
    repeats: bool = False
    discards: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run for `what` (resume, retry, restore, rerun) on `version` would do with what is recorded."""

    what: str
    version: str
    steps: tuple[PlannedStep, ...]

    @property
    def discards(self) -> bool:
        """Whether it throws away what is done: whoever wants that is asked first."""
        return any(step.discards for step in self.steps)

    @property
    def again(self) -> tuple[PlannedStep, ...]:
        return tuple(step for step in self.steps if step.action == "re-runs")


def changed(old: Release, new: Release) -> dict[str, str]:
    """Steps of the old version whose results do not count in the new one, and why."""
    reasons = {}
    for step, facts in old["steps"].items():
        if step not in new["steps"]:
            reasons[step] = "the new version has no such step"
        elif new["steps"][step]["hash"] != facts["hash"]:
            reasons[step] = "its definition has changed"
    return reasons | spread(new["steps"], {step: why for step, why in reasons.items() if step in new["steps"]})


def again_from(release: Release, step: str) -> dict[str, str]:
    """A step that is to run again, what is inside of it, and what depends on any of it."""
    reasons = {step: ASKED}
    stack = [step]
    while stack:
        inside = stack.pop()
        for inner in (release["steps"][inside].get("children", ()) if inside in release["steps"] else ()):
            if inner not in reasons:
                reasons[inner] = f"it is inside of {step}"
                stack.append(inner)
    return spread(release["steps"], reasons)


def spread(steps: Mapping[str, StepFacts], reasons: Mapping[str, str]) -> dict[str, str]:
    """The steps of `reasons` and their dependents."""
    found = dict(reasons)
    for step in sorted(reasons):
        for dependent in sorted(dependents(steps, {step})):
            found.setdefault(dependent, f"it depends on {step}")
    return found


def owner(step: str, known: Collection[str]) -> str:
    """The step among `known` that a record belongs to: the values that it begins with, what undoes it, a step of that. The
    id itself where it is none of them.
    """
    name = step if step in known else without_part(step)
    if name in known or not name.startswith(UNDO):
        return name
    undone = name.removeprefix(UNDO)
    while undone not in known and ": " in undone:
        undone = undone.rpartition(": ")[0]
    return undone if undone in known else name


@dataclass(frozen=True, slots=True)
class Aside:
    """Which records do not count any more: by step, by label, or because they are not part of a checkpoint. `own` are the
    ids of the version's steps; `rolled` says that what other steps did, those of a rollback, does not count either.
    """

    steps: Mapping[str, str]
    labels: Mapping[str, str]
    checkpoint: Checkpoint | None = None
    own: Collection[str] = ()
    rolled: bool = False

    def why(self, record: StepRecord) -> str | None:
        """Why a record is set aside, or None."""
        why = self.why_step(record.step, record.iteration)
        if why is not None:
            return why
        point = self.checkpoint
        if point is None or (record.status == "completed" and not record.native and record.label in point.steps):
            return None
        if record.status == "failed" and (record.finished_at or 0) <= point.at:
            return None  # it had failed by then as well
        if record.native and (record.finished_at or point.at + 1) <= point.at:
            return None
        return f"it ended after checkpoint {point.number}"

    def why_step(self, step: str, iteration: tuple[int, ...]) -> str | None:
        """Why a step's children and approvals do not count any more, or None; a checkpoint decides by time instead."""
        plain = owner(step, self.own or self.steps)
        label = plain + "".join(f"[{index}]" for index in iteration)
        of_rollback = self.rolled and plain not in self.own
        return self.steps.get(plain) or self.labels.get(label) or (_OF_ROLLBACK if of_rollback else None)

    @property
    def empty(self) -> bool:
        return not self.steps and not self.labels and self.checkpoint is None and not self.rolled


def planned(
    what: str, release: Release, records: Iterable[StepRecord], aside: Aside, *, within: str = "",
    answered: Collection[tuple[str, tuple[int, ...]]] = (),
) -> Plan:
    """The plan of a run that sets `aside` aside and goes on with `release`. `within` stands before the labels: of a
    sub-workflow's steps the one that calls it. `answered` are the approvals that were answered while nobody listened.

    A step that was asked for is in it whether it has a record or not; others that never began are not, nor are those
    that the compiler made.
    """
    facts = release["steps"]
    hidden = {step for step, fact in facts.items() if fact.get("hidden")}
    steps = []
    seen = set()
    records = tuple(records)
    stands = {
        (owner(record.step, facts), record.iteration) for record in records
        if record.status == "failed" and record.step.startswith(UNDO) and record.step not in facts
    }
    for record in sorted(records, key=lambda record: (record.begun_at or record.started_at, record.label)):
        if owner(record.step, facts) != record.step or record.step in hidden:
            continue
        seen.add(record.step)
        why = aside.why(record)
        if why == _OF_ROLLBACK:
            continue
        if why is None:
            action, why = _native(record, (record.step, record.iteration) in answered) if record.native else _own(record)
        else:
            action = "re-runs"
        if not action:
            continue
        if record.native and record.type == "approval" and action == "re-runs":
            why += "; it is asked again"
        if action == "re-runs" and record.step not in facts:
            action = "gone"
        repeats = action == "re-runs" and not record.native and record.type not in _HARMLESS
        twice = action == "re-runs" and (record.step, record.iteration) in stands
        why += _STANDS if twice else ""
        done = record.status == "completed" and (not record.native or record.type == "approval")
        discards = twice or (done and action in ("re-runs", "gone"))
        steps.append(PlannedStep(within + record.label, record.type, action, why, repeats, discards))
    asked = [step for step, why in aside.steps.items() if why == ASKED and step not in seen and step in facts]
    steps += [PlannedStep(within + step, facts[step]["type"], "re-runs", ASKED) for step in asked]
    return Plan(what, release["version"], tuple(steps))


def _own(record: StepRecord) -> tuple[str, str]:
    """What becomes of a record of a step's function that still counts, and why."""
    if record.status in ("completed", "skipped"):
        return "kept", "its result is recorded"
    if record.settled:
        return "kept", _SETTLED
    return "re-runs", "it failed" if record.status == "failed" else "it had not ended"


def _native(record: StepRecord, answered: bool) -> tuple[str, str]:
    """The same of a step that the state machine itself takes; no action for one that was skipped."""
    if record.status == "skipped":
        return "", ""
    if record.status == "failed":
        return ("kept", _SETTLED) if record.settled else ("re-runs", "it failed")
    ended = record.status == "completed"
    if record.type == "approval":
        return "kept", "its answer is recorded" if ended or answered else "its request stays open"
    if record.type == "wait":
        return "kept", "its time is over" if ended else "it waits until the same moment"
    if record.type == "workflow":
        return ("kept", "its steps are recorded") if ended else ("re-runs", "it had not ended")
    return "computed again", "the state machine takes it again, from the same results"
