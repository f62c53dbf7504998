"""Reads step records, turns an execution to rolling_back, and notes what was undone and what was not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aslant import compensation
from aslant.configs.compensate import CompensateConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ConflictError, RollbackIncomplete
from aslant.executions.launch import machine_input
from aslant.executions.records import Execution
from aslant.executions.states import TRANSITIONS
from aslant.executions.store import ExecutionStore
from aslant.step import StepRun, result

_TIMES = 10  # that a record somebody else changes at the same moment is written again


def compensate(config: CompensateConfig, run: StepRun, store: ExecutionStore, now: int) -> StepResult:
    """Carries out one action of a rollback. `now` is epoch milliseconds. Raises RollbackIncomplete."""
    if config.action == "values":
        table = config.reads.get(config.step) or {}
        records = store.steps(run.tenant, run.execution, outputs=True)
        found = compensation.values(records, table, config.iteration)
        if (child := table.get("child")) and found["child"][child] is None:
            found["child"][child] = _about(store, run, child, tuple(config.iteration))
        return result(found)
    if config.action == "plan":
        return result(_plan(config, run, store, now))
    return result(_finish(config, run, store))


def _plan(config: CompensateConfig, run: StepRun, store: ExecutionStore, now: int) -> Json:
    """{undo, steps, action}: what is undone, newest completion first, and which rollback steps run."""
    decision = compensation.decide(config.request, config.plan)
    nothing: Json = {"action": decision.action, "undo": [], "steps": []}
    if decision.action not in compensation.UNDOING:
        return nothing
    records = store.steps(run.tenant, run.execution)
    wanted = config.plan.get("undo") or {}
    stopped: dict[compensation.Place, int] = {}
    # When a step fails, what runs beside it may not have come to rest yet: then only what has completed is undone.
    if config.request.get("by") != "failure" and any(one.get("child") for one in wanted.values()):
        stopped = {
            place: 1000 * child.changed_at for place, child in _children(store, run).items() if child.status == "cancelled"
        }
    undo = compensation.undos(records, wanted, stopped)
    pending = tuple(map(compensation.label, undo)) + decision.steps

    failed = config.request.get("by") == "failure"
    by_parent = _by_parent(config)
    earlier = compensation.undone(records)

    def begin(before: Execution) -> bool:
        # Not undone until it is: a rollback that breaks off leaves behind what it did not come to.
        if before.status == "rolling_back" or by_parent:
            undone = tuple(dict.fromkeys((*before.undone, *earlier)))
            store.amend(before, replace(before, undone=undone, not_undone=pending))
        elif failed and before.status not in ("pending", "running"):
            return False  # paused or cancelled at this moment: a later run finds the failure again, if there is one
        elif "rolling_back" in TRANSITIONS[before.status]:
            after = replace(before, status="rolling_back", changed_at=now, finished_at=None, not_undone=pending)
            store.transition(before, after, by="rollback", reason=decision.action)
        return True

    if not _change(run, store, begin):
        return nothing | {"action": "fail"}
    return {"action": decision.action, "undo": undo, "steps": list(decision.steps)}


def _finish(config: CompensateConfig, run: StepRun, store: ExecutionStore) -> Json:
    """{undone, not_undone}: labels of steps, and ids of rollback steps that failed among what was not undone."""
    made = compensation.outcome(config.undo, config.results, config.steps)
    left = made.not_undone + made.failed

    def note(before: Execution) -> bool:
        if before.status == "rolling_back" or _by_parent(config):
            undone = tuple(dict.fromkeys((*before.undone, *made.undone)))
            store.amend(before, replace(before, undone=undone, not_undone=left))
        return True

    _change(run, store, note)
    if left:
        raise RollbackIncomplete(f"not undone: {', '.join(left)}")
    return {"undone": list(made.undone), "not_undone": []}


def _by_parent(config: CompensateConfig) -> bool:
    """Whether a parent undoes the execution, which has ended: it keeps its status."""
    return config.request.get("by") == "parent"


def _children(store: ExecutionStore, run: StepRun) -> dict[compensation.Place, Execution]:
    """The latest execution that each step has started."""
    found: dict[compensation.Place, Execution] = {}
    for child in sorted(store.children(run.tenant, run.execution), key=lambda child: child.attempt):
        execution = store.read(run.tenant, child.id)
        if execution is not None:
            found[child.step, child.iteration] = execution
    return found


def _about(store: ExecutionStore, run: StepRun, step: str, iteration: tuple[int, ...]) -> Json:
    """What the child of a step was started with, if the step did not come to record it."""
    child = _children(store, run).get((step, iteration))
    if child is None:
        return None
    own = [one for one in store.runs(child.tenant, child.id) if one.own]
    return machine_input(store.input(child.tenant, child.id), child, own[-1]) if own else None


def _change(run: StepRun, store: ExecutionStore, change: Callable[[Execution], bool]) -> bool:
    """What a change of the execution's record gives; True when there is none: a machine may be started by hand, without."""
    for _ in range(_TIMES):
        before = store.read(run.tenant, run.execution)
        if before is None:
            return True
        try:
            return change(before)
        except ConflictError:
            continue
    raise ConflictError(f"the execution {run.execution} changes all the time")
