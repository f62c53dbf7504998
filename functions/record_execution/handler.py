"""The Lambda function that EventBridge gives every change of status of our state machines' executions.

An error makes Lambda try the notice again, and then put it into the dead-letter queue: whatever can be repeated is raised.
"""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, observability
from aslant.errors import ValidationError
from aslant.notices import read_notice
from aslant.settings import Settings


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Gives tenant, execution, run and status of the execution that the notice was about; nothing for another's."""
    observability.listen()
    try:
        notice = read_notice(event)
    except ValidationError as error:  # trying it again would not make it one
        observability.log("ERROR", str(error), {})
        return {}
    execution = bootstrap.recorder(Settings.read()).record(notice)
    if execution is None:
        return {}
    return {"tenant": execution.tenant, "execution": execution.id, "run": execution.run, "status": execution.status}
