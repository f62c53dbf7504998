"""A finished run as a bar chart over time, one row a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from infra.cli.watch import duration
from infra.local.progress import Status, StepRun, nested
from infra.local.runner import RunResult
from translator.reporting import visible

WIDTH = 48
_MARKS = {Status.COMPLETED: "█", Status.FAILED: "x", Status.CANCELLED: "-", Status.RUNNING: "-"}


class Bar(NamedTuple):
    """One row: `begin` and `length` are seconds, `mark` is what its bar is drawn with."""

    label: str
    begin: float
    length: float
    mark: str
    note: str = ""


def bars(rows: Sequence[Bar], total: float, width: int = WIDTH) -> list[str]:
    """The scale and a line for each row; `total` are the seconds that fill the width."""
    column = max((len(row.label) for row in rows), default=4)
    lines = [f"{'':{column}}  0{duration(total):>{width - 1}}"]
    for row in rows:
        first = min(width - 1, max(0, round(row.begin / total * width)))
        cells = max(1, min(width - first, round(row.length / total * width)))
        bar = (" " * first + row.mark * cells).ljust(width)
        lines.append(f"{row.label:{column}}  {bar}  {row.note}".rstrip())
    return lines


def chart(result: RunResult, width: int = WIDTH) -> str:
    """Rows in the order of starting, those of a sub-workflow beneath the step that called it; a bar is as long as the step
    took, on the scale of the whole run.
    """
    lines = bars([*_rows(result, result.steps, "")], max(result.seconds, 0.001), width)
    skipped = [visible(run.place) for run in nested(result.steps) if run.status is Status.SKIPPED]
    if skipped:
        lines.append("not taken: " + ", ".join(skipped))
    return "\n".join(lines) + "\n"


def _rows(result: RunResult, runs: Iterable[StepRun], indent: str) -> Iterator[Bar]:
    begun = sorted(
        ((run.started, at, run) for at, run in enumerate(runs) if run.started is not None), key=lambda row: row[:2]
    )  # of two that started at once the one first that is written first
    for started, _, run in begun:
        yield _bar(result, indent + visible(run.label), run.status, started, run.ended, _note(run))
        for child in run.children:
            if len(run.children) == 1:
                yield from _rows(result, child.steps, indent + "  ")
            elif child.started is not None:
                name = f"{indent}  attempt {child.attempt}"
                yield _bar(result, name, child.status, child.started, child.ended)
                yield from _rows(result, child.steps, indent + "    ")


def _bar(
    result: RunResult, label: str, status: Status, started: datetime, ended: datetime | None, note: str = ""
) -> Bar:
    took = max(0.0, ((ended or result.stopped) - started).total_seconds())
    begin = (started - result.started).total_seconds()
    return Bar(label, begin, took, _MARKS.get(status, "·"), ", ".join(filter(None, (duration(took), note))))


def _note(run: StepRun) -> str:
    attempts = f"{run.attempts} attempts" if run.attempts > 1 else ""
    return ", ".join(filter(None, (attempts, run.error if run.status is Status.FAILED else "")))
