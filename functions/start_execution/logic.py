"""Starting what a schedule asks for, under its policy for executions that still go on."""

from __future__ import annotations

import json

from aslant import clock, observability
from aslant.errors import InvalidTransition, NotFoundError, ValidationError
from aslant.executions.records import Execution
from aslant.executions.service import Executions
from aslant.executions.states import FINAL
from aslant.ports import Releases, Timers
from aslant.triggers import FUNCTION, USER

_AGAIN = 60    # seconds until a start that waits for its turn looks again
_LOOKED = 200  # executions, the latest ones, among which earlier ones of the trigger are looked for


def start_scheduled(
    executions: Executions, releases: Releases, timers: Timers, tenant: str, workflow: str, trigger: str, at: str
) -> str:
    """The id of the execution for the moment `at`; empty when there is none."""
    try:
        release = releases.get(tenant, workflow)
    except NotFoundError:
        return ""
    facts = next((one for one in release.get("triggers", ()) if one["id"] == trigger and one["enabled"]), None)
    if facts is None:
        return ""  # it was removed while it fired
    key = json.dumps(["schedule", workflow, trigger, at])  # of the tenant's executions, so with the workflow
    earlier = [one for one in _running(executions, tenant, workflow, trigger) if one.trigger.get("at") != at]
    ids = {"tenant": tenant, "workflow": workflow, "trigger": trigger}
    if earlier and facts["overlap"] == "skip":
        observability.log("INFO", f"the start at {at} is left out: {earlier[0].id} still runs", ids)
        return ""
    if earlier and facts["overlap"] == "queue":
        payload = {"tenant": tenant, "workflow": workflow, "trigger": trigger, "at": at}
        timers.set(f"start#{tenant}#{workflow}#{trigger}@{at}", int(clock.now()) + _AGAIN, FUNCTION, payload)
        return ""
    if facts["overlap"] == "cancel_running":
        for one in earlier:
            try:
                executions.cancel(tenant, one.id, by=USER, reason=f"{trigger} starts a new one")
            except InvalidTransition:
                continue  # it has ended meanwhile
    try:
        started = executions.start(
            tenant, workflow, dict(facts["input"]), user=USER, key=key,
            trigger={"type": "schedule", "id": trigger, "at": at},
        )  # fmt: skip
    except ValidationError as error:  # calling again would not change the input
        observability.log("ERROR", f"the start at {at} is refused: {error}", ids)
        return ""
    return started.id


def _running(executions: Executions, tenant: str, workflow: str, trigger: str) -> list[Execution]:
    """Executions that the trigger started and that have not ended, the latest first."""
    found: list[Execution] = []
    cursor: str | None = None
    for _ in range(_LOOKED // 100):
        page = executions.list(tenant, workflow=workflow, limit=100, cursor=cursor)
        found += [one for one in page.items if one.trigger.get("id") == trigger and one.status not in FINAL]
        if (cursor := page.next) is None:
            break
    return found
