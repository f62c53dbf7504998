"""The Lambda function that tells a machine what to undo, and notes what became of it."""

from __future__ import annotations

from aslant import bootstrap, clock
from aslant.configs.compensate import CompensateConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.compensate import logic


@step("compensate", CompensateConfig, records=False)
def handler(config: CompensateConfig, run: StepRun) -> StepResult:
    # Not recorded: what a rollback finds to undo is different when it is repeated.
    return logic.compensate(config, run, bootstrap.execution_store(run.settings), lambda: round(clock.now() * 1000))
