"""Functions that are killed: what the soak and the random executions have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aslant.executions.records import StepRecord
from aslant.ports import StepKey, StepStore


class Killed(BaseException):
    """The end of a process. No handler sees it."""


Killed.__name__ = "Runtime.ExitError"  # as Lambda calls it


class MortalSteps:
    """Step records whose caller may be killed at the four points of a step.

    `kill(where)` raises Killed when it is time to; `lost` is told of steps whose effect was not recorded because of that: the key, and the run since which it acts again.
    """

    def __init__(self, store: StepStore, kill: Callable[[str], None], lost: Callable[[StepKey, int], None]) -> None:
        self.store, self.kill, self.lost = store, kill, lost

    def begin(self, key: StepKey, **given: Any) -> tuple[bool, StepRecord]:
        self.kill("before begin")
        answer = self.store.begin(key, **given)
        self.kill("after begin")
        return answer

    def finish(self, key: StepKey, began: StepRecord, **given: Any) -> StepRecord:
        try:
            self.kill("after the effect")
        except Killed:
            self.lost(key, began.since)
            raise
        answer = self.store.finish(key, began, **given)
        self.finished(key, began, answer)
        self.kill("after finish")
        return answer

    def finished(self, key: StepKey, began: StepRecord, answer: StepRecord) -> None:
        """For whoever wants to look at it."""

    def fail(self, key: StepKey, began: StepRecord, **given: Any) -> None:
        self.store.fail(key, began, **given)
