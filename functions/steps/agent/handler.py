"""The Lambda function of agent steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.agent import AgentConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.agent import logic


@step("agent", AgentConfig)
def handler(config: AgentConfig, run: StepRun) -> StepResult:
    settings = run.settings
    return logic.ask(config, run, logic.Ports(
        models=lambda endpoint: bootstrap.models(settings, config, endpoint),
        secrets=lambda: bootstrap.secrets(settings), artifacts=lambda: bootstrap.artifacts(settings),
        spending=lambda: bootstrap.spending(settings), events=lambda: bootstrap.events(settings),
        http=lambda: bootstrap.http(settings), functions=lambda: bootstrap.functions(settings),
    ))
