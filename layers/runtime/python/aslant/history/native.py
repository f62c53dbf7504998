"""Step records for what no function wrote a record of: native states, and failures outside of functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from typing import Any

from aslant.executions.records import Execution, Failure, StepRecord, StepStatus
from aslant.executions.store import ExecutionStore
from aslant.history.steps import SeenStep, StepHistory
from aslant.values import size

_MAX_MESSAGE = 2_000  # characters
_MAX_OUTPUT = 32 * 1024  # bytes of JSON; a larger output of a native state is in the history only
_RECORDED: dict[str, StepStatus] = {"completed": "completed", "failed": "failed", "skipped": "skipped"}

Place = tuple[str, tuple[int, ...]]


def native_records(history: StepHistory, *, run: int, known: Collection[Place], at: int) -> Iterator[StepRecord]:
    """Records of the steps that have ended by the history, without those of `known`. `at`: epoch microseconds.

    A skipped step has no times of its own: it gets the moment at which it was passed by. Whether the workflow went on after
    a failure is decided when a next run is prepared (`aslant.executions.replay`).
    """
    for seen in history.ordered():
        status = _RECORDED.get(seen.status)
        if status is not None and (seen.step, seen.iteration) not in known:
            yield _record(seen, status, run, at)


def record_run(
    store: ExecutionStore, execution: Execution, history: StepHistory, *, completed: bool, at: int, now: int
) -> None:
    """Stores such records of a run that ended at `at` (epoch milliseconds). `now`: the same, of the clock."""
    history.finish(completed=completed, at=datetime.fromtimestamp(at / 1000, UTC))
    known = {(step.step, step.iteration) for step in store.steps(execution.tenant, execution.id) if not step.native}
    found = [*native_records(history, run=execution.run, known=known, at=at * 1000)]
    if found:
        store.record_native(execution, found, now=now * 1000)


def _record(seen: SeenStep, status: StepStatus, run: int, at: int) -> StepRecord:
    ended = micros(seen.ended) or at
    started = micros(seen.started) or ended
    failure = None
    if status == "failed":
        failure = Failure(seen.error or "Failed", seen.message[:_MAX_MESSAGE], seen.step, seen.iteration)
    return StepRecord(
        step=seen.step, iteration=seen.iteration, status=status, type=seen.type, run=run, attempts=seen.attempts,
        total_attempts=seen.attempts, started_at=started, begun_at=started, finished_at=max(started, ended),
        output={"outcome": seen.outcome} if seen.outcome else _small(seen.output), error=failure, native=True,
        outcome=seen.outcome,
    )


def _small(output: Any) -> Any:
    return output if output is None or size(output) <= _MAX_OUTPUT else None


def micros(moment: datetime | None) -> int | None:
    """Epoch microseconds; None for no moment."""
    return None if moment is None or moment == datetime.min else round(moment.timestamp() * 1_000_000)
