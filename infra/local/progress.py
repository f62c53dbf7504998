"""What became of each step of a running workflow, told from the visits of the machine's states."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from translator.diagnostics import NOWHERE, Position
from translator.model.workflow import UNDO_LOOP, Step, Workflow
from translator.rollback.build import KIND, OURS, PLAN


class Status(StrEnum):
    """`NOT_STARTED` is also the end of a step that a failed or cancelled execution never came to."""

    NOT_STARTED = "not_started"
    RUNNING = "running"
    WAITING = "waiting_approval"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def settled(self) -> bool:
        return self not in (Status.NOT_STARTED, Status.RUNNING, Status.WAITING)


@dataclass(slots=True)
class Child:
    """One execution of a sub-workflow: `execution` is its ARN, `attempt` counts those of one step from 1.

    Without `progress` nobody defined the workflow, and its steps are unknown.
    """

    execution: str
    workflow: str
    attempt: int = 1
    status: Status = Status.RUNNING
    started: datetime | None = None
    ended: datetime | None = None
    progress: Progress | None = None

    @property
    def steps(self) -> list[StepRun]:
        return self.progress.ordered() if self.progress is not None else []


@dataclass(slots=True)
class StepRun:
    """One step in one iteration. Times are the cloud's; `attempts` counts the first one too, `retried` is when the latest
    attempt began that was not the first, `before` why the one before it failed. `path` are the labels of the steps whose
    sub-workflows it is in, the outermost first; `children` are the executions that it started itself, one an attempt.
    """

    step: str
    name: str
    type: str
    iteration: tuple[int, ...] = ()
    status: Status = Status.NOT_STARTED
    started: datetime | None = None
    ended: datetime | None = None
    attempts: int = 0
    retried: datetime | None = None
    before: tuple[str, str] = ("", "")  # an error's name and message
    error: str = ""
    message: str = ""
    simulated: bool = False
    position: Position = NOWHERE
    path: tuple[str, ...] = ()
    children: list[Child] = field(default_factory=list)

    @property
    def label(self) -> str:
        """`step`, or `step[2][0]` inside of loops."""
        return self.step + "".join(f"[{index}]" for index in self.iteration)

    @property
    def place(self) -> str:
        """`label`, behind those of the steps around it where it is in a sub-workflow: `call[1] > step`."""
        return " > ".join((*self.path, self.label))

    @property
    def tells(self) -> bool:
        """Whether an undoing has undone something, or failed to: it is also begun to find out that nothing is to be done."""
        return self.status is Status.FAILED or any(child.steps for child in self.children)

    def seconds(self, now: datetime) -> float | None:
        """How long it took, or has taken by `now`."""
        if self.started is None:
            return None
        return max(0.0, ((self.ended or now) - self.started).total_seconds())


@dataclass(slots=True)
class Progress:
    """All steps of one execution. `depth` of a step is the number of loops around it, `path` that of its `StepRun`."""

    workflow: Workflow
    path: tuple[str, ...] = ()
    runs: dict[tuple[str, tuple[int, ...]], StepRun] = field(default_factory=dict)
    depth: dict[str, int] = field(default_factory=dict)
    steps: dict[str, Step] = field(default_factory=dict)
    entered: dict[str, set[tuple[int, ...]]] = field(default_factory=dict)  # iterations, by the innermost loop
    rollback: StepRun | None = None  # the undoing that the execution started itself; its steps are those of the child

    def __post_init__(self) -> None:
        self._learn(self.workflow.steps, 0)
        self._learn(self.workflow.finally_, 0)

    def _learn(self, steps: Sequence[Step], depth: int) -> None:
        for step in steps:
            self.steps[step.id] = step
            self.depth[step.id] = depth
            for inner in step.inner():
                self._learn(inner, depth + (step.type == "foreach"))

    def run(self, step: str, iteration: tuple[int, ...] = ()) -> StepRun:
        """The record of a step in an iteration (as many indexes as there are loops around it), made when missing."""
        key = (step, iteration[: self.depth.get(step, 0)])
        if key not in self.runs:
            known = self.steps.get(step)
            self.runs[key] = StepRun(
                step, known.label if known else step, known.type if known else "", key[1],
                position=known.at if known else NOWHERE, path=self.path,
            )
        return self.runs[key]

    def shows(self, step: str) -> bool:
        """Whether a step that states belong to has a record here."""
        return step in self.steps

    def begin_rollback(self) -> StepRun:
        """The record of the undoing, made when missing. No step has its id for sure, so it is none of `runs`."""
        if self.rollback is None:
            self.rollback = StepRun("rollback", "rollback", "rollback", position=self.workflow.at, path=self.path)
        return self.rollback

    def peek(self, step: str, iteration: tuple[int, ...] = ()) -> StepRun | None:
        return self.runs.get((step, iteration))

    def enter(self, loop: str, iteration: tuple[int, ...]) -> None:
        """Notes that an iteration has begun, which may come to no step at all."""
        self.entered.setdefault(loop, set()).add(iteration)

    def iterations(self, loop: str, outer: tuple[int, ...]) -> list[int]:
        """The indexes of a loop's iterations that have been seen, inside of the iteration `outer` around the loop."""
        depth, inner = len(outer), {step.id for group in self.steps[loop].inner() for step in group}
        found = {one for step, one in self.runs if step in inner} | self.entered.get(loop, set())
        return sorted({one[depth] for one in found if len(one) > depth and one[:depth] == outer})

    def skip_before(self, started: StepRun) -> None:
        """A step starts once those that it depends on are settled: one that has not run by then is skipped."""
        stack = [started.step]
        while stack:
            for edge in self.steps[stack.pop()].depends_on:
                if edge.step in self.steps and self.depth[edge.step] == len(started.iteration):
                    before = self.run(edge.step, started.iteration)
                    if before.status is Status.NOT_STARTED:
                        before.status, before.ended = Status.SKIPPED, started.started
                        stack.append(edge.step)

    def finish(self, *, completed: bool, now: datetime) -> None:
        """Settles what an ended execution left open, and adds the steps that it never came to."""
        for run in (*self.runs.values(), *([self.rollback] if self.rollback is not None else ())):
            if run.status in (Status.RUNNING, Status.WAITING):
                run.status = Status.COMPLETED if completed else Status.CANCELLED
                run.ended = run.ended or now
        for step, depth in self.depth.items():
            if depth == 0:
                self.run(step)
        if completed:
            self._skip_rest(self.workflow.steps, ())
            self._skip_rest(self.workflow.finally_, ())

    def _skip_rest(self, steps: Sequence[Step], iteration: tuple[int, ...]) -> None:
        """Steps that a completed execution never came to were skipped, in each iteration that there was."""
        for step in steps:
            run = self.run(step.id, iteration)
            if run.status is Status.NOT_STARTED:
                run.status = Status.SKIPPED
            inside = [(*iteration, index) for index in self.iterations(step.id, iteration)] \
                if step.type == "foreach" else [iteration]
            for group in step.inner():
                for where in inside:
                    self._skip_rest(group, where)

    def ordered(self) -> list[StepRun]:
        """Records in the order of the definition, iterations in the order of their indexes; the undoing comes last."""
        rank = {step: index for index, step in enumerate(self.steps)}
        found = sorted(self.runs.values(), key=lambda run: (rank.get(run.step, len(rank)), run.iteration))
        return [*found, self.rollback] if self.rollback is not None and self.rollback.tells else found

    def totals(self) -> Mapping[Status, int]:
        counts: dict[Status, int] = {}
        for run in self.runs.values():
            counts[run.status] = counts.get(run.status, 0) + 1
        return counts


