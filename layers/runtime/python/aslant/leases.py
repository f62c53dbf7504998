"""One step under its lease: begin, wait for whoever has it, record how it ended.

Step records are what an execution knows of its steps. A crash between any two calls here repeats no completed step, loses no
recorded result, and locks the step no longer than its lease.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from aslant import clock
from aslant.contracts import Json
from aslant.errors import StepError, StepInProgress
from aslant.executions.records import Failure, StepRecord
from aslant.ports import StepKey, StepStore

T = TypeVar("T")

_SLACK = 2.0        # seconds that a lease outlives its attempt: clocks differ, and an attempt overshoots a little
_POLL = 1.0         # seconds between looks at a step that somebody else runs
_BEGINNING = 5.0    # seconds in which a request to begin is repeated: the machine makes another attempt anyway
_FAILING = 3.0      # seconds in which a failure is tried to be recorded: without, the next attempt waits for the lease
_PAUSE = 0.05       # seconds before the first repetition, doubled up to a second


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` is in epoch microseconds, as records have it; `pace` of its seconds pass in a real one; `sleep` takes real ones."""

    now: Callable[[], int] = lambda: round(clock.now() * 1e6)
    sleep: Callable[[float], None] = time.sleep
    pace: Callable[[], float] = clock.pace


@dataclass(slots=True)
class Lease:
    """An invocation's hold on a step.

    `limit` are the real seconds of this attempt, `longest` those until the function ends. `began` is when the step began
    (epoch microseconds), where somebody else has done what is only recorded.
    """

    store: StepStore
    key: StepKey
    type: str
    run: int
    workflow: str
    limit: float
    longest: float
    began: int | None = None
    clock: Clock = field(default_factory=Clock)
    owner: str = field(default_factory=lambda: uuid.uuid4().hex)
    _start: int = 0

    def __post_init__(self) -> None:
        self._start = self.clock.now()

    def begin(self) -> StepRecord:
        """The record: running and ours, or completed, or settled.

        Waits while somebody else runs the step. Raises StepInProgress when that takes longer than this attempt may, when
        it ends with less than half of this attempt left, and when a later run has the step.
        """
        while True:
            mine, record = self._begin()
            if mine or record.settled or record.status == "completed":
                return record
            if record.status not in ("running", "failed") or record.run > self.run:
                raise StepInProgress(f"run {record.run} of the execution has this step now")
            pause = min(_POLL, self.limit / 20)
            # The machine stops listening at the deadline, and its clock started before ours.
            if self._left(self.limit - min(1.0, self.limit / 4)) <= pause:
                raise StepInProgress("another attempt is still running this step")
            self.clock.sleep(pause)
            if self._left(self.limit / 2) <= 0 and self.clock.now() > (record.lease_until or 0):
                raise StepInProgress("another attempt had this step until too little time was left")

    def finish(self, began: StepRecord, output: Json, usage: Mapping[str, float]) -> StepRecord:
        """The record that counts: of this attempt, or of who was faster.

        Work that cannot be recorded is not done: raises StepInProgress, which the machine retries.
        """
        try:
            return self._repeated(lambda: self.store.finish(
                self.key, began, now=self.clock.now(), output=output, usage=usage,
            ), self.longest)  # fmt: skip
        except StepError as error:
            raise StepInProgress(f"its result could not be recorded: {error}") from None

    def fail(self, began: StepRecord, failure: Failure, usage: Mapping[str, float]) -> None:
        """Records a failed attempt, so that the next one need not wait; without success it has to."""
        try:
            self._repeated(lambda: self.store.fail(
                self.key, began, now=self.clock.now(), failure=failure, usage=usage,
            ), min(self.longest, self.limit + _FAILING))  # fmt: skip
        except StepError:
            return

    def _begin(self) -> tuple[bool, StepRecord]:
        lease_until = self._start + round((self.limit + min(_SLACK, self.limit / 5)) * self.clock.pace() * 1e6)
        try:
            return self._repeated(lambda: self.store.begin(
                self.key, type=self.type, run=self.run, owner=self.owner, now=self.clock.now(), lease_until=lease_until,
                workflow=self.workflow, began=self.began,
            ), self.limit - self._left(self.limit) + min(_BEGINNING, self._left(self.limit) / 2))  # fmt: skip
        except StepError as error:
            if not error.retryable:
                raise
            raise StepInProgress(f"the step could not be begun: {error}") from None

    def _repeated(self, request: Callable[[], T], until: float) -> T:
        """A request, repeated while its failure is a passing one and `until` (seconds from the start) has not come."""
        pause = _PAUSE
        while True:
            try:
                return request()
            except StepError as error:
                if not error.retryable or self._left(until) <= pause:
                    raise
            self.clock.sleep(pause)
            pause = min(1.0, 2 * pause)

    def _left(self, until: float) -> float:
        """Real seconds until `until`."""
        return until - (self.clock.now() - self._start) / 1e6 / self.clock.pace()
