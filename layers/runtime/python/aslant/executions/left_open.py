"""Steps whose end nobody else tells: cut short with their execution, or left by a function that was killed while undoing."""

from __future__ import annotations

from dataclasses import replace

from aslant.executions.records import Execution, Failure
from aslant.executions.store import ExecutionStore
from aslant.releases import Release

_SILENT = Failure("States.TaskFailed", "its function ended without a word")


def cut_short(store: ExecutionStore, execution: Execution, at: int) -> None:
    """Notes of steps that are open that their execution has ended at `at` (epoch milliseconds), or is undone since then.

    A function may be at work all the same, and what it finishes counts.
    """
    open_ = [
        replace(step, stopped_at=max(step.begun_at, at * 1000)) for step in store.steps(execution.tenant, execution.id)
        if step.status == "running" and step.stopped_at is None
    ]
    if open_:
        store.cut_short(execution.tenant, execution.id, open_)


def fail_silent_undos(store: ExecutionStore, execution: Execution, release: Release, run: int, at: int) -> None:
    """What a machine that undoes or ends, of run number `run`, has left running when it came to its end at `at` has failed."""
    own = any(one.own for one in store.runs(execution.tenant, execution.id) if one.number == run)
    lost = [
        replace(step, status="failed", finished_at=max(step.begun_at, at * 1000), error=replace(
            _SILENT, step=step.step, iteration=step.iteration
        ))
        for step in store.steps(execution.tenant, execution.id)
        if step.status == "running" and not step.native and step.run == run and not (own and step.step in release["steps"])
    ]
    if lost:
        store.fail_lost(execution.tenant, execution.id, lost)
