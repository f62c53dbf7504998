"""The Lambda function of deploy steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.kubernetes import DeployConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.deploy import logic


@step("deploy", DeployConfig)
def handler(config: DeployConfig, run: StepRun) -> StepResult:
    return logic.call(config, run, logic.Ports(
        lambda name, remaining: bootstrap.cluster(run.settings, name, run.tenant, run.redactor, remaining),
        lambda: bootstrap.ecs_services(run.settings), lambda: bootstrap.artifacts(run.settings),
    ))
