"""The Lambda function of aggregate steps."""

from __future__ import annotations

from aslant.configs.aggregate import AggregateConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.aggregate import logic


@step("aggregate", AggregateConfig)
def handler(config: AggregateConfig, run: StepRun) -> StepResult:
    return logic.aggregate(config, run)
