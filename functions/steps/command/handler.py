"""The Lambda function of command steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.command import CommandConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.command import logic


@step("command", CommandConfig)
def handler(config: CommandConfig, run: StepRun) -> StepResult:
    return logic.call(config, run, bootstrap.commands(run.settings))
