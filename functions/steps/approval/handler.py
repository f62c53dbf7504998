"""The Lambda function of approval steps."""

from __future__ import annotations

from aslant import bootstrap, clock
from aslant.configs.approval import ApprovalConfig
from aslant.contracts import StepResult
from aslant.step import StepRun, step
from functions.steps.approval import logic


@step("approval", ApprovalConfig, records=False)  # it ends when somebody answers
def handler(config: ApprovalConfig, run: StepRun) -> StepResult:
    return logic.ask(
        config, run, lambda: bootstrap.approvals(run.settings), bootstrap.approval_notices(run.settings), clock.now()
    )
