"""The Lambda function of notify steps."""

from __future__ import annotations

from aslant import bootstrap, messages
from aslant.configs.notify import NotifyConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, result, step


@step("notify", NotifyConfig)
def handler(config: NotifyConfig, run: StepRun) -> StepResult:
    sent = messages.send(config, run, bootstrap.messages(run.settings))
    return result({"sent": sent}, calls=len(sent))
