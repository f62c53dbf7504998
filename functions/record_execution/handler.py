"""The Lambda function that EventBridge gives every change of status of our state machines' executions.

An error makes Lambda try the notice again, and then put it into the dead-letter queue: whatever can be repeated is raised.
"""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, clock, observability
from aslant.errors import ValidationError
from aslant.notices import read_notice
from aslant.recording import Recorder
from aslant.settings import Settings


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Gives tenant, execution, run and status of the execution that the notice was about; nothing for another's."""
    observability.listen()
    try:
        notice = read_notice(event)
    except ValidationError as error:  # trying it again would not make it one
        observability.log("ERROR", str(error), {})
        return {}
    settings = Settings.read()
    recorder = Recorder(
        bootstrap.execution_store(settings), bootstrap.machines(settings), bootstrap.releases(settings),
        bootstrap.timers(settings), lambda: round(clock.now() * 1000),
    )
    execution = recorder.record(notice)
    if execution is None:
        return {}
    return {"tenant": execution.tenant, "execution": execution.id, "run": execution.run, "status": execution.status}
