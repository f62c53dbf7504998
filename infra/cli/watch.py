"""Following a run: a live tree on a terminal, a line for each change elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import IO, Any

from infra.local.progress import Progress, Status, StepRun, nested
from translator.model.workflow import Step
from translator.reporting import visible

MARKS = {
    Status.NOT_STARTED: "·", Status.RUNNING: "▶", Status.WAITING: "?", Status.COMPLETED: "✓", Status.FAILED: "✗",
    Status.SKIPPED: "–", Status.CANCELLED: "◌",
}
STYLES = {
    Status.NOT_STARTED: "dim", Status.RUNNING: "cyan", Status.WAITING: "bold magenta", Status.COMPLETED: "green",
    Status.FAILED: "bold red", Status.SKIPPED: "dim", Status.CANCELLED: "yellow",
}
LONGEST_REASON = 160  # characters of a failure's message in a line
_AROUND = frozenset({"parallel", "foreach", "workflow", "rollback"})  # types of steps with others inside
_FIRST = (-1, 0.0)
SHOWN_ITERATIONS = 8  # of one loop that the tree shows; the rest is counted


def duration(seconds: float | None) -> str:
    """`0.8 s`, `2 min 05 s`, `1 h 02 min`."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"


def settled_of(done: int, total: int) -> str:
    """`2 of 3 steps settled`."""
    return f"{done} of {total} {'step' if total == 1 else 'steps'} settled"


def reason(run: StepRun) -> str:
    """Why a step failed, in one line: the error's name and the beginning of its message."""
    return _reason(run.error, run.message, run.label)


def _reason(error: str, message: str, label: str) -> str:
    message = " ".join(to_the_point(message, label).split())
    if len(message) > LONGEST_REASON:
        message = message[:LONGEST_REASON] + "…"
    return visible(f"{error}: {message}" if message else error)


def to_the_point(message: str, label: str) -> str:
    """A failure's message without the step that functions put in front, for those who see nothing else."""
    return message.removeprefix(f"step {label}: ")


class Silent:
    """Shows nothing."""

    def start(self, progress: Progress, started: datetime) -> None:
        """Called once, before the first state."""

    def update(self, now: datetime) -> None:
        """Called when something may have changed."""

    def note(self, text: str) -> None:
        """Something to tell, once."""

    def pause(self) -> None:
        """Gives the terminal away, for a question."""

    def stop(self) -> None:
        """Called once, at the end."""


