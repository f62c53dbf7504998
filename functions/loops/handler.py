"""The Lambda function that collects what the items of a Distributed Map gave."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.loop import LoopConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.loops import logic


@step("loop", LoopConfig, records=False)
def handler(config: LoopConfig, run: StepRun) -> StepResult:
    # Not recorded: it only reads what is there, and a failure that it passes on is that of another step.
    return logic.loop(config, run, bootstrap.artifacts(run.settings))
