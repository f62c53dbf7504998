"""The Lambda function of transform steps."""

from __future__ import annotations

from aslant.configs.transform import TransformConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.transform import logic


@step("transform", TransformConfig)
def handler(config: TransformConfig, run: StepRun) -> StepResult:
    return logic.transform(config, run)
