"""A small workflow as a release, and histories of its runs."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.unit.recording.fakes import MACHINE, T0, UNDOING, status_change

START = datetime.fromtimestamp(T0 / 1000, UTC)

# fetch -> route -> (pay | refuse), `pay` is a function's step, `refuse` another one.
RELEASE: dict[str, Any] = {
    "workflow": "flow", "version": "1.0.0", "hash": "h", "machine": MACHINE, "rollback": UNDOING,
    "steps": {
        "fetch": {"type": "http", "hash": "a", "after": []},
        "route": {"type": "choice", "hash": "b", "after": ["fetch"]},
        "pay": {"type": "http", "hash": "c", "after": ["route"]},
        "refuse": {"type": "notify", "hash": "d", "after": ["route"]},
    },
    "states": {
        "fetch": {"step": "fetch", "role": "step"},
        "route": {"step": "route", "role": "step", "outcomes": {"pay": "big", "refuse": "small"}},
        "pay": {"step": "pay", "role": "step"},
        "refuse": {"step": "refuse", "role": "step"},
        "flow end": {"step": "", "role": "end"},
    },
    "settings": {"sla": 60},
}


def info(id: str = "e1", run: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "input": {"n": 1},
        "execution": {"id": id, "tenant": "acme", "workflow": "flow", "version": "1.0.0", "run": run, "user": "ada", **more},
    }


def history(end: str, *, error: str = "", at: int = T0) -> list[dict[str, Any]]:
    """A run: SUCCEEDED goes through `pay`, FAILED fails in it, the others end while it runs."""
    rows: list[tuple[int, str, dict[str, Any]]] = [
        (0, "ExecutionStarted", {"input": "{}"}),
        (0, "TaskStateEntered", {"name": "fetch"}),
        (2, "TaskScheduled", {"resource": "invoke"}),
        (3, "TaskSucceeded", {}),
        (4, "TaskStateExited", {"name": "fetch"}),
        (5, "ChoiceStateEntered", {"name": "route"}),
        (6, "ChoiceStateExited", {"name": "route"}),
        (7, "TaskStateEntered", {"name": "pay"}),
        (8, "TaskScheduled", {"resource": "invoke"}),
    ]
    if end == "SUCCEEDED":
        rows += [
            (9, "TaskSucceeded", {}), (10, "TaskStateExited", {"name": "pay"}),
            (11, "SucceedStateEntered", {"name": "flow end"}), (12, "SucceedStateExited", {"name": "flow end"}),
            (13, "ExecutionSucceeded", {"output": "{}"}),
        ]
    elif end == "FAILED":
        details = {"error": error, "cause": json.dumps({"errorMessage": "no money", "errorType": error})}
        rows += [(9, "TaskFailed", details), (10, "ExecutionFailed", details)]
    elif end == "ABORTED":
        rows += [(9, "ExecutionAborted", {"error": error, "cause": "stopped by hand"})]
    else:
        rows += [(9, "ExecutionTimedOut", {})]
    start = datetime.fromtimestamp(at / 1000, UTC)
    return [
        {
            "id": number, "previousEventId": before, "type": kind, "timestamp": start + timedelta(milliseconds=100 * number),
            "detailsEventDetails": details,
        }
        for number, (before, kind, details) in enumerate(rows, 1)
    ]


def notice(status: str, run: int = 1, id: str = "e1", *, at: int = T0, output: Any = None, **more: Any) -> dict[str, Any]:
    name = id if run == 1 else f"{id}-r{run}"
    given = info(id, run, **more)
    return status_change(name, status, input=given, output=output if output is not None else {"ok": True}, at=at)
