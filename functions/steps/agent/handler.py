"""The Lambda function of agent steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.agent import AgentConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.agent import logic


@step("agent", AgentConfig)
def handler(config: AgentConfig, run: StepRun) -> StepResult:
    return logic.ask(config, run, bootstrap.models(run.settings, config.output_format))
