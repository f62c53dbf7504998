"""Step records for what no function wrote a record of: native states, and failures outside of functions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Protocol

from aslant.executions.records import Execution, Failure, Run, StepRecord, StepStatus
from aslant.executions.states import FINAL
from aslant.executions.store import ExecutionStore
from aslant.history.steps import HOLDERS, SeenStep, StepHistory
from aslant.releases import StepFacts
from aslant.values import size

_MAX_MESSAGE = 2_000  # characters
_MAX_OUTPUT = 32 * 1024  # bytes of JSON; a larger output of a native state is in the history only
WAITING = frozenset({"wait", "approval"})  # types that keep their first moment over all runs
# What a stop interrupts without anybody but the history knowing of it. Others have a record of their own, or no time.
_INTERRUPTED = WAITING | HOLDERS | {"workflow"}
_RECORDED: dict[str, StepStatus] = {"completed": "completed", "failed": "failed", "skipped": "skipped"}

Place = tuple[str, tuple[int, ...]]


class Answer(Protocol):
    """What is looked at of a decided request."""

    @property
    def at(self) -> int:
        """Epoch milliseconds."""


class Answers(Protocol):
    """What is asked of the service of approvals."""

    def answered(self, tenant: str, execution: str) -> Mapping[Place, Answer]:
        """By step and iteration those whose latest request is decided."""


def native_records(history: StepHistory, *, run: int, known: Collection[Place], at: int) -> Iterator[StepRecord]:
    """Records of the steps that have ended by the history, without those of `known`. `at`: epoch microseconds.

    What was interrupted (a wait, an approval, a container) is still running by its record: the execution's status says
    whether it goes on.
    A skipped step has no times of its own: it gets the moment at which it was passed by. Whether the workflow went on after
    a failure is decided when a next run is prepared (`aslant.executions.replay`).
    """
    for seen in history.ordered():
        status = _RECORDED.get(seen.status)
        if seen.status == "cancelled" and seen.type in _INTERRUPTED and seen.started is not None:
            status = "running"
        if status is not None and (seen.step, seen.iteration) not in known:
            yield _record(seen, status, run, at)


def record_run(
    store: ExecutionStore, execution: Execution, history: StepHistory, *, run: Run, completed: bool, at: int, now: int,
    late: bool = False, approvals: Answers | None = None,
) -> None:
    """Stores such records of a run that ended at `at` (epoch milliseconds). `now`: the same, of the clock.

    What had ended in an earlier run and was only passed through again keeps its times, attempts and run; a container does
    if nothing inside of it ended in this one. What really ended now keeps the earliest start. `late`: later runs may have
    told of it by now; so only what nothing is known of is added.

    What a function left running when it was killed has failed, if the machine took it so. An approval ended when it
    was answered, though the machine may have rested then.
    """
    history.finish(completed=completed, at=datetime.fromtimestamp(at / 1000, UTC))
    before = {(step.step, step.iteration): step for step in store.steps(execution.tenant, execution.id)}
    lost = [
        replace(step, status="failed", finished_at=max(step.begun_at, micros(seen.ended) or at * 1000), error=_failure(seen))
        for place, step in before.items()
        if step.status == "running" and not step.native and (step.run == run.number or step.run < run.number and not late)
        and (seen := history.seen.get(place)) is not None and seen.status == "failed"
    ]
    if lost:
        store.fail_lost(execution.tenant, execution.id, lost)
    known = {
        place for place, step in before.items()
        if not step.native or step.run > run.number or (late and step.status != "running")
    }  # fmt: skip
    fresh = {place for place in known if before[place].run == run.number}
    # Its end was told when it was cancelled, or is being undone since.
    over = execution.status in FINAL or (execution.run != run.number and execution.status == "rolling_back")
    asked = any(seen.type == "approval" for seen in history.seen.values())
    answers = approvals.answered(execution.tenant, execution.id) if approvals is not None and asked else {}
    found: list[StepRecord] = []
    records = [*native_records(history, run=run.number, known=known, at=at * 1000)]
    for record in sorted(records, key=lambda record: record.type in HOLDERS):  # those inside first
        place = record.step, record.iteration
        earlier = before.get(place)
        if passed_again(earlier, record.status, run.number) and not (
            record.type in HOLDERS and _any_inside(history.steps, place, fresh)
        ):
            assert earlier is not None
            if record.status == "running":
                continue  # stopped on its way through
            record = replace(
                record, run=earlier.run, attempts=earlier.attempts, total_attempts=earlier.total_attempts, error=earlier.error,
                started_at=earlier.started_at, begun_at=earlier.begun_at, finished_at=earlier.finished_at,
                settled=earlier.settled, first_at=earlier.first_at,
            )  # fmt: skip
        else:
            fresh.add(place)
            record = _continued(record, earlier, run.entered.get(f"{execution.id}/{record.label}"))
            if record.type == "approval" and record.finished_at is not None and place in answers:
                record = replace(record, finished_at=ended_by(answers[place], record.begun_at, record.finished_at))
        if earlier is not None and record.status == earlier.status == "running" and record.run == earlier.run:
            record = replace(record, stopped_at=earlier.stopped_at)
        found.append(replace(record, late=over))
    if found:
        found.sort(key=lambda one: history.seen[one.step, one.iteration].told)  # as it happened: events come in this order
        store.record_native(execution, found, now=now * 1000)


def passed_again(earlier: StepRecord | None, status: str, run: int) -> bool:
    """Whether run number `run` only passes through a native step, which had ended in an earlier one: it has that status again,
    has not come through yet, or was stopped on its way.
    """
    if earlier is None or not earlier.native or earlier.run >= run or status not in (earlier.status, "running", "cancelled"):
        return False
    return earlier.status == "completed" or (earlier.status == "skipped" == status) or (
        earlier.status == "failed" and earlier.settled
    )


def ended_by(answer: Answer, began: int, ended: int) -> int:
    """When an approval ended (epoch microseconds): by its answer, though the machine may have rested then."""
    return min(ended, max(began, answer.at * 1000))


def _any_inside(steps: Mapping[str, StepFacts], outer: Place, places: Collection[Place]) -> bool:
    inside: set[str] = set()
    stack = [outer[0]]
    while stack:
        inner = steps[stack.pop()].get("children", [])
        inside.update(inner)
        stack.extend(inner)
    depth = len(outer[1])
    return any(step in inside and iteration[:depth] == outer[1] for step, iteration in places)


def _continued(record: StepRecord, earlier: StepRecord | None, entered: int | None) -> StepRecord:
    """`entered`: when a wait or an approval began, in whatever run (epoch milliseconds)."""
    if entered is not None and record.type in WAITING and record.status != "skipped":
        began = min(record.begun_at, entered * 1000)
        record = replace(record, started_at=began, begun_at=began, first_at=record.begun_at)
    if earlier is None or "skipped" in (earlier.status, record.status):
        return record
    attempts = earlier.total_attempts - (earlier.attempts if earlier.run == record.run else 0)
    return replace(
        record, started_at=min(record.started_at, earlier.started_at or record.started_at),
        total_attempts=attempts + record.attempts,
    )  # fmt: skip


def _record(seen: SeenStep, status: StepStatus, run: int, at: int) -> StepRecord:
    ended = micros(seen.ended) or at
    started = micros(seen.started) or ended
    return StepRecord(
        step=seen.step, iteration=seen.iteration, status=status, type=seen.type, run=run, attempts=seen.attempts,
        total_attempts=seen.attempts, started_at=started, begun_at=started,
        finished_at=None if status == "running" else max(started, ended),
        output={"outcome": seen.outcome} if seen.outcome else _small(seen.output),
        error=_failure(seen) if status == "failed" else None, native=True,
        outcome=seen.outcome,
    )


def _failure(seen: SeenStep) -> Failure:
    return Failure(seen.error or "Failed", seen.message[:_MAX_MESSAGE], seen.step, seen.iteration)


def _small(output: Any) -> Any:
    return output if output is None or size(output) <= _MAX_OUTPUT else None


def micros(moment: datetime | None) -> int | None:
    """Epoch microseconds; None for no moment."""
    return None if moment is None or moment == datetime.min else round(moment.timestamp() * 1_000_000)
