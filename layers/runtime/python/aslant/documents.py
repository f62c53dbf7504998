"""What is known of executions as JSON. Moments are ISO 8601 in UTC, durations are seconds."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from aslant.executions.plan import Plan
from aslant.executions.records import Checkpoint, Execution, Failure, Run, Transition
from aslant.executions.view import ExecutionView, StepView
from aslant.prices import Cost

Json = Any


def moment(millis: int | None) -> str | None:
    """Epoch milliseconds as ISO 8601."""
    if millis is None:
        return None
    return datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _micro(micros: int | None) -> str | None:
    return None if micros is None else moment(micros // 1000)


def failure(found: Failure | None) -> Json:
    if found is None:
        return None
    return {"error": found.error, "message": found.message, "step": found.step or None, "iteration": list(found.iteration)}


def execution(one: Execution) -> dict[str, Json]:
    parent = one.parent
    return {
        "id": one.id, "workflow": one.workflow, "version": one.version, "status": one.status, "run": one.run,
        "user": one.user, "started_at": moment(one.started_at), "finished_at": moment(one.finished_at),
        "changed_at": moment(one.changed_at), "reason": one.reason, "error": failure(one.error), "machine": one.machine,
        "arn": one.arn, "labels": dict(one.labels), "trigger": dict(one.trigger), "undone": list(one.undone),
        "not_undone": list(one.not_undone), "usage": dict(one.usage), "sla_due": moment(one.sla_due),
        "sla_breached": one.sla_breached, "timeout_seconds": one.options.get("timeout_seconds"),
        "priority": one.options.get("priority"), "webhook": bool(one.options.get("webhook_url")),
        "parent": None if parent is None else {
            "execution": parent.execution, "step": parent.step, "iteration": list(parent.iteration),
        },
    }  # fmt: skip


def view(one: ExecutionView) -> dict[str, Json]:
    return execution(one.execution) | {
        "substate": one.substate, "done": one.done, "total": one.total, "duration": one.duration / 1000,
        "paused": one.paused / 1000, "steps": [step(each) for each in one.steps],
        "runs": [run(each) for each in one.runs], "cost": cost(one.cost),
        "usage": dict(one.usage),
        "children": [{"id": each.id, "step": each.step, "iteration": list(each.iteration)} for each in one.children],
    }  # fmt: skip


def step(one: StepView) -> dict[str, Json]:
    return {
        "step": one.step, "iteration": list(one.iteration), "type": one.type, "status": one.status,
        "started_at": _micro(one.started_at), "finished_at": _micro(one.finished_at),
        "duration": None if one.duration is None else one.duration / 1000, "attempts": one.attempts, "run": one.run,
        "error": failure(one.error), "native": one.native, "outcome": one.outcome or None,
        "usage": dict(one.usage), "cost_usd": one.cost.usd, "executions": list(one.executions),
        "steps": [step(each) for each in one.steps],
    }  # fmt: skip


def run(one: Run) -> dict[str, Json]:
    return {
        "number": one.number, "why": one.why, "detail": one.detail or None, "version": one.version, "by": one.by,
        "started_at": moment(one.started_at), "ended_at": moment(one.ended_at), "status": one.status or "RUNNING",
        "arn": one.arn, "transitions": one.transitions,
    }


def cost(one: Cost) -> dict[str, Json]:
    return {"usd": one.usd, "parts": dict(one.parts), "left_out": list(one.left_out)}


def transition(one: Transition) -> dict[str, Json]:
    return {
        "revision": one.revision, "before": one.before or None, "after": one.after, "at": moment(one.at), "by": one.by,
        "reason": one.reason, "run": one.run,
    }


def checkpoint(one: Checkpoint) -> dict[str, Json]:
    return {
        "number": one.number, "at": _micro(one.at), "reason": one.reason, "by": one.by, "run": one.run, "label": one.label,
        "steps": list(one.steps), "sha256": one.sha256,
    }


def plan(one: Plan) -> dict[str, Json]:
    return {
        "what": one.what, "version": one.version,
        "steps": [
            {"step": each.label, "type": each.type, "action": each.action, "why": each.why, "repeats": each.repeats,
             "discards": each.discards}
            for each in one.steps
        ],
    }


def approval(item: Mapping[str, Json]) -> dict[str, Json]:
    config = item["config"]
    approvers = config.get("approvers") or []
    return {
        "id": item["approval_id"], "execution": item["execution"], "workflow": item["workflow"], "step": item["step"],
        "iteration": [int(index) for index in item["iteration"]], "status": item["status"],
        "type": config.get("approval_type", "approve_reject"), "message": config.get("message", ""),
        "options": list(config.get("options") or []), "data": config.get("data"),
        "approvers": [approvers] if isinstance(approvers, str) else list(approvers), "quorum": config.get("quorum") or 1,
        "requested_at": moment(int(item["requested_at"]) * 1000), "expires_at": moment(int(item["expires_at"]) * 1000),
        "decisions": [dict(each) for each in item["decisions"]],
    }  # fmt: skip
