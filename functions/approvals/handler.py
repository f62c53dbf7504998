"""The Lambda function behind the timers of approvals: reminders, the end of their time, call-backs that got lost."""

from __future__ import annotations

from typing import Any

from aslant import bootstrap
from aslant.errors import ValidationError
from aslant.settings import Settings


def handler(event: Any, context: Any) -> None:
    """`event` is {tenant, approval}. Raises ValidationError for anything else."""
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in ("tenant", "approval")):
        raise ValidationError("this is no call of an approval's timer: it needs `tenant` and `approval`")
    settings = Settings.read()
    bootstrap.approvals(settings).wake(event["tenant"], event["approval"], bootstrap.approval_notices(settings))
