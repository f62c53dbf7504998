"""The Lambda function of notify steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.notify import NotifyConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.notify import logic


@step("notify", NotifyConfig)
def handler(config: NotifyConfig, run: StepRun) -> StepResult:
    settings = run.settings
    ports = logic.Ports(
        topics=lambda: bootstrap.topics(settings), mailer=lambda: bootstrap.mailer(settings),
        events=lambda: bootstrap.events(settings), http=lambda: bootstrap.http(settings),
    )
    return logic.notify(config, run, ports)
