"""Watching that an execution ends in the time that its workflow promises (`settings.sla`, seconds)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

from aslant import ports
from aslant.errors import ConflictError, StepError, ValidationError
from aslant.executions.records import Execution
from aslant.executions.states import FINAL
from aslant.executions.store import ExecutionStore
from aslant.http_ports import Http, HttpRequest
from aslant.releases import Release
from aslant.settings import Settings

FUNCTION = "aslant-watch-sla"
_TRIES = 10  # an execution changes while it is looked at


def due(release: Release, started_at: int) -> int | None:
    """When an execution that started at `started_at` must have ended (both epoch milliseconds); None without a promise."""
    seconds = release["settings"].get("sla")
    return None if seconds is None else started_at + round(seconds * 1000)


def arm(timers: ports.Timers, execution: Execution, release: Release) -> None:
    """Sets the timer of an execution that starts; nothing happens without a promise. May be repeated."""
    at = execution.sla_due if execution.sla_due is not None else due(release, execution.started_at)
    if at is not None:
        payload = {"tenant": execution.tenant, "execution": execution.id, "run": execution.run}
        timers.set(timer_name(execution), -(-at // 1000), FUNCTION, payload)


def disarm(timers: ports.Timers, execution: Execution) -> None:
    """Removes the timer of an execution that has ended."""
    if execution.sla_due is not None:
        timers.cancel(timer_name(execution))


def timer_name(execution: Execution) -> str:
    return json.dumps(["sla", execution.tenant, execution.id])


@dataclass(frozen=True, slots=True)
class Watch:
    """What happens when the timer fires. `clock` gives epoch milliseconds."""

    store: ExecutionStore
    timers: ports.Timers
    clock: Callable[[], int]
    notify: Callable[[Execution], None]

    def look(self, tenant: str, id: str) -> bool:
        """Marks an execution that is late and tells about it; gives whether it was marked now.

        Whoever marks it tells: a second call finds it marked. A message that could not be sent is not repeated, since the
        mark stands and has its event.
        """
        for _ in range(_TRIES):
            execution = self.store.read(tenant, id)
            if execution is None or execution.status in FINAL or execution.sla_breached or execution.sla_due is None:
                return False
            if execution.sla_due > self.clock():  # the timer was early
                self.timers.set(timer_name(execution), -(-execution.sla_due // 1000), FUNCTION,
                                {"tenant": tenant, "execution": id, "run": execution.run})
                return False
            try:
                late = self.store.amend(execution, replace(execution, sla_breached=True))
            except ConflictError:
                continue
            self.notify(late)
            return True
        raise ConflictError(f"the execution {id} keeps changing")


def message_of(execution: Execution, now: int) -> tuple[str, str]:
    """Subject and text for people."""
    seconds = (now - execution.started_at) / 1000
    subject = f"{execution.workflow} is late"
    return subject[:100], (
        f"The execution {execution.id} of {execution.workflow} {execution.version} ({execution.tenant}) is "
        f"{execution.status} {seconds:,.0f} s after its start; it should have ended by now."
    )


def notifier(
    settings: Settings, topics: ports.Topics, http: Http, clock: Callable[[], int]
) -> Callable[[Execution], None]:
    """Tells through the channels of failures: the topic and the webhook that the settings name, each on its own."""

    def tell(execution: Execution) -> None:
        subject, text = message_of(execution, clock())
        failures = []
        if settings.notify_topic:
            try:
                topics.publish(settings.notify_topic, subject, text)
            except StepError as error:
                failures.append(str(error))
        if settings.slack_webhook:
            body = json.dumps({"text": f"*{subject}*\n{text}"}).encode()
            try:
                answer = http.send(HttpRequest(
                    "POST", settings.slack_webhook, {"content-type": "application/json"}, body, timeout=10,
                ))  # fmt: skip
                if answer.status >= 400:
                    failures.append(f"the webhook answered {answer.status}")
            except StepError as error:
                failures.append(type(error).__name__)  # its text may hold the address, which is a secret
        if failures:
            raise ValidationError(f"{subject}, but not everybody was told: {'; '.join(failures)}")

    return tell
