"""The Lambda function of skill steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.skill import SkillConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.skill import logic


@step("skill", SkillConfig)
def handler(config: SkillConfig, run: StepRun) -> StepResult:
    return logic.call(config, run, lambda: bootstrap.http(run.settings), lambda: bootstrap.functions(run.settings))
