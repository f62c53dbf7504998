"""Asks people: stores the request with its task token. The answer comes by `aslant.approvals`, not from here."""

from __future__ import annotations

from collections.abc import Callable

from aslant.approvals.rules import decided
from aslant.approvals.service import Approvals, Notify
from aslant.configs.approval import ApprovalConfig
from aslant.contracts import StepResult
from aslant.errors import ValidationError
from aslant.keys import ApprovalRef
from aslant.step import StepRun, result


def ask(config: ApprovalConfig, run: StepRun, approvals: Callable[[], Approvals], notify: Notify, now: float) -> StepResult:
    """Stores the request and tells its people; the output is its `approval_id`. `now` is epoch seconds.

    With `auto_approve` the decision is made at once: it is the output, and the state machine is called back if it waits.
    """
    if config.auto_approve:
        decision = decided({}, "approve", by="auto_approve", comment="", answer=None, now=now)
        if run.token:
            approvals().callbacks.success(run.token, decision)
        return result(decision)
    if not run.token:
        raise ValidationError("an approval needs a task token: it must be called with .waitForTaskToken")
    # What is asked is kept, and read by people: no place for a secret's value.
    config = ApprovalConfig.model_validate(run.redactor.json(config.model_dump(exclude_unset=True)))
    service = approvals()
    ref = ApprovalRef(run.execution, run.step, run.iteration, run.attempt)
    item, told = service.request(
        config, tenant=run.tenant, ref=ref, token=run.token, workflow=run.workflow, requester=run.user,
        entered=run.entered if run.attempt == 0 else None,
    )
    if not told and item["status"] == "pending":
        service.tell(item, "asked", notify)
    return result({"approval_id": item["approval_id"], "status": item["status"]})
