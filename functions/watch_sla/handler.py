"""The Lambda function that the timer of an execution calls when it should have ended, or must not go on (`timeout`).

Takes {tenant, execution, run} or {tenant, execution, timeout}. A message that could not be sent is logged and not tried again:
who was told already would be told twice, and the execution's mark has its event.
"""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, clock, observability, sla
from aslant.errors import StepError, ValidationError
from aslant.executions.records import Execution
from aslant.settings import Settings
from aslant.timeouts import Timeouts


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Gives whether the execution is late and was marked by this call ({"breached": true}), or {"stopped": true}."""
    observability.listen()
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in ("tenant", "execution")):
        raise ValidationError("this is not the payload of a timer: it needs `tenant` and `execution`")
    settings = Settings.read()
    ids = {"tenant": event["tenant"], "execution": event["execution"]}

    def now() -> int:
        return round(clock.now() * 1000)

    def tell(execution: Execution) -> None:
        observability.emit(
            {"SlaBreached": (1, "Count")}, {"workflow": execution.workflow}, message="execution is late", **ids,
        )  # fmt: skip
        try:
            sla.notifier(settings, bootstrap.topics(settings), bootstrap.http(settings), now)(execution)
        except StepError as error:
            observability.log("ERROR", str(error), ids)

    if event.get("timeout"):
        watch_time = Timeouts(
            bootstrap.execution_store(settings), bootstrap.machines(settings), bootstrap.timers(settings),
            bootstrap.releases(settings), now,
        )  # fmt: skip
        stopped = watch_time.look(event["tenant"], event["execution"])
        return {"stopped": stopped}
    watch = sla.Watch(bootstrap.execution_store(settings), bootstrap.timers(settings), now, tell)
    return {"breached": watch.look(event["tenant"], event["execution"])}
