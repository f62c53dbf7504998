"""Time limits of executions, where the engine does not keep them: a timer stops the run, as the engine does by its limit.

The engine's limit is one of each run. So a start's own limit is kept here, and the workflow's where a run goes on after a rest:
what has been worked counts, the pause does not, and resuming gives no new time. A retry, a rerun and a restore begin anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aslant import ports, sla
from aslant.errors import NotFoundError
from aslant.executions.records import Execution, Transition
from aslant.executions.states import FINAL
from aslant.executions.store import ExecutionStore
from aslant.releases import Release

ERROR = "States.Timeout"  # what a run that is stopped for its time ends with
_ANEW = ("retry", "rerun", "restore")
_WORKING = ("pending", "running")


def arm(timers: ports.Timers, execution: Execution) -> None:
    """Sets the timer of an execution that starts; nothing happens without a limit. May be repeated."""
    seconds = execution.options.get("timeout_seconds")
    if seconds:
        _set(timers, execution, execution.started_at + int(seconds) * 1000)


def _set(timers: ports.Timers, execution: Execution, at: float) -> None:
    """`at` is epoch milliseconds; the timer comes in the second after."""
    name = json.dumps(["timeout", execution.tenant, execution.id])
    payload = {"tenant": execution.tenant, "execution": execution.id, "timeout": True}
    timers.set(name, int(at // 1000) + 1, sla.FUNCTION, payload)


def worked(transitions: Sequence[Transition], now: int) -> int:
    """Milliseconds that an execution has worked since it was started, or was started anew."""
    begins = [
        index for index, one in enumerate(transitions)
        if one.after in _WORKING and (not one.before or one.before in FINAL or one.reason in _ANEW)
    ]
    since = transitions[begins[-1] :] if begins else transitions
    ends = [*(one.at for one in since[1:]), now]
    return sum(max(0, end - one.at) for one, end in zip(since, ends, strict=True) if one.after in _WORKING)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """`clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: ports.Machines
    timers: ports.Timers
    releases: ports.Releases
    clock: Callable[[], int]

    def again(self, execution: Execution, release: Release | None) -> None:
        """Sets the timer of an execution whose further run has begun."""
        seconds = self._limit(execution, release)
        if seconds is not None and execution.run > 1:
            left = seconds * 1000 - worked(self.store.transitions(execution.tenant, execution.id), self.clock())
            _set(self.timers, execution, self.clock() + max(0, left))

    def look(self, tenant: str, id: str) -> bool:
        """Stops an execution whose time is over; whether it did. What is paused has time to rest."""
        execution = self.store.read(tenant, id)
        if execution is None or execution.status != "running":
            return False
        seconds = self._limit(execution, self._release(execution))
        if seconds is None:
            return False
        left = seconds * 1000 - worked(self.store.transitions(tenant, id), self.clock())
        if left > 0:  # the timer was early, or the execution has rested meanwhile
            _set(self.timers, execution, self.clock() + left)
            return False
        self.machines.stop(execution.arn, ERROR, f"it took longer than {seconds:g} seconds, its limit")
        return True

    def _limit(self, execution: Execution, release: Release | None) -> float | None:
        """Seconds: the shorter limit of those that count."""
        own = execution.options.get("timeout_seconds")
        # In a first run the engine keeps the workflow's; it gives later ones the whole time again.
        of_workflow = release["settings"].get("timeout") if release is not None and execution.run > 1 else None
        return min((float(one) for one in (own, of_workflow) if one), default=None)

    def _release(self, execution: Execution) -> Release | None:
        try:
            return self.releases.get(execution.tenant, execution.workflow, execution.version)
        except NotFoundError:
            return None
