"""From an execution's history to the progress of a workflow's steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aslant.history.joined import PART
from aslant.history.steps import HOLDERS, LAPSED, culprit, failed_branch, inner_first, inside_of, says_nothing
from aslant.history.steps import blamed as blamed
from aslant.history.steps import error_of as error_of
from aslant.history.steps import message_of as message_of
from aslant.history.timeline import StateVisit, Timeline
from infra.local.progress import Progress, Status, StepRun
from translator.pipeline import Compilation
from translator.rollback.build import FINISH

_STATUS = {
    "running": Status.RUNNING, "succeeded": Status.COMPLETED, "caught": Status.FAILED, "failed": Status.FAILED,
    "timed_out": Status.FAILED, "aborted": Status.CANCELLED,
}
Place = tuple[str, tuple[int, ...]]
# Roles of states that say nothing about how their step ended.
OWN_ROLLBACK = "${rollback}"  # the placeholder of the machine that undoes the execution itself


class Tracker:
    """Feed it events in their order; it keeps `progress` up to date.

    `started` gathers the executions that steps started, as ARNs; whoever follows those takes them from there.
    """

    def __init__(self, compilation: Compilation, progress: Progress) -> None:
        self._compilation = compilation
        self._origins = compilation.source_map
        states = [*states_of(compilation.definition, *compilation.parts.values())]
        self._limits = {name: state.get("TimeoutSeconds") for name, state in states}
        self._undoing = {name for name, state in states if _starts_undoing(state)}
        self._progress = progress
        self._timeline = Timeline()
        self._failures: list[StepRun] = []
        self._tries: dict[Place, dict[int, int]] = {}  # of workflow steps, their attempts by the visits that made them
        self._children: set[str] = set()
        self.started: list[tuple[StepRun, str]] = []
        self.parts: list[tuple[str, tuple[tuple[str, int], ...]]] = []  # executions of parts, and where they were started

    @property
    def last_event(self) -> int:
        return self._timeline.last_id

    @property
    def running(self) -> bool:
        return bool(self._timeline.running)

    def feed(self, events: Iterable[Mapping[str, Any]]) -> bool:
        """Takes further events; True when a step changed."""
        changed = False
        for visit in (visit for event in events for visit in inner_first(self._timeline.feed((event,)))):
            origin = self._origins.get(visit.state)
            if loops := self._loops(visit):
                self._progress.enter(loops[-1][0], tuple(index for _, index in loops))
            if origin is not None and origin.role == PART:
                self._note_part(visit)
                continue
            if visit.children and visit.state in self._undoing:
                self._follow(visit)
                changed = True
            elif origin is not None and self._progress.shows(origin.step) and not says_nothing(visit, origin.role):
                run = self._progress.run(origin.step, tuple(index for _, index in loops))
                self._apply(visit, origin.role, run)
                self._note_children(visit, run)
                self._progress.skip_before(run)
                changed = True
        return changed

    def _note_part(self, visit: StateVisit) -> None:
        """A part of the execution that runs elsewhere: its steps are shown among the others."""
        for arn in visit.children:
            if arn not in self._children:
                self._children.add(arn)
                self.parts.append((arn, visit.path))

    def place(self, state: str) -> tuple[tuple[str, int], ...]:
        """Where a state was entered last."""
        return next((visit.path for visit in reversed(self._timeline.visits) if visit.state == state), self._timeline.base)

    def part(self, path: tuple[tuple[str, int], ...]) -> Tracker:
        """One for the part that was started at `path`; it keeps the same `progress`."""
        found = Tracker(self._compilation, self._progress)
        found._timeline, found._failures, found._tries = Timeline(base=path), self._failures, self._tries
        return found

    def _follow(self, visit: StateVisit) -> None:
        """The undoing that the execution started. It ended no execution, so its failure is none to blame."""
        run = self._progress.begin_rollback()
        run.started = run.started or visit.started
        run.status, run.attempts = _STATUS.get(visit.status, Status.RUNNING), visit.retries + 1
        run.ended = visit.ended if run.status.settled else None
        failed = run.status is Status.FAILED
        run.error, run.message = (error_of(visit.error, visit.cause), message_of(visit.cause)) if failed else ("", "")
        run.message = run.message.removeprefix(f"step {FINISH}: ")  # a step that nobody wrote
        self._note_children(visit, run)

    def culprit(self, error: str | None, message: str, step: str = "") -> StepRun | None:
        """The step whose failure ended the execution; see `aslant.history.steps.culprit`."""
        return culprit(self._failures, error, message, step)

    def _loops(self, visit: StateVisit) -> list[tuple[str, int]]:
        """The loops around a visit, each with the iteration's index."""
        loops = []
        for state, index in visit.path:
            origin = self._origins.get(state)
            step = self._progress.steps.get(origin.step) if origin is not None else None
            if step is not None and step.type == "foreach":
                loops.append((step.id, index))
        return loops

    def _apply(self, visit: StateVisit, role: str, run: StepRun) -> None:
        if run.started is None or role == "step" and visit.started < run.started:
            run.started = visit.started
        if role == "escalation":  # people are asked about the failure, and what they say is no success of the step
            asking = visit.type == "Task" and visit.status == "running"
            run.status, run.ended = (Status.RUNNING, None) if asking else (Status.FAILED, visit.ended)
            return
        status = _STATUS.get(visit.status, Status.RUNNING)
        if visit.status == "caught" and visit.error == "ApprovalRejected" and self._goes_on(run):
            status = Status.COMPLETED  # a no is an answer like any other here
        if role == "evaluate" and status is Status.COMPLETED:
            status = Status.RUNNING  # the step itself comes next
        if role == "failed" and run.status is Status.FAILED:
            return  # the failure is known; this state only passes it on
        if role == "lapsed" and run.status is Status.FAILED:
            run.error, run.message = LAPSED
            return
        branch = failed_branch(visit) if role == "step" and run.type == "parallel" else None
        if branch is not None:
            status = Status.FAILED
        run.status = status
        run.ended = visit.ended if status.settled else None
        if role in ("step", "escalated"):
            run.attempts = max(run.attempts, visit.retries + 1) if run.type == "parallel" else visit.retries + 1
            run.retried = visit.retried
            if visit.error and visit.ended is None:
                run.before = error_of(visit.error, visit.cause), message_of(visit.cause)
            if run.type == "workflow":  # which makes a state of its own for each attempt that the engine cannot repeat
                tries = self._tries.setdefault((run.step, run.iteration), {})
                tries[visit.event_id] = run.attempts
                run.attempts = sum(tries.values())
                run.retried = visit.retried or (visit.started if len(tries) > 1 else None)
        if status is Status.FAILED:
            if branch is not None:
                run.error, run.message = branch["error"], branch["message"]
            else:
                run.error, run.message = error_of(visit.error, visit.cause), message_of(visit.cause)
            if not run.error and run.type in HOLDERS:
                inner = inside_of(self._failures, run, self._inside)
                run.error, run.message = (inner.error, inner.message) if inner is not None else ("", "")
            limit = self._limits.get(visit.state)
            if run.error == "States.Timeout" and not run.message and isinstance(limit, int | float):
                run.message = f"the attempt took longer than its {limit:g} s"
            if run in self._failures:
                self._failures.remove(run)
            self._failures.append(run)
        elif status is Status.COMPLETED:
            run.error = run.message = ""

    def _note_children(self, visit: StateVisit, run: StepRun) -> None:
        for arn in visit.children:
            if arn not in self._children:
                self._children.add(arn)
                self.started.append((run, arn))

    def _inside(self, step: str) -> Iterator[str]:
        return (inner.id for part in self._progress.steps[step].inner() for inner in part)

    def _goes_on(self, run: StepRun) -> bool:
        choice = self._progress.steps[run.step].config.get("on_reject")
        return getattr(choice, "value", choice) == "continue"


def states_of(*definitions: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """All states of machines with their names, those inside of Parallel and Map states too."""
    stack = [*definitions]
    while stack:
        for name, state in stack.pop().get("States", {}).items():
            yield name, state
            stack += [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else ())]


def _starts_undoing(state: Mapping[str, Any]) -> bool:
    """Whether a state starts the machine that undoes its own execution."""
    arguments = state.get("Arguments")
    return isinstance(arguments, Mapping) and arguments.get("StateMachineArn") == OWN_ROLLBACK