class Lines(Silent):
    """A line for each step that starts, ends, fails or is retried, with the time since the start.

    A step of a sub-workflow stands behind the step that called it: `call[1] > step`.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._seen: dict[tuple[str, ...], Status] = {}
        self._attempts: dict[tuple[str, ...], int] = {}
        self._latest: datetime | None = None

    def start(self, progress: Progress, started: datetime) -> None:
        self._progress, self._started, self._now = progress, started, started

    def update(self, now: datetime) -> None:
        self._now = now
        lines: list[tuple[datetime, tuple[int, float], str]] = []
        for run in nested(self._progress.ordered()):
            key = (*run.path, run.label)
            moment = run.retried or (None if run.status.settled else now)
            again = run.attempts > max(1, self._attempts.get(key, 1)) and moment is not None
            if again and moment is not None:
                lines.append((moment, _FIRST, f"{'retrying':<17} {visible(run.place)} (attempt {run.attempts}{_after(run)})"))
            self._attempts[key] = run.attempts
            before = self._seen.get(key, Status.NOT_STARTED)
            self._seen[key] = run.status
            said = again and before is Status.FAILED and run.status is Status.RUNNING
            if run.status not in (before, Status.NOT_STARTED) and not said:
                lines.append(_changed(run, now))
        for moment, _, text in sorted(lines, key=lambda line: line[:2]):
            self._write(moment, text)

    def note(self, text: str) -> None:
        self._write(self._now, f"{'note':<17} {visible(text)}")

    def _write(self, moment: datetime, text: str) -> None:
        # What came to light between two looks can be a moment older than what was told last.
        self._latest = moment if self._latest is None else max(moment, self._latest)
        since = max(0.0, (self._latest - self._started).total_seconds())
        self._stream.write(f"{int(since // 60):>3}:{since % 60:04.1f}  {text}\n")
        self._stream.flush()


def _rank(run: StepRun, moment: datetime) -> tuple[int, float]:
    """The order of what happened in the same instant: what ended, as it began; then what was around it, the innermost first."""
    if not run.status.settled or run.started is None:
        return 3, 0
    began = run.started.timestamp()
    if run.type in _AROUND:
        return 2, -began
    return (0 if run.started < moment else 1), began


def _changed(run: StepRun, now: datetime) -> tuple[datetime, tuple[int, float], str]:
    """When a step came to its status, its rank among what happened in the same instant, and the line that says so."""
    moment = {Status.RUNNING: run.started, Status.WAITING: now}.get(run.status, run.ended) or now
    return moment, _rank(run, moment), f"{run.status.value:<17} {visible(run.place)}{_about(run, now)}"


def _after(run: StepRun) -> str:
    """Why there is another attempt."""
    error, message = run.before
    return f", after {_reason(error, message, run.label)}" if error else ""


def _about(run: StepRun, now: datetime) -> str:
    parts = []
    if run.status.settled and run.started is not None:
        parts.append(duration(run.seconds(now)))
    if run.attempts > 1 and run.status.settled:
        parts.append(f"{run.attempts} attempts")
    if run.simulated:
        parts.append("simulated")
    if run.error:
        parts.append(reason(run))
    return f" ({', '.join(parts)})" if parts else ""


class Tree(Silent):
    """The steps as a tree that is drawn again and again, with states and durations.

    Steps of a sub-workflow are beneath the step that called it; each attempt has a branch of its own where there are more.
    """

    def __init__(self, console: Any) -> None:
        self._console = console
        self._live: Any = None

    def start(self, progress: Progress, started: datetime) -> None:
        self._progress, self._started, self._now = progress, started, started
        self._show()

    def update(self, now: datetime) -> None:
        self._now = now
        if self._live is None:
            self._show()
        self._live.update(self._render(), refresh=True)

    def note(self, text: str) -> None:
        self._console.print(visible(text), style="magenta")

    def pause(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def stop(self) -> None:
        self.pause()

    def _show(self) -> None:
        from rich.live import Live

        self._live = Live(self._render(), console=self._console, auto_refresh=False, transient=False,
            redirect_stdout=False)  # `aslant run` diverts it itself, without secrets
        self._live.start()

    def _render(self) -> Any:
        from rich.text import Text
        from rich.tree import Tree as Drawn

        took = duration((self._now - self._started).total_seconds())
        workflow = self._progress.workflow
        root = Drawn(Text.assemble((visible(workflow.name or workflow.id), "bold"), (f"  {took}", "dim")))
        self._plant(root, self._progress)
        return root

    def _plant(self, root: Any, progress: Progress) -> None:
        from rich.text import Text

        self._grow(root, progress, progress.workflow.steps, ())
        if progress.workflow.finally_:
            self._grow(root.add(Text("finally", "dim")), progress, progress.workflow.finally_, ())
        if progress.rollback is not None and progress.rollback.tells:
            self._hang(root, progress.rollback)

    def _hang(self, root: Any, run: StepRun) -> None:
        """A rollback with the undos that have begun; there is nothing to tell of the others."""
        here = root.add(self._line(run))
        for child in run.children:
            for inner in child.steps:
                self._hang(here, inner)

    def _grow(self, branch: Any, progress: Progress, steps: Sequence[Step], outer: tuple[int, ...]) -> None:
        from rich.text import Text

        for step in steps:
            run = progress.peek(step.id, outer) or StepRun(step.id, step.label, step.type)
            here = branch.add(self._line(run, step.id))
            for child in run.children:
                if child.progress is not None:
                    several = Text(f"attempt {child.attempt}", "dim") if len(run.children) > 1 else None
                    self._plant(here if several is None else here.add(several), child.progress)
            if step.type == "foreach":
                seen = progress.iterations(step.id, outer)
                for index in _worth_showing(progress, step, seen, outer):
                    self._grow(here.add(Text(f"[{index}]", "dim")), progress, step.steps, (*outer, index))
                if len(seen) > SHOWN_ITERATIONS:
                    here.add(Text(f"… {len(seen)} iterations so far", "dim"))
            else:
                for group in step.inner():
                    self._grow(here, progress, group, outer)

    def _line(self, run: StepRun, label: str = "") -> Any:
        from rich.text import Text

        text = Text.assemble((f"{MARKS[run.status]} {visible(label or run.label)}", STYLES[run.status]))
        if run.name != run.step:
            text.append(f"  {visible(run.name)}", "dim")
        if run.started is not None:
            text.append(f"  {duration(run.seconds(self._now))}")
        if run.attempts > 1:
            text.append(f"  attempt {run.attempts}{'' if run.status.settled else _after(run)}", "yellow")
        if run.status is Status.WAITING:
            text.append("  waits for an answer", "magenta")
        if run.simulated:
            text.append("  simulated", "yellow")
        if run.error:
            text.append(f"  {reason(run)}", "red")
        return text


def _worth_showing(progress: Progress, step: Step, seen: Sequence[int], outer: tuple[int, ...]) -> list[int]:
    """Failed iterations first, then those that are running, then the latest."""
    if len(seen) <= SHOWN_ITERATIONS:
        return list(seen)

    def rank(index: int) -> tuple[int, int]:
        states = {run.status for inner in step.steps
            if (run := progress.peek(inner.id, (*outer, index))) is not None}
        return (0 if Status.FAILED in states else 1 if states & {Status.RUNNING, Status.WAITING} else 2, -index)

    return sorted(sorted(seen, key=rank)[:SHOWN_ITERATIONS])
