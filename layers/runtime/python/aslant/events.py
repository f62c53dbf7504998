"""What happened, as events: derived from the records of the tables' streams, and from nothing else.

An event's id says what happened, so whoever meets it twice can drop it. `sequence` orders the events of an execution. A
payload holds ids, statuses, errors and durations; never inputs, outputs, questions or answers.

| event | when |
|---|---|
| workflow_started | a first run begins, or another one after a final status (retry, restore, rerun): `run` says which |
| workflow_resumed | a run goes on with what an earlier one began: after a pause, or after it got lost |
| workflow_paused, _completed, _failed, _cancelled, _timed_out, _rolled_back | the execution gets that status |
| node_started | a step begins in a run |
| node_retrying | it begins again in the same run, or after it failed in an earlier one |
| node_completed, _failed | an attempt ends; a failed one may be retried. |
| | states without a function (`native`) tell their beginning and their end when the run has ended |
| node_cancelled | the end of its execution cut the step short; what its function finishes all the same is told after that |
| node_skipped | the execution has ended and the step was left out |
| approval_requested, _granted, _rejected, _expired | a request is made or closed; a cancelled one tells nothing |
| checkpoint_created, sla_breached | as they say |
| circuit_opened, circuit_closed | calls of an endpoint or a skill stop, and go on again; these belong to no workflow |
| workflow_created, _published, _archived | in the catalog, of the workflow; these have no execution |
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from aslant import keys
from aslant.executions.naming import is_part
from aslant.values import compact

Json = Any
Image = dict[str, Any]  # an item's columns as plain values

SOURCE = "aslant"
TYPES = (
    "workflow_created", "workflow_published", "workflow_archived", "workflow_started", "workflow_paused",
    "workflow_resumed", "workflow_completed", "workflow_failed", "workflow_cancelled", "workflow_timed_out",
    "workflow_rolled_back", "node_started", "node_completed", "node_failed", "node_retrying", "node_skipped",
    "node_cancelled",
    "approval_requested", "approval_granted", "approval_rejected", "approval_expired", "checkpoint_created",
    "sla_breached", "circuit_opened", "circuit_closed",
)  # fmt: skip

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "aslant:events")
_MAX_TEXT = 200  # characters of a message, a reason, a name
_ENDS = {
    "paused": "workflow_paused", "completed": "workflow_completed", "failed": "workflow_failed",
    "cancelled": "workflow_cancelled", "timed_out": "workflow_timed_out", "rolled_back": "workflow_rolled_back",
}
_ANSWERS = {"approved": "approval_granted", "rejected": "approval_rejected", "expired": "approval_expired"}


@dataclass(frozen=True, slots=True)
class Event:
    """One event. `at` is epoch milliseconds; `execution` is empty for those of the catalog."""

    id: str
    type: str
    tenant: str
    workflow: str
    execution: str
    at: int
    sequence: str
    payload: Mapping[str, Json]

    @property
    def detail(self) -> dict[str, Json]:
        """The event as it stands on the bus. A tenant is an organization: there is no second level."""
        return {
            "event_id": self.id, "event_type": self.type, "tenant_id": self.tenant, "organization_id": self.tenant,
            "workflow_id": self.workflow, "execution_id": self.execution or None, "timestamp": _iso(self.at),
            "sequence": self.sequence, "payload": dict(self.payload),
        }


@dataclass(frozen=True, slots=True)
class Change:
    """A record of a stream with plain values. Images are None where there is no item."""

    tenant: str
    kind: str  # of the partition: execution, workflow or circuit
    owner: str  # the id of that
    sort: str
    before: Image | None
    after: Image | None
    sequence: str
    at: int  # epoch milliseconds, of the second in which it was written


def change_of(record: Mapping[str, Any]) -> Change | None:
    """What a record of a stream says; None for an item that is no part of a tenant's workflows or executions."""
    data = record["dynamodb"]
    try:
        tenant, kind, owner = keys.owner(data["Keys"]["pk"]["S"])
    except ValueError:
        return None
    return Change(
        tenant, kind, owner, data["Keys"]["sk"]["S"], _image(data.get("OldImage")), _image(data.get("NewImage")),
        str(data["SequenceNumber"]), int(float(data.get("ApproximateCreationDateTime", 0)) * 1000),
    )


def events_of(record: Mapping[str, Any]) -> list[Event]:
    """The events of one record of a table's stream, in their order. `workflow` is empty where the item does not say."""
    change = change_of(record)
    if change is None or change.after is None:
        return []  # set aside, or over its time to live
    return [
        Event(
            _id(change, name, what), name, change.tenant,
            change.owner if change.kind == "workflow" else str(change.after.get("workflow", "")),
            change.owner if change.kind == "execution" else "", at or change.at, change.sequence,
            _given(payload),
        )
        for name, what, at, payload in _found(change, change.before or {}, change.after)
    ]


