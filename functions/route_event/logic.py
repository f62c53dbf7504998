"""From an event on the bus to the executions that it starts.

An event may come again, late, or before another one: what it starts has a key made of the event's id and the workflow, so
nothing starts twice. Several triggers of one workflow that match are one start, with the input of the first. An event that
fails for one workflow comes again for all; those that have started stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from aslant import event_patterns, observability, triggers
from aslant.errors import ConflictError, ExpressionError, NotFoundError, StepError, ValidationError
from aslant.events import SOURCE
from aslant.executions.naming import keyed_id
from aslant.executions.records import Execution
from aslant.executions.service import Executions
from aslant.executions.store import ExecutionStore
from aslant.ports import Releases
from aslant.releases import EventFacts
from aslant.webhooks import picked
from translator.expressions.evaluate import evaluate
from translator.expressions.serialize import load
from translator.expressions.values import truth

Json = Any

USER = "event"      # who starts the executions
MAX_CHAIN = 10      # executions that may start one another by events; then the chain ends
_GENERATIONS = 100  # of children above an execution
_ENVELOPE = frozenset({"tenant_id", "organization_id", "event_id"})  # what is for the router is no input
_ENDED = "workflow_"


@dataclass(frozen=True, slots=True)
class Notice:
    """An event of the bus. `execution` is the one that it tells of or comes from; `id` is the same whenever it comes."""

    id: str
    tenant: str
    name: str
    source: str
    detail: Mapping[str, Json]
    execution: str = ""

    @property
    def ended(self) -> str:
        """The workflow whose execution has ended by this event; empty for other events."""
        own = self.source == SOURCE and self.name.startswith(_ENDED) and bool(self.execution)
        return str(self.detail.get("workflow_id") or "") if own else ""


def notice_of(body: str) -> Notice:
    """The event in a message. Raises ValidationError for what is none, or names no tenant."""
    try:
        event = json.loads(body)
        detail = event["detail"]
        tenant = detail.get("tenant_id") or detail.get("organization_id")
        id = detail.get("event_id") or event["id"]
        name, source, execution = event["detail-type"], event["source"], detail.get("execution_id") or ""
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValidationError("the message is no event of EventBridge") from None
    if not all(isinstance(one, str) for one in (tenant, id, name, source, execution)):
        raise ValidationError("the event names no tenant: its detail needs `tenant_id`")
    return Notice(id, tenant, name, source, detail, execution)


@dataclass(slots=True)
class Router:
    """Works on one batch: what it reads of an execution is read once."""

    subscriptions: triggers.Subscriptions
    releases: Releases
    executions: Executions
    store: ExecutionStore
    _data: dict[str, dict[str, Json]] = field(default_factory=dict)

    def route(self, notice: Notice) -> list[str]:
        """The ids of the executions that the event stands for. Raises the first error after all workflows were tried."""
        found: list[str] = []
        problems: list[StepError] = []
        for workflow in self.subscriptions.workflows(notice.tenant, triggers.topics_of(notice.name, notice.ended)):
            try:
                if started := self._start(notice, workflow):
                    found.append(started)
            except StepError as error:
                ids = {"tenant": notice.tenant, "workflow": workflow, "event": notice.id}
                observability.log("ERROR", f"the event {notice.name} starts nothing: {error}", ids)
                problems.append(error)
        if problems:
            raise problems[0]
        return found

    def _start(self, notice: Notice, workflow: str) -> str:
        try:
            release = self.releases.get(notice.tenant, workflow)
        except NotFoundError:
            return ""  # it was withdrawn
        matched = [one for one in release.get("events", ()) if self._matches(one, notice)]
        if not matched:
            return ""
        chain = self._chain(notice)
        if chain > MAX_CHAIN:
            ids = {"tenant": notice.tenant, "workflow": workflow, "execution": notice.execution, "event": notice.id}
            observability.log("ERROR", f"the chain ends: {MAX_CHAIN} executions have started one another", ids)
            return ""
        first, key = matched[0], json.dumps(["event", workflow, notice.id])
        trigger = {
            "type": "workflow" if first["workflow"] else "event", "id": first["id"], "matched": [one["id"] for one in matched],
            "event": notice.id, "name": notice.name, "chain": chain,
        }  # fmt: skip
        if notice.execution:
            trigger["execution"] = notice.execution
        try:
            return self.executions.start(
                notice.tenant, workflow, self._input(first, notice), user=USER, key=key, trigger=trigger
            ).id
        except ConflictError:  # it had started already, as an earlier version said
            id = keyed_id(notice.tenant, key)
            if self.store.read(notice.tenant, id) is None:
                raise
            return id

    def _matches(self, facts: EventFacts, notice: Notice) -> bool:
        if facts["workflow"] and facts["workflow"] != notice.ended:
            return False
        if not any(event_patterns.wildcard(name, notice.name) for name in facts["events"]):
            return False
        if facts["source"] and not event_patterns.wildcard(facts["source"], notice.source):
            return False
        return event_patterns.matches(facts["filter"], notice.detail) and self._holds(facts, notice)

    def _holds(self, facts: EventFacts, notice: Notice) -> bool:
        if facts["where"] is None:
            return True
        event = {"type": notice.name, **self._seen(facts, notice)}
        try:
            return truth(evaluate(load(facts["where"]), lambda slot: event if slot.kind == "local" else None))
        except ExpressionError:  # what cannot be compared, or is not there, does not hold
            return False

    def _input(self, facts: EventFacts, notice: Notice) -> dict[str, Json]:
        seen = self._seen(facts, notice)
        if facts["fields"]:
            return picked(facts["input"], facts["fields"], seen)
        whole = seen["output"] if facts["workflow"] else {key: one for key, one in seen.items() if key not in _ENVELOPE}
        return {**facts["input"], **(whole if isinstance(whole, dict) else {})}

    def _seen(self, facts: EventFacts, notice: Notice) -> Mapping[str, Json]:
        """What a trigger looks at: the detail, or the execution that has ended."""
        if not facts["workflow"]:
            return notice.detail
        if notice.id not in self._data:
            completed = notice.name == "workflow_completed"
            payload = notice.detail.get("payload") or {}
            self._data[notice.id] = {
                "workflow": notice.ended, "execution": notice.execution, "status": notice.name.removeprefix(_ENDED),
                "output": self.store.output(notice.tenant, notice.execution) if completed else None,
                "error": payload.get("error"),
            }  # fmt: skip
        return self._data[notice.id]

    def _chain(self, notice: Notice) -> int:
        """How many executions have started one another by events, with the one that this event would start."""
        execution: Execution | None = None
        id = notice.execution
        for _ in range(_GENERATIONS):  # a child belongs to the chain that its parent is in
            execution = self.store.read(notice.tenant, id) if id else None
            if execution is None or execution.parent is None:
                break
            id = execution.parent.execution
        before = execution.trigger.get("chain", 0) if execution is not None else 0
        return int(before) + 1
