"""Executions that were started with a time limit of their own: a timer stops them, as the engine does by its limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from aslant import ports, sla
from aslant.executions.records import Execution
from aslant.executions.store import ExecutionStore

ERROR = "States.Timeout"  # what a run that is stopped for its time ends with


def arm(timers: ports.Timers, execution: Execution) -> None:
    """Sets the timer of an execution that starts; nothing happens without a limit. May be repeated."""
    seconds = execution.options.get("timeout_seconds")
    if seconds:
        _set(timers, execution, execution.started_at // 1000 + int(seconds) + 1)


def _set(timers: ports.Timers, execution: Execution, at: int) -> None:
    name = json.dumps(["timeout", execution.tenant, execution.id])
    timers.set(name, at, sla.FUNCTION, {"tenant": execution.tenant, "execution": execution.id, "timeout": True})


@dataclass(frozen=True, slots=True)
class Timeouts:
    """`clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: ports.Machines
    timers: ports.Timers
    clock: Callable[[], int]

    def look(self, tenant: str, id: str) -> bool:
        """Stops the first run of an execution whose time is over; whether it did. What is paused or runs again may go on."""
        execution = self.store.read(tenant, id)
        if execution is None or execution.status != "running" or not execution.options.get("timeout_seconds"):
            return False
        seconds = int(execution.options["timeout_seconds"])
        if execution.started_at + seconds * 1000 > self.clock():  # the timer was early
            _set(self.timers, execution, execution.started_at // 1000 + seconds + 1)
            return False
        if any(run.number != execution.run for run in self.store.runs(tenant, id)):
            return False
        self.machines.stop(execution.arn, ERROR, f"it took longer than {seconds} seconds, the limit that it was started with")
        return True