_Found = tuple[str, list[Json], int, dict[str, Json]]  # type, what makes it one of its kind, at, payload


def _found(change: Change, before: Image, after: Image) -> Iterator[_Found]:
    what = change.sort.partition("#")[0]
    if change.kind == "workflow":
        if what == "workflow":
            yield from _of_workflow(change, before, after)
    elif change.kind == "circuit":
        yield from _of_circuit(keys.circuit_endpoint(change.sort), before, after)
    elif what == keys.EXECUTION:
        yield from _of_execution(before, after)
    elif what == "step":
        yield from _of_step(before, after)
    elif what == "checkpoint":
        if not before:
            yield "checkpoint_created", [after["number"]], _millis(after["at"]), {
                "number": after["number"], "reason": after.get("reason"), "label": _cut(after.get("label")),
                "by": _cut(after.get("by")), "run": after.get("run"),
            }
    elif what == "approval":
        yield from _of_approval(before, after)


def _of_circuit(endpoint: str, before: Image, after: Image) -> Iterator[_Found]:
    """Powertools writes the breaker's state; each opening has its own second."""
    status, was = str(after["circuit"]), str(before.get("circuit", "CLOSED"))
    opened = after.get("opened_at") or before.get("opened_at")
    if status == "OPEN" and (was != status or opened != before.get("opened_at")):
        yield "circuit_opened", [endpoint, opened], int(opened or 0) * 1000, {
            "endpoint": endpoint, "failures": after.get("failure_count") or None, "again": was == "HALF_OPEN",
        }
    elif status == "CLOSED" and was != status:
        yield "circuit_closed", [endpoint, opened], 0, {"endpoint": endpoint}


def _of_workflow(change: Change, before: Image, after: Image) -> Iterator[_Found]:
    if not before:
        yield "workflow_created", [], 0, {}
    if after.get("published") and after.get("published") != before.get("published"):
        # The same version may be published again later: only the place in the stream tells them apart.
        yield "workflow_published", [change.sequence], 0, {"version": after["published"]}
    if after.get("status") == "archived" and before.get("status") != "archived":
        yield "workflow_archived", [change.sequence], 0, {}


def _of_execution(before: Image, after: Image) -> Iterator[_Found]:
    status, was, revision = str(after["status"]), str(before.get("status", "")), int(after["revision"])
    started, changed = int(after["started_at"]), int(after["changed_at"])
    payload: dict[str, Json] = {
        "status": status, "previous_status": was or None, "version": after.get("version"), "run": after.get("run"),
        "user": _cut(after.get("user")), "reason": _cut(after.get("reason")), "parent": _parent(after.get("parent")),
    }
    if after.get("options") and json.loads(after["options"]).get("webhook_url"):
        payload["webhook"] = True
    if not before and status not in ("pending", "running"):  # it became known at its end
        yield "workflow_started", [revision], started, payload | {"status": "running", "reason": None}
    if status == "running":
        if was != status or after.get("run") != before.get("run"):
            resumed = was in ("paused", "running")
            first = int(after.get("run", 1)) == 1
            name = "workflow_resumed" if resumed else "workflow_started"
            yield name, [revision], started if first and not resumed else changed, payload
    elif status != was and status in _ENDS:
        if status != "paused":
            payload["duration_ms"] = max(0, int(after.get("finished_at") or changed) - started)
        if status != "completed":
            payload["error"] = _error(after.get("error"))
        yield _ENDS[status], [revision], changed, payload
    if after.get("sla_breached") and not before.get("sla_breached"):
        yield "sla_breached", [after.get("run")], int(after.get("sla_due") or 0), {
            "status": status, "run": after.get("run"), "version": after.get("version"), "due": _iso(after.get("sla_due")),
        }


