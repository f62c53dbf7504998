"""Reads step records, turns an execution to rolling_back, and notes what was undone and what was not.

Step Functions stops what runs beside a step that fails, but not the functions: what is still done when the undoing begins is
waited for, and what ends later is noted as not undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from aslant import compensation
from aslant.configs.compensate import CompensateConfig
from aslant.contracts import Json, StepResult
from aslant.errors import ConflictError, RollbackIncomplete
from aslant.executions.launch import machine_input
from aslant.executions.records import Execution
from aslant.executions.states import ACTIVE, TRANSITIONS
from aslant.executions.store import ExecutionStore
from aslant.step import StepRun, result

_SPARE = 5.0  # seconds of an attempt that are kept for what comes after waiting
_TIMES = 10  # that a record somebody else changes at the same moment is written again


class Standing(NamedTuple):
    """What is to be undone, newest completion first, and the labels of steps that are still being done."""

    undo: list[dict[str, Json]]
    doing: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(map(compensation.label, self.undo)) + self.doing


def compensate(
    config: CompensateConfig, run: StepRun, store: ExecutionStore, now: Callable[[], int],
    sleep: Callable[[float], None] = time.sleep,
) -> StepResult:
    """Carries out one action of a rollback. `now` gives epoch milliseconds. Raises RollbackIncomplete."""
    if config.action == "values":
        table = config.reads.get(config.step) or {}
        records = store.steps(run.tenant, run.execution, outputs=True)
        found = compensation.values(records, table, config.iteration)
        if (child := table.get("child")) and found["child"][child] is None:
            found["child"][child] = _about(store, run, child, tuple(config.iteration))
        if child:
            found["child"][child] = _in_its_latest_run(store, run.tenant, found["child"][child])
        return result(found)
    if config.action == "plan":
        return result(_plan(config, run, store, now, sleep))
    return result(_finish(config, run, store, now()))


def _plan(
    config: CompensateConfig, run: StepRun, store: ExecutionStore, now: Callable[[], int], sleep: Callable[[float], None]
) -> Json:
    """{undo, steps, action}: what is undone, newest completion first, and which rollback steps run."""
    decision = compensation.decide(config.request, config.plan)
    nothing: Json = {"action": decision.action, "undo": [], "steps": []}
    if decision.action not in compensation.UNDOING:
        return nothing
    wanted = config.plan.get("undo") or {}
    standing = _standing(run, store, wanted, now())
    earlier = compensation.undone(store.steps(run.tenant, run.execution))
    failed = config.request.get("by") == "failure"
    by_parent = _by_parent(config)

    def begin(before: Execution) -> bool:
        # Not undone until it is: a rollback that breaks off leaves behind what it did not come to.
        pending = standing.labels + decision.steps
        if before.status == "rolling_back" or by_parent:
            undone = tuple(dict.fromkeys((*before.undone, *earlier)))
            store.amend(before, replace(before, undone=undone, not_undone=pending))
        elif failed and before.status not in ("pending", "running"):
            return False  # paused or cancelled at this moment: a later run finds the failure again, if there is one
        elif "rolling_back" in TRANSITIONS[before.status]:
            after = replace(before, status="rolling_back", changed_at=now(), finished_at=None, not_undone=pending)
            store.transition(before, after, by="rollback", reason=decision.action)
        return True

    if not _change(run, store, begin):
        return nothing | {"action": "fail"}
    if standing.doing:
        pause = 0.1
        while standing.doing and run.remaining() > _SPARE + pause:
            sleep(pause)
            pause = min(5.0, 1.5 * pause)
            standing = _standing(run, store, wanted, now())
        if not _change(run, store, begin):
            return nothing | {"action": "fail"}
    return {"action": decision.action, "undo": standing.undo, "steps": list(decision.steps)}


def _standing(run: StepRun, store: ExecutionStore, wanted: Mapping[str, Mapping[str, Json]], now: int) -> Standing:
    """`wanted` has the steps with a compensation, as in `compensation.undos`."""
    children = _children(store, run) if any(one.get("child") for one in wanted.values()) else {}
    records = store.steps(run.tenant, run.execution)
    ended = {(record.step, record.iteration) for record in records if record.status in ("completed", "failed")}
    mine = {place: child for place, child in children.items() if place[0] in wanted and place not in ended}
    # A child that was stopped, or that ended when nobody listened any more.
    stopped = {place: 1000 * child.changed_at for place, child in mine.items() if child.status in ("cancelled", "completed")}
    doing = [
        record.label for record in records
        if record.status in ("running", "failed") and not record.native and record.step in wanted
        and (record.lease_until or 0) > 1000 * now
    ]
    doing += [
        compensation.label({"step": step, "iteration": iteration})
        for (step, iteration), child in mine.items() if child.status in ACTIVE
    ]
    return Standing(compensation.undos(records, wanted, stopped), tuple(doing))


def _finish(config: CompensateConfig, run: StepRun, store: ExecutionStore, now: int) -> Json:
    """{undone, not_undone}: labels of steps, and ids of rollback steps that failed among what was not undone."""
    made = compensation.outcome(config.undo, config.results, config.steps)
    wanted = config.plan.get("undo") or {} if config.decided in compensation.UNDOING else {}
    planned = {compensation.label(one) for one in config.undo}
    late = tuple(label for label in _standing(run, store, wanted, now).labels if label not in planned)
    left = late + made.not_undone + made.failed

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


def _in_its_latest_run(store: ExecutionStore, tenant: str, given: Json) -> Json:
    """What a child was started with, for its latest run: it may have been replayed since the step recorded this, and what an
    earlier run does is stopped as late.
    """
    info = given.get("execution") if isinstance(given, dict) else None
    child = store.read(tenant, str(info.get("id"))) if isinstance(info, dict) else None
    if not isinstance(given, dict) or not isinstance(info, dict) or child is None:
        return given
    return {**given, "execution": {**info, "run": child.run}}


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
