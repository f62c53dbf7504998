"""The Lambda function of email steps."""

from __future__ import annotations

from aslant import bootstrap
from aslant.configs.email import EmailConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.email import logic


@step("email", EmailConfig)
def handler(config: EmailConfig, run: StepRun) -> StepResult:
    settings = run.settings
    return logic.send(config, run, logic.Ports(
        artifacts=lambda: bootstrap.artifacts(settings), templates=lambda: bootstrap.template_post(settings),
        post=lambda: bootstrap.smtp_post(settings, config.smtp) if config.smtp else bootstrap.post(settings),
    ))
