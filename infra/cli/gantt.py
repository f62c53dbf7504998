"""A finished run as a bar chart over time, one row a step."""

from __future__ import annotations

from infra.cli.watch import duration
from infra.local.progress import Status, StepRun
from infra.local.runner import RunResult

WIDTH = 48
_MARKS = {Status.COMPLETED: "█", Status.FAILED: "x", Status.CANCELLED: "-", Status.RUNNING: "-"}


def chart(result: RunResult, width: int = WIDTH) -> str:
    """Rows in the order of starting; a bar is as long as the step took, on the scale of the whole run."""
    total = max(result.seconds, 0.001)
    runs = sorted((run for run in result.steps if run.started is not None), key=lambda run: (run.started, run.label))
    column = max((len(run.label) for run in runs), default=4)
    lines = [f"{'':{column}}  0{duration(total):>{width - 1}}"]
    for run in runs:
        lines.append(f"{run.label:{column}}  {_bar(run, result, total, width)}  {_note(run, result)}".rstrip())
    skipped = [run.label for run in result.steps if run.status is Status.SKIPPED]
    if skipped:
        lines.append("not taken: " + ", ".join(skipped))
    return "\n".join(lines) + "\n"


def _bar(run: StepRun, result: RunResult, total: float, width: int) -> str:
    assert run.started is not None
    begin = (run.started - result.started).total_seconds()
    length = run.seconds(result.stopped) or 0.0
    first = min(width - 1, max(0, round(begin / total * width)))
    cells = max(1, min(width - first, round(length / total * width)))
    return (" " * first + _MARKS.get(run.status, "·") * cells).ljust(width)


def _note(run: StepRun, result: RunResult) -> str:
    parts = [duration(run.seconds(result.stopped))]
    if run.attempts > 1:
        parts.append(f"{run.attempts} attempts")
    if run.status is Status.FAILED:
        parts.append(run.error)
    return ", ".join(parts)
