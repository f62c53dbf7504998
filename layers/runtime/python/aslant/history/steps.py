"""From the visits of states to what became of each step, by the facts of a release.

What the history knows and no step function wrote: choices, waits, containers, natively computed steps, steps that were
skipped, and failures that happened before or after a function ran.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

from aslant.history.engine_words import plainly
from aslant.history.timeline import StateVisit, Timeline
from aslant.releases import StateFacts, StepFacts

SeenStatus = Literal["not_started", "running", "completed", "failed", "skipped", "cancelled"]

_STATUS: Mapping[str, SeenStatus] = {
    "running": "running", "succeeded": "completed", "caught": "failed", "failed": "failed", "timed_out": "failed",
    "aborted": "cancelled",
}
_UNNAMED = {"TIMED_OUT": "States.Timeout", "ABORTED": "Cancelled"}  # what a child without an error ended with
LAPSED = ("ApprovalExpired", "nobody answered in time")  # what an approval fails with that the workflow goes on after
_SILENT = frozenset({"condition", "fork", "join", "bind", "end"})  # roles that say nothing about how their step ended
HOLDERS = frozenset({"parallel", "foreach"})  # what a failure inside of them says more than


@dataclass(slots=True)
class SeenStep:
    """One step in one iteration as its states tell it. `attempts` counts the first one too.

    `settled` says that the workflow went on after a failure. `outcome` is what a choice chose, `output` what the state
    machine itself computed, if that can be told.
    """

    step: str
    type: str
    iteration: tuple[int, ...] = ()
    status: SeenStatus = "not_started"
    started: datetime | None = None
    ended: datetime | None = None
    attempts: int = 0
    retried: datetime | None = None
    retrying: bool = False
    settled: bool = False
    asked: bool = False  # people are being asked about its failure
    error: str = ""
    message: str = ""
    outcome: str = ""
    output: Any = None
    told: int = 0  # the number of the latest event that says how it is


class Failed(Protocol):
    """What `culprit` looks at."""

    step: str
    type: str
    iteration: tuple[int, ...]
    error: str
    message: str


FailedT = TypeVar("FailedT", bound=Failed)


def culprit(failures: Sequence[FailedT], error: str | None, message: str, step: str = "") -> FailedT | None:
    """The failure that ended an execution with `error`: the last one that failed so, or failed at all.

    A step inside of a parallel or a loop says more than the one around it. Of several that failed at once, the one of
    `step` (see `blamed`) or with the execution's own message is meant; of several iterations, the one that failed first.
    """
    fitting = [one for one in failures if one.error == error] or list(failures)
    inner = [one for one in fitting if one.type not in HOLDERS] or fitting
    inner = [one for one in inner if one.step == step] or inner
    same = [one for one in inner if one.message == message] or inner
    return next((one for one in same if one.step == same[-1].step), None)


def inner_first(visits: Iterable[StateVisit]) -> list[StateVisit]:
    """Visits that one event has changed: those inside of others say why."""
    return sorted(visits, key=lambda visit: -len(visit.path))


def inside_of(failures: Iterable[FailedT], around: FailedT, children: Callable[[str], Iterable[str]]) -> FailedT | None:
    """The first failure inside of a parallel or a loop: what that failed with, where the engine says so only further out.

    `children` gives the steps directly inside of a step.
    """
    inside: set[str] = set()
    stack = [around.step]
    while stack:
        inner = [*children(stack.pop())]
        inside.update(inner)
        stack.extend(inner)
    depth = len(around.iteration)
    return next((
        one for one in failures
        if one.step in inside and one.type not in HOLDERS and one.error and one.iteration[:depth] == around.iteration
    ), None)


def message_of(cause: str | None) -> str:
    """The text for people in a cause: Lambda's `errorMessage`, or the cause itself. Of several failures it is the first
    one's, with the steps of the others.
    """
    errors = _collected(cause or "")
    if errors:
        return _summary(errors)
    try:
        data = json.loads(cause or "")
    except (ValueError, RecursionError):
        return plainly(cause or "")
    if isinstance(data, dict):
        if data.get("approved") is False:  # the decision on an approval
            comment = f": {data['comment']}" if data.get("comment") else ""
            return f"rejected by {data.get('by')}{comment}"
        for key in ("errorMessage", "message", "Cause"):
            if isinstance(data.get(key), str):
                return message_of(data[key])
    return cause or ""


def blamed(cause: str | None) -> str:
    """The step whose failure comes first in the cause of a parallel that collected those of its branches; or nothing."""
    errors = _collected(cause or "")
    return str(errors[0].get("step") or "") if errors else ""


def _collected(cause: str) -> list[Mapping[str, Any]]:
    """The failures that a parallel gathered before it failed itself. A cause may have been cut: the first one counts then."""
    if not cause.startswith('[{"error"'):
        return []
    try:
        errors = json.loads(cause)
    except (ValueError, RecursionError):
        try:
            errors = [json.JSONDecoder().raw_decode(cause, 1)[0]]
        except (ValueError, RecursionError):
            return []
    return [error for error in errors if isinstance(error, dict) and "error" in error]


def _summary(errors: Sequence[Mapping[str, Any]]) -> str:
    message = message_of(str(errors[0].get("message") or ""))
    others = [str(error.get("step") or error["error"]) for error in errors[1:]]
    return f"{message} ({', '.join(others)} failed too)" if others else message


def error_of(error: str | None, cause: str | None) -> str:
    """The name that a definition knows an error by: a child's own one, and one for expressions whoever evaluated them."""
    if error == "States.TaskFailed":
        try:
            data = json.loads(cause or "")
        except (ValueError, RecursionError):
            return error
        if isinstance(data, dict) and "ExecutionArn" in data:
            if isinstance(data.get("Error"), str):
                return error_of(data["Error"], data.get("Cause"))
            if data.get("Status") in _UNNAMED:
                return _UNNAMED[data["Status"]]
    return "ExpressionError" if error == "States.QueryEvaluationError" else error or ""


