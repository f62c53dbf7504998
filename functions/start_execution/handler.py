"""The Lambda function that schedules call: it starts an execution of the workflow whose trigger it is."""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, observability
from aslant.errors import ValidationError
from aslant.settings import Settings
from functions.start_execution.logic import start_scheduled


def handler(event: Any, context: Any) -> dict[str, Any]:
    """`event` is {tenant, workflow, trigger, at}. Gives {execution}, empty when the trigger's policy leaves this time out.

    The same call again is the same start. An error makes Scheduler call it again.
    """
    observability.listen()
    names = ("tenant", "workflow", "trigger", "at")
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in names):
        raise ValidationError("this is no call of a schedule: it needs `tenant`, `workflow`, `trigger` and `at`")
    settings = Settings.read()
    started = start_scheduled(
        bootstrap.executions(settings), bootstrap.releases(settings), bootstrap.timers(settings),
        *(event[name] for name in names),
    )
    return {"execution": started}
