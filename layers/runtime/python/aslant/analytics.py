"""Figures of workflows and their steps, by day: added up when an execution ends, so that reading them costs the same always.

Durations are counted in buckets, ten for each factor of ten: medians and percentiles are right to about an eighth. An execution
that ends again after a retry counts again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Protocol

from aslant.errors import ValidationError
from aslant.executions.records import Execution, StepRecord

FUNCTION = "aslant-count-executions"
RULE = "aslant-ends"
ENDS = ("completed", "failed", "cancelled", "timed_out", "rolled_back")
PATTERN: Mapping[str, object] = {"source": ["aslant"], "detail-type": [f"workflow_{end}" for end in ENDS]}
MAX_DAYS = 92
KEEP = 400 * 86_400  # seconds that a day's figures are kept
_PER_DECADE = 10
_LONGEST = 80       # characters of an error's name
_ERRORS = 10        # that are told
_BUCKET, _ERROR = "b:", "e:"

Counts = dict[str, int]  # names to whole numbers that are added up; durations are milliseconds, costs millionths of a dollar


@dataclass(frozen=True, slots=True)
class Tally:
    """What one end of an execution adds: to its workflow's day, and to each step's."""

    day: str
    workflow: Counts
    steps: Mapping[str, Counts]


class Stats(Protocol):
    def add(self, tenant: str, workflow: str, tally: Tally, *, event: str, shard: int) -> bool:
        """Adds once for each event id; False when that was done before."""

    def days(self, tenant: str, workflow: str, first: str, last: str) -> Sequence[tuple[str, Counts]]:
        """The counts of each day that has some, in order."""

    def steps(self, tenant: str, workflow: str, first: str, last: str) -> Sequence[tuple[str, Counts]]:
        """The counts of each step and day."""

    def installation(self) -> Counts:
        """The sums over all tenants."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Durations are seconds; None where nothing has any."""

    counts: Mapping[str, int]
    total: int
    success_rate: float | None
    mean: float | None
    median: float | None
    p95: float | None
    cost_usd: float
    attempts: int = 0
    errors: Sequence[tuple[str, int]] = field(default_factory=tuple)


def tally(execution: Execution, steps: Iterable[StepRecord], status: str, run: int) -> Tally:
    """What the end of a run counts for; `steps` are the execution's records, of which those of this run count."""
    ended = execution.finished_at or execution.changed_at
    cost = round(float(execution.usage.get("cost_usd", 0.0)) * 1_000_000)
    workflow = _counts(status, ended - execution.started_at, execution.error.error if execution.error is not None else "")
    found: dict[str, Counter[str]] = {}
    for one in steps:
        if one.run != run or one.status not in ("completed", "failed", "skipped"):
            continue
        timed = one.finished_at and one.begun_at and one.status != "skipped"
        lasted = ((one.finished_at or 0) - one.begun_at) // 1000 if timed else None
        error = one.error.error if one.error is not None and one.status == "failed" else ""
        added = _counts(one.status, lasted, error) | {"attempts": one.attempts}
        found.setdefault(one.step, Counter()).update(added)
    return Tally(day_of(ended), workflow | {"cost": cost}, {step: dict(counts) for step, counts in found.items()})


def day_of(millis: int) -> str:
    return f"{datetime.fromtimestamp(millis / 1000, UTC):%Y-%m-%d}"


def period(first: str | None, last: str | None, today: str) -> tuple[str, str]:
    """The days that are asked for, the last seven where nothing is said. Raises ValidationError."""
    try:
        end = date.fromisoformat(last or today)
        start = date.fromisoformat(first) if first else end - timedelta(days=6)
    except ValueError:
        raise ValidationError("a day is written as 2026-11-28") from None
    if not 0 <= (end - start).days < MAX_DAYS:
        raise ValidationError(f"a period has 1 to {MAX_DAYS} days")
    return start.isoformat(), end.isoformat()


def summary(rows: Iterable[Counts]) -> Summary:
    """The figures of counts that are added up."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts.update(row)
    by_status = {status: counts[status] for status in (*ENDS, "skipped") if counts[status]}
    ran = sum(number for status, number in by_status.items() if status != "skipped")
    buckets = sorted((int(name[2:]), number) for name, number in counts.items() if name.startswith(_BUCKET))
    timed = sum(number for _, number in buckets)
    errors = Counter({name[2:]: number for name, number in counts.items() if name.startswith(_ERROR)})
    return Summary(
        by_status, ran, by_status.get("completed", 0) / ran if ran else None,
        counts["duration"] / timed / 1000 if timed else None, _quantile(buckets, timed, 0.5), _quantile(buckets, timed, 0.95),
        counts["cost"] / 1_000_000, counts["attempts"],
        sorted(errors.items(), key=lambda pair: (-pair[1], pair[0]))[:_ERRORS],
    )  # fmt: skip


def exposition(counts: Counts) -> str:
    """The installation's sums in the text format of Prometheus."""
    lines = ["# HELP aslant_executions_total Executions that have ended.", "# TYPE aslant_executions_total counter"]
    lines += [f'aslant_executions_total{{status="{status}"}} {counts.get(status, 0)}' for status in ENDS]
    lines += ["# HELP aslant_execution_duration_seconds How long executions took.",
        "# TYPE aslant_execution_duration_seconds histogram"]
    buckets = sorted((int(name[2:]), number) for name, number in counts.items() if name.startswith(_BUCKET))
    reached = 0
    for index, number in buckets:
        reached += number
        lines.append(f'aslant_execution_duration_seconds_bucket{{le="{_bound(index) / 1000:.6g}"}} {reached}')
    lines += [
        f'aslant_execution_duration_seconds_bucket{{le="+Inf"}} {reached}',
        f"aslant_execution_duration_seconds_sum {counts.get('duration', 0) / 1000:.3f}",
        f"aslant_execution_duration_seconds_count {reached}",
        "# HELP aslant_cost_dollars_total What executions cost by AWS's list prices.",
        "# TYPE aslant_cost_dollars_total counter",
        f"aslant_cost_dollars_total {counts.get('cost', 0) / 1_000_000:.6f}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _counts(status: str, lasted: int | None, error: str) -> Counts:
    found = {status: 1}
    if lasted is not None:
        found |= {"duration": max(0, lasted), f"{_BUCKET}{_bucket(lasted)}": 1}
    if error:
        found[_ERROR + error[:_LONGEST]] = 1
    return found


def _bucket(millis: int) -> int:
    """The number of the first bucket whose bound is not below."""
    return math.ceil(round(math.log10(max(1, millis)) * _PER_DECADE, 9))


def _bound(index: int) -> float:
    return math.pow(10, index / _PER_DECADE)


def _quantile(buckets: Sequence[tuple[int, int]], total: int, share: float) -> float | None:
    """The middle of the bucket in which that share is reached."""
    reached = 0
    for index, number in buckets:
        reached += number
        if reached >= share * total:
            return math.sqrt(_bound(index) * _bound(index - 1)) / 1000 if index else 0.001
    return None
