"""Starting a run: its input is made of what is stored only, so that starting it again is the same start."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from aslant.claims import Claims
from aslant.contracts import INPUT_SHARE, MAX_INPUT, ExecutionInfo
from aslant.errors import ConflictError, StepError
from aslant.executions.family import changed_to
from aslant.executions.naming import run_name
from aslant.executions.records import Execution, Failure, Run
from aslant.executions.states import ACTIVE
from aslant.executions.store import ExecutionStore
from aslant.ports import Machines
from aslant.values import size

Json = Any

# What the machines of a version take of what an execution was given (`fitted`).
Fit = Callable[[Execution, str, Mapping[str, Json]], Mapping[str, Json]]


@dataclass(frozen=True, slots=True)
class Launcher:
    """Starts runs. `clock` gives epoch milliseconds."""

    store: ExecutionStore
    machines: Machines
    clock: Callable[[], int]
    fit: Fit | None = None

    def input(self, execution: Execution, run: Run, given: Mapping[str, Json] | None = None) -> dict[str, Json]:
        """The input of a run's machine, of what is stored (or `given`, which is the same). Raises PayloadTooLarge for what it
        cannot take.
        """
        given = self.store.input(execution.tenant, execution.id) if given is None else given
        return machine_input(self.fit(execution, run.version, given) if self.fit is not None else given, execution, run)

    def launch(self, execution: Execution, run: Run, given: Mapping[str, Json] | None = None) -> Execution:
        """Starts a run that is stored, unless it has started. One that cannot be started fails the execution.

        `given` is the input that was stored, for whoever has just done that.
        """
        try:
            self.machines.start(run.machine, run_name(execution.id, run.number), self.input(execution, run, given))
        except StepError as error:
            if error.retryable or isinstance(error, ConflictError) or execution.status not in ACTIVE:
                raise  # it may have started, or somebody else did start it: calling again tells
            failure = Failure(type(error).__name__, str(error))
            after = changed_to(execution, "failed", now=self.clock(), reason="it could not be started")
            with contextlib.suppress(ConflictError):
                self.store.transition(execution, replace(after, error=failure), by=run.by, reason=after.reason)
            raise
        return execution


def fitted(claims: Claims, looked_into: Sequence[str], id: str, given: Mapping[str, Json]) -> dict[str, Json]:
    """`given` (input and context) with what the machines do not look into as claims of the execution, where it is large.

    Raises PayloadTooLarge when they look into too much.
    """
    room = MAX_INPUT - size(given.get("context") or {})
    return {**given, "input": claims.fit(
        given["input"], id, over=INPUT_SHARE, keep=looked_into, open=("",), most=room, what="input"
    )}


def machine_input(given: Mapping[str, Json], execution: Execution, run: Run) -> dict[str, Json]:
    """The input of a run's machine (`aslant.contracts.MachineInput`). `given` is what the execution was created with.

    A rollback's machine is also told who asks for it, and what the execution failed with.
    """
    info = ExecutionInfo(
        id=execution.id, tenant=execution.tenant, workflow=execution.workflow, version=run.version, run=run.number,
        started_at=datetime.fromtimestamp(execution.started_at / 1000, UTC).isoformat(timespec="milliseconds"),
        user=execution.user,
    )
    if execution.parent is not None:
        info["parent"] = {
            "execution": execution.parent.execution, "step": execution.parent.step,
            "iteration": list(execution.parent.iteration), "attempt": execution.parent.attempt,
        }
    if run.entered:
        info["entered"] = dict(run.entered)
    result: dict[str, Json] = {"input": given["input"], "context": given.get("context") or {}, "execution": info}
    if not run.own:
        error = execution.error
        failed = {"error": error.error, "message": error.message, "step": error.step} if error is not None else None
        result["rollback"] = {"by": "request", "action": "rollback" if run.why == "rollback" else "cancel", "error": failed}
        if "finally" in (run.why, run.detail):
            result["rollback"]["finally"] = True
    return result