def _of_step(before: Image, after: Image) -> Iterator[_Found]:
    if is_part(str(after["step"]), ()):
        return  # what was computed for a step beforehand; it tells of itself
    if after["status"] == keys.ASIDE:
        if before.get("status") == "running" and not before.get("stopped_at"):
            yield _cancelled(before, None)  # by a run that does it again, or does without
        return
    status, run, attempts = str(after["status"]), int(after.get("run", 1)), int(after.get("attempts", 0))
    native, late = bool(after.get("native")), bool(after.get("late"))
    what, payload = _about_step(after)
    if status == "running":
        fresh = (run, attempts) != (before.get("run"), before.get("attempts")) or before.get("status") != "running"
        if fresh and not late:  # the end of the execution is told, and nothing begins after that
            again = not native and (attempts > 1 or before.get("status") == "failed")
            began = native and after.get("first_at") or after.get("begun_at")
            yield ("node_retrying" if again else "node_started"), what, _millis(began), payload
        if after.get("stopped_at") and not before.get("stopped_at"):
            yield _cancelled(after, int(after["stopped_at"]))
        return
    if (status, run, attempts) == (before.get("status"), before.get("run", 1 if before else None), before.get("attempts", 0)):
        return
    began, ended = after.get("begun_at"), after.get("finished_at")
    if native and not late and status != "skipped" and (before.get("status"), before.get("run")) != ("running", run):
        # There was no record while it ran. A wait that an earlier run began is begun in this one when that comes to it.
        yield "node_started", what, _millis(after.get("first_at") or began or ended), dict(payload)
    if began and ended:
        payload["duration_ms"] = max(0, (int(ended) - int(began)) // 1000)
    if status == "completed":
        yield "node_completed", what, _millis(ended), payload
    elif status == "failed":
        error = {"error": _cut(after.get("error")) or "Error", "message": _cut(after.get("message"))}
        yield "node_failed", what, _millis(ended), payload | {"error": _given(error)}
    elif status == "skipped":
        payload.pop("duration_ms", None)
        yield "node_skipped", what, _millis(ended), payload


def _cancelled(running: Image, at: int | None) -> _Found:
    """What runs by its record was cut short, at `at` (epoch microseconds) if that is known."""
    what, payload = _about_step(running)
    began = running.get("begun_at")
    if at is not None and began is not None:
        payload["duration_ms"] = max(0, (at - int(began)) // 1000)
    return "node_cancelled", what, _millis(at), payload


def _about_step(image: Image) -> tuple[list[Json], dict[str, Json]]:
    """What makes an event of a step one of its kind, and its payload."""
    step, iteration = str(image["step"]), json.loads(image.get("iteration") or "[]")
    run, attempts = int(image.get("run", 1)), int(image.get("attempts", 0))
    return [step, iteration, run, attempts], {
        "step": step, "iteration": iteration, "type": image.get("type"), "run": run,
        "attempt": attempts or None, "native": bool(image.get("native")) or None,
    }


def _of_approval(before: Image, after: Image) -> Iterator[_Found]:
    status = str(after["status"])
    if status == before.get("status"):
        return
    identifier, requested = str(after["approval_id"]), int(after["requested_at"])
    payload: dict[str, Json] = {
        "approval_id": identifier, "step": after.get("step"), "iteration": json.loads(after.get("iteration") or "[]"),
    }
    if status == "pending":
        yield "approval_requested", [identifier, requested], int(after.get("requested_ms") or requested * 1000), payload | {
            "expires_at": _iso(int(after["expires_at"]) * 1000) if after.get("expires_at") else None,
        }
    elif status in _ANSWERS:
        at = int(after.get("decided_ms") or int(after.get("decided_at") or 0) * 1000)
        by = _cut(after.get("decided_by")) if status != "expired" else None
        yield _ANSWERS[status], [identifier, requested], at, payload | {"by": by}


def _id(change: Change, name: str, what: list[Json]) -> str:
    return str(uuid.uuid5(_NAMESPACE, compact([change.tenant, change.kind, change.owner, name, *what])))


def _error(text: Any) -> dict[str, Json] | None:
    if not text:
        return None
    data = json.loads(text)
    return _given({
        "error": _cut(data.get("error")) or "Error", "message": _cut(data.get("message")), "step": data.get("step") or None,
    })  # fmt: skip


def _given(values: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in values.items() if value is not None}


def _parent(text: Any) -> dict[str, Json] | None:
    data = json.loads(text) if text else None
    return {"execution_id": data["execution"], "step": data["step"], "iteration": data.get("iteration") or []} if data else None


def _cut(text: Any) -> str | None:
    if text is None or text == "":
        return None
    whole = str(text)
    return whole if len(whole) <= _MAX_TEXT else whole[: _MAX_TEXT - 1] + "…"


def _millis(micros: Any) -> int:
    return int(micros or 0) // 1000


def _iso(millis: Any) -> str | None:
    if millis is None:
        return None
    return datetime.fromtimestamp(int(millis) / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _image(item: Mapping[str, Any] | None) -> Image | None:
    return None if item is None else {name: _value(attribute) for name, attribute in item.items()}


def _value(attribute: Mapping[str, Any]) -> Any:
    """The plain value of a column; ours are texts, whole numbers and booleans."""
    kind, value = next(iter(attribute.items()))
    return int(value) if kind == "N" and str(value).lstrip("-").isdigit() else value
