"""What starts executions by itself: kept in step with the published version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, cast

from aslant.events import SOURCE, TYPES
from aslant.releases import EventFacts, Release, TriggerFacts

Json = Any
FUNCTION = "aslant-start-execution"  # what schedules call
USER = "schedule"                    # who starts their executions

ROUTER = "aslant-route-event"        # what gets events, from a queue
QUEUE, DEAD = "aslant-events", "aslant-events-dead"
MAX_RECEIVES = 5                     # times that an event is tried before it goes to the dead-letter queue
_ANY = "event:*"
_AGES = {"none": 60, "last": 86_400}  # seconds, the least and the most that Scheduler takes
_ENVELOPE = ("tenant_id", "organization_id")
# Rules of the bus whose target is the queue: our own events but those of steps, and others that name their tenant.
RULES: Mapping[str, Mapping[str, Json]] = {
    "aslant-own-events": {
        "source": [SOURCE], "detail-type": [name for name in TYPES if not name.startswith("node_")],
    },
    "aslant-other-events": {
        "source": [{"anything-but": [SOURCE, "aslant.progress"]}],
        "$or": [{"detail": {name: [{"exists": True}]}} for name in _ENVELOPE],
    },
}


class Schedules(Protocol):
    """Recurring calls of our own functions (EventBridge Scheduler)."""

    def put(
        self, name: str, expression: str, timezone: str, function: str, payload: Mapping[str, Json], *, age: int, window: int
    ) -> None:
        """Makes or replaces a schedule. Scheduler's own texts in the payload (<aws.scheduler.scheduled-time>) are filled in.

        `age`: seconds that a call which cannot be delivered is tried for; `window`: minutes within which it is made.
        """

    def cancel(self, name: str) -> None:
        """Removes one; nothing happens when there is none."""


class Subscriptions(Protocol):
    """Which workflows the events of a topic may start; whether they do, their published version says."""

    def add(self, tenant: str, topic: str, workflow: str) -> None: ...

    def remove(self, tenant: str, topic: str, workflow: str) -> None: ...

    def workflows(self, tenant: str, topics: Iterable[str]) -> list[str]:
        """Each once, by id."""


def carried(before: Release | None, after: Release) -> Release:
    """`after` with the ids that its triggers had in the version published before (or in itself, when it is published again).

    A trigger that says the same keeps its id, wherever it stands now. Of the others of a type, those that have changed take
    the ids that are left, in their order; what is new gets a number that nobody had.
    """
    known = before.get("named", []) if before is not None else []
    names = after.get("named", [])
    ids: dict[str, str] = {}
    for kind in {one["type"] for one in names if one["id"]}:
        old, new = ([one for one in each if one["type"] == kind and one["id"]] for each in (known, names))
        if not old:
            continue
        left, open_ones = list(old), []
        for one in new:
            same = next((each for each in left if each["hash"] == one["hash"]), None)
            if same is None:
                open_ones.append(one)
            else:
                left.remove(same)
                ids[one["id"]] = same["id"]
        number = max(int(one["id"].rpartition("-")[2]) for one in old)
        for place, one in enumerate(open_ones):
            number += place >= len(left)
            ids[one["id"]] = left[place]["id"] if place < len(left) else f"{kind}-{number}"
    if all(old == new for old, new in ids.items()):
        return after
    made: dict[str, Any] = dict(after)
    for part in ("named", "triggers", "webhooks", "events"):
        if part in made:
            made[part] = [{**one, "id": ids.get(one["id"], one["id"])} for one in made[part]]
    return cast(Release, made)


def follow(
    schedules: Schedules, subscriptions: Subscriptions, tenant: str, before: Release | None, after: Release | None
) -> None:
    """Brings schedules and subscriptions of a workflow from one published version to another. May be called again."""
    release = after or before
    if release is None:
        return
    workflow = release["workflow"]
    wanted = {one["id"]: one for one in _schedules(after) if one["enabled"]}
    for gone in {one["id"] for one in _schedules(before)} - wanted.keys():
        schedules.cancel(name_of(tenant, workflow, gone))
    for id, facts in wanted.items():
        schedules.put(name_of(tenant, workflow, id), facts["expression"], facts["timezone"], FUNCTION, {
            "tenant": tenant, "workflow": workflow, "trigger": id, "at": "<aws.scheduler.scheduled-time>",
        }, age=_AGES[facts.get("catch_up", "none")], window=facts.get("window", 0))  # fmt: skip
    topics = _topics(after)
    for topic in sorted(topics):
        subscriptions.add(tenant, topic, workflow)
    for topic in sorted(_topics(before) - topics):
        subscriptions.remove(tenant, topic, workflow)


def name_of(tenant: str, workflow: str, trigger: str) -> str:
    return f"trigger#{tenant}#{workflow}#{trigger}"


def topics_of(event: str, workflow: str) -> list[str]:
    """The topics of an event by its detail type, and by the workflow whose ending it is (empty for none)."""
    return [f"event:{event}", _ANY, *([f"workflow:{workflow}"] if workflow else [])]


def _schedules(release: Release | None) -> list[TriggerFacts]:
    return release.get("triggers", []) if release is not None else []


def _topics(release: Release | None) -> set[str]:
    found: set[str] = set()
    facts: list[EventFacts] = release.get("events", []) if release is not None else []
    for one in facts:
        if one["workflow"]:
            found.add(f"workflow:{one['workflow']}")
        else:
            found |= {_ANY if "*" in name else f"event:{name}" for name in one["events"]}
    return found
