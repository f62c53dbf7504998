"""The Lambda function of scale steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.kubernetes import ScaleConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.scale import logic


@step("scale", ScaleConfig)
def handler(config: ScaleConfig, run: StepRun) -> StepResult:
    return logic.call(
        config, run,
        lambda name, remaining: bootstrap.cluster(run.settings, name, run.tenant, run.redactor, remaining),
        lambda: bootstrap.ecs_services(run.settings),
    )