def says_nothing(visit: StateVisit, role: str) -> bool:
    """Whether a visit does not tell how its step ended. An expression that fails, of `when` for one, is the step's failure,
    whether the machine itself or a function evaluates it.
    """
    if role not in _SILENT:
        return False
    if visit.status == "failed" and visit.type in ("Choice", "Pass", "Wait"):
        return False
    return not (role == "condition" and visit.type == "Task" and visit.status in ("caught", "failed", "timed_out"))


def failed_branch(visit: StateVisit) -> Mapping[str, str] | None:
    """`error` and `message` of a parallel whose state let all branches end, and so succeeded whatever they came to."""
    output = visit.left.get("output") if visit.status == "succeeded" and visit.left is not None else None
    if not isinstance(output, str) or '"failed"' not in output:
        return None
    try:
        branches = json.loads(output)
    except (ValueError, RecursionError):
        return None
    errors = [branch.get("failed") for branch in branches if isinstance(branch, dict)] if isinstance(branches, list) else []
    found = [error for error in errors if isinstance(error, dict) and "error" in error]
    return {"error": str(found[0]["error"]), "message": _summary(found)} if found else None


@dataclass(slots=True)
class StepHistory:
    """Feed it events in their order; `seen` is up to date then. `transitions` counts as AWS bills: states and retries."""

    steps: Mapping[str, StepFacts]
    states: Mapping[str, StateFacts]
    timeline: Timeline = field(default_factory=Timeline)
    seen: dict[tuple[str, tuple[int, ...]], SeenStep] = field(default_factory=dict)
    failures: list[SeenStep] = field(default_factory=list)
    error: str = ""  # what the execution itself ended with
    cause: str = ""
    _choices: dict[tuple[tuple[str, int], ...], StateVisit] = field(default_factory=dict)  # the latest one, by place
    _entered: dict[tuple[str, ...], set[tuple[int, ...]]] = field(default_factory=dict)  # iterations, by the loops around

    @classmethod
    def of(
        cls, steps: Mapping[str, StepFacts], states: Mapping[str, StateFacts], events: Iterable[Mapping[str, Any]]
    ) -> StepHistory:
        history = cls(steps, states)
        history.feed(events)
        return history

    @property
    def transitions(self) -> int:
        return len(self.timeline.visits) + sum(visit.retries for visit in self.timeline.visits)

    def feed(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Takes further events; True when a step changed."""
        changed = False
        for event in events:
            if str(event.get("type", "")).startswith("Execution"):
                self._note_end(event)
            for visit in inner_first(self.timeline.feed((event,))):
                changed |= self._visit(visit)
        return changed

    def culprit(self, error: str | None, message: str, step: str = "") -> SeenStep | None:
        """The step whose failure ended the execution; see `culprit` of this module."""
        return culprit(self.failures, error, message, step)

    def finish(self, *, completed: bool, at: datetime) -> None:
        """Settles what an ended execution left open, and tells the steps that it never came to as skipped."""
        for seen in self.seen.values():
            if seen.status == "running":
                seen.status = "completed" if completed else "cancelled"
                seen.ended = seen.ended or at
        if completed:
            for step, facts in self.steps.items():
                for iteration in self._iterations(facts.get("loops", [])):
                    one = self._of(step, iteration)
                    if one.status == "not_started":
                        one.status = "skipped"

    def ordered(self) -> list[SeenStep]:
        """In the order of the definition, iterations in the order of their indexes."""
        rank = {step: index for index, step in enumerate(self.steps)}
        return sorted(self.seen.values(), key=lambda one: (rank[one.step], one.iteration))

    def iteration(self, visit: StateVisit) -> tuple[int, ...]:
        """The indexes of the loops around a visit; a Map that only limits how many branches run is none."""
        return tuple(index for _, index in self._loops(visit))

    def _loops(self, visit: StateVisit) -> list[tuple[str, int]]:
        return [
            (step, index) for state, index in visit.path
            if (step := self.states.get(state, _NONE)["step"]) in self.steps and self.steps[step]["type"] == "foreach"
        ]  # fmt: skip

    def _of(self, step: str, iteration: tuple[int, ...]) -> SeenStep:
        facts = self.steps[step]
        key = (step, iteration[: len(facts.get("loops", []))])
        if key not in self.seen:
            self.seen[key] = SeenStep(step, facts["type"], key[1])
        return self.seen[key]

    def _iterations(self, loops: Sequence[str]) -> Sequence[tuple[int, ...]]:
        """The iterations of nested loops that have been entered; the one of no loop."""
        return sorted(self._entered.get(tuple(loops), ())) if loops else [()]

    def _note_end(self, event: Mapping[str, Any]) -> None:
        for key, details in event.items():
            if key.endswith("EventDetails") and isinstance(details, Mapping):
                self.error, self.cause = str(details.get("error") or ""), str(details.get("cause") or "")

    def _visit(self, visit: StateVisit) -> bool:
        facts = self.states.get(visit.state, _NONE)
        step, role = facts["step"], facts["role"]
        if visit.ended is None and visit.retries == 0:
            self._choose(visit, step)
            if loops := self._loops(visit):
                self._entered.setdefault(tuple(loop for loop, _ in loops), set()).add(tuple(index for _, index in loops))
        if step not in self.steps or says_nothing(visit, role):
            return False
        one = self._of(step, self.iteration(visit))
        self._apply(visit, role, one)
        one.told = self.timeline.last_id
        if not self.steps[step].get("last"):
            self._skip_before(one)
        return True

    def _choose(self, visit: StateVisit, step: str) -> None:
        """The state that follows a choice tells what it chose."""
        before = self._choices.pop(visit.path, None)
        if before is not None:
            outcomes = self.states[before.state].get("outcomes", {})
            if visit.state in outcomes:
                self._of(self.states[before.state]["step"], self.iteration(before)).outcome = outcomes[visit.state]
        if visit.type == "Choice" and step in self.steps and self.states[visit.state].get("outcomes"):
            self._choices[visit.path] = visit

    def _apply(self, visit: StateVisit, role: str, one: SeenStep) -> None:
        if one.started is None or role == "step" and visit.started < one.started:
            one.started = visit.started
        status = _STATUS.get(visit.status, "running")
        if visit.status == "caught" and visit.error in self.steps[one.step].get("accepts", ()):
            status = "completed"
        if role == "evaluate" and status == "completed":
            status = "running"  # the step itself comes next
        if role == "failed" and one.status == "failed":
            one.settled = False
            return  # the failure is known; this state only passes it on
        one.asked = role == "escalation" and visit.type == "Task" and visit.status == "running"
        if role == "lapsed" and one.status == "failed":
            one.error, one.message = LAPSED
            return
        branch = failed_branch(visit) if role == "step" and one.type == "parallel" else None
        if branch is not None:
            status = "failed"
        one.status = status
        one.ended = visit.ended if status != "running" else None
        one.retrying = visit.status == "running" and visit.error is not None
        if role != "evaluate":
            one.attempts = max(one.attempts, visit.retries + 1) if one.type == "parallel" else visit.retries + 1
            one.retried = visit.retried
        if status == "failed":
            if branch is not None:
                one.error, one.message = branch["error"], branch["message"]
            else:
                one.error, one.message = error_of(visit.error, visit.cause), message_of(visit.cause)
            if not one.error and one.type in HOLDERS:
                inner = inside_of(self.failures, one, lambda step: self.steps[step].get("children", ()))
                one.error, one.message = (inner.error, inner.message) if inner is not None else ("", "")
            one.settled = visit.status in ("caught", "succeeded")
            if one in self.failures:
                self.failures.remove(one)
            self.failures.append(one)
        elif status == "completed":
            if role == "step":
                facts = self.states[visit.state]
                one.output = _output(visit, facts.get("output"), facts.get("under"))
            one.error = one.message = ""
            one.settled = False

    def _skip_before(self, started: SeenStep) -> None:
        """A step starts once those that it waits for are settled: one that has not run by then is skipped."""
        stack = [started.step]
        while stack:
            facts = self.steps[stack.pop()]
            inside = facts.get("children", ())
            for before in facts["after"]:
                if before in inside or before not in self.steps or self.steps[before].get("loops"):
                    continue
                one = self._of(before, ())
                if one.status == "not_started":
                    one.status, one.ended, one.told = "skipped", started.started, self.timeline.last_id
                    stack.append(before)


def _output(visit: StateVisit, name: str | None, under: str | None) -> Any:
    """What a state left in the variable `name`, or under that key of its output (or of what its output has under `under`)."""
    if name is None or visit.left is None:
        return None
    assigned, output = visit.left.get("assignedVariables"), visit.left.get("output")
    try:
        if isinstance(assigned, Mapping) and name in assigned:
            return json.loads(assigned[name])
        found = json.loads(output) if isinstance(output, str) and f'"{name}"' in output else None
    except (ValueError, TypeError, RecursionError):
        return None
    if under is not None and isinstance(found, dict):
        found = found.get(under)
    return found.get(name) if isinstance(found, dict) else None


_NONE: StateFacts = {"step": "", "role": "end"}
