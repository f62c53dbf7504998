"""Steps whose invocations are killed, doubled and starved; side effects are counted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from aslant.configs.base import Config
from aslant.contracts import Json
from aslant.ports import StepKey
from aslant.step import StepRun, result, step
from tests.mortal import Killed

__all__ = ["KEY", "Context", "Effects", "Faulty", "Killed", "event"]

KEY = StepKey("acme", "e1", "pay")


class Empty(Config):
    pass


class Effects:
    """A step that does something which must not be done twice. `act` is called with the number of the call."""

    def __init__(self, act: Callable[[int], Json] | None = None) -> None:
        self.count = 0
        self.keys: set[str] = set()
        self.runs: list[StepRun] = []
        self._act = act or (lambda number: {"receipt": number})
        self._lock = threading.Lock()

    def handler(self) -> Any:
        @step("test", Empty)
        def pay(config: Empty, run: StepRun) -> Any:
            with self._lock:
                self.count += 1
                number = self.count
                self.keys.add(run.idempotency_key)
                self.runs.append(run)
            return result(self._act(number), calls=1)

        return pay


class Context:
    """Lambda's context, with some seconds left."""

    memory_limit_in_mb = "256"

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return round(self._seconds * 1000)


def event(run: int = 1, **more: Any) -> dict[str, Any]:
    return {"step": "pay", "execution": {"id": "e1", "tenant": "acme", "workflow": "w", "run": run}, "config": {}, **more}


class Faulty:
    """A store with something in front of each request: `before` and `after` are called with its name."""

    def __init__(self, store: Any, before: Callable[[str], None] | None = None,
                 after: Callable[[str], None] | None = None) -> None:
        self.store, self._before, self._after = store, before, after

    def _call(self, name: str, *given: Any, **named: Any) -> Any:
        if self._before:
            self._before(name)
        answer = getattr(self.store, name)(*given, **named)
        if self._after:
            self._after(name)
        return answer

    def begin(self, *given: Any, **named: Any) -> Any:
        return self._call("begin", *given, **named)

    def finish(self, *given: Any, **named: Any) -> Any:
        return self._call("finish", *given, **named)

    def fail(self, *given: Any, **named: Any) -> Any:
        return self._call("fail", *given, **named)
