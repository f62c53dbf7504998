"""What starts executions by itself: kept in step with the published version."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from aslant.releases import Release, TriggerFacts

Json = Any
FUNCTION = "aslant-start-execution"  # what schedules call
USER = "schedule"                    # who starts their executions


class Schedules(Protocol):
    """Recurring calls of our own functions (EventBridge Scheduler)."""

    def put(self, name: str, expression: str, timezone: str, function: str, payload: Mapping[str, Json]) -> None:
        """Makes or replaces a schedule. Scheduler's own texts in the payload (<aws.scheduler.scheduled-time>) are filled in."""

    def cancel(self, name: str) -> None:
        """Removes one; nothing happens when there is none."""


def follow(schedules: Schedules, tenant: str, before: Release | None, after: Release) -> None:
    """Brings the schedules of a workflow from one published version to another. May be called again."""
    wanted = {one["id"]: one for one in after.get("triggers", ()) if one["enabled"]}
    had: list[TriggerFacts] = list(before.get("triggers", ())) if before is not None else []
    for gone in {one["id"] for one in had} - wanted.keys():
        schedules.cancel(name_of(tenant, after["workflow"], gone))
    for id, facts in wanted.items():
        schedules.put(name_of(tenant, after["workflow"], id), facts["expression"], facts["timezone"], FUNCTION, {
            "tenant": tenant, "workflow": after["workflow"], "trigger": id, "at": "<aws.scheduler.scheduled-time>",
        })  # fmt: skip


def name_of(tenant: str, workflow: str, trigger: str) -> str:
    return f"trigger#{tenant}#{workflow}#{trigger}"