@dataclass(slots=True)
class Undone(Progress):
    """The steps of an execution that undoes another: those that ran, in their order.

    `plan` are the iterations of what is undone, in the order of undoing; it fills as the execution goes on. An undo has the
    iteration of what it undoes. What the undoing adds of its own has no records.
    """

    plan: Sequence[tuple[int, ...]] = ()
    inner: set[str] = field(default_factory=set)  # ids of the undos, and of what is inside of them

    def __post_init__(self) -> None:
        Progress.__post_init__(self)
        undos = self.steps[UNDO_LOOP].steps if UNDO_LOOP in self.steps else ()
        self.inner.update(Progress(replace(self.workflow, steps=undos, finally_=())).steps)

    def shows(self, step: str) -> bool:
        return step in self.steps and step not in OURS and self.steps[step].type != KIND

    def run(self, step: str, iteration: tuple[int, ...] = ()) -> StepRun:
        place = iteration[: self.depth.get(step, 0)]
        if place and step in self.inner:
            place = (*(self.plan[place[0]] if place[0] < len(self.plan) else ()), *place[1:])
        if (step, place) not in self.runs:
            known = self.steps[step]
            self.runs[step, place] = StepRun(step, known.label, known.type, place, position=known.at, path=self.path)
        return self.runs[step, place]

    def enter(self, loop: str, iteration: tuple[int, ...]) -> None:
        """What is not undone is not shown."""

    def skip_before(self, started: StepRun) -> None:
        """What is not undone is not shown."""

    def finish(self, *, completed: bool, now: datetime) -> None:
        for run in self.runs.values():
            if run.status in (Status.RUNNING, Status.WAITING):
                run.status = Status.COMPLETED if completed else Status.CANCELLED
                run.ended = run.ended or now

    def ordered(self) -> list[StepRun]:
        return list(self.runs.values())


def progress_of(workflow: Workflow, path: tuple[str, ...]) -> Progress:
    """That of an execution of a workflow, or of the one that undoes a workflow."""
    undoing = any(step.id == PLAN for step in workflow.steps)
    return Undone(workflow, path) if undoing else Progress(workflow, path)


def nested(runs: Iterable[StepRun]) -> Iterator[StepRun]:
    """Each of `runs`, followed by the steps of the sub-workflows that it started, and of those that they started."""
    for run in runs:
        yield run
        for child in run.children:
            yield from nested(child.steps)
