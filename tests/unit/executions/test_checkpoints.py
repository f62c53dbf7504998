"""When a checkpoint is due, and what it says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from aslant.errors import ConflictError
from aslant.executions.checkpoints import StepEvent, completed_by, due, taken, verify
from aslant.executions.records import Checkpoint, StepRecord


def last(at: int = 0, steps: int = 0) -> Checkpoint:
    return Checkpoint(1, at, "manual", "ann", 1, ("s",) * steps, "")


def event(kind: str = "completed", type: str = "skill", at: int = 0, completed: int = 1) -> StepEvent:
    return StepEvent(kind, type, at, completed)  # type: ignore[arg-type]


@pytest.mark.parametrize(("policy", "before", "happened", "reason"), [
    ({"policy": "every_node"}, None, event(), "every_node"),
    ({"policy": "every_node"}, last(steps=5), event(completed=6), "every_node"),
    ({"policy": "every_node"}, None, event("failed"), None),
    ({"policy": "every_node"}, None, event("began"), None),
    ({"policy": "every_n", "every": 3}, None, event(completed=2), None),
    ({"policy": "every_n", "every": 3}, None, event(completed=3), "every_n"),
    ({"policy": "every_n", "every": 3}, last(steps=3), event(completed=5), None),
    ({"policy": "every_n", "every": 3}, last(steps=3), event(completed=6), "every_n"),
    ({"policy": "every_n", "every": 3}, last(steps=3), event("failed", completed=9), None),
    ({"policy": "every_n"}, None, event(), "every_n"),
    ({"policy": "interval", "seconds": 10}, None, event(), "interval"),
    ({"policy": "interval", "seconds": 10}, last(at=1), event(at=9_999_999), None),
    ({"policy": "interval", "seconds": 10}, last(at=1), event(at=10_000_001), "interval"),
    ({"policy": "on_failure"}, None, event("failed"), "on_failure"),
    ({"policy": "on_failure"}, None, event(), None),
    ({"policy": "manual"}, None, event(), None),
    ({"policy": "manual"}, None, event("failed"), None),
    ({"policy": "none"}, None, event(), None),
    (None, None, event(), None),
    ({}, None, event(), None),
    (None, None, event("began", "deploy"), "before_deploy"),
    ({"policy": "none"}, last(), event("began", "scale"), "before_scale"),
    ({"policy": "every_node"}, None, event("began", "http"), None),
])  # fmt: skip
def test_due(policy, before, happened, reason):
    assert due(policy, before, happened) == reason


def step(name: str, at: int, *iteration: int, status: str = "completed", **more: object) -> StepRecord:
    base = StepRecord(name, iteration, status, finished_at=at, output_sha256=f"sha {name}{iteration}")  # type: ignore[arg-type]
    return replace(base, **more)  # type: ignore[arg-type]


RECORDS = [
    step("c", 30), step("a", 10), step("loop", 20, 1), step("loop", 20, 0), step("broken", 15, status="failed"),
    step("native", 12, native=True), step("going", 0, status="running", finished_at=None),
]  # fmt: skip


def test_what_had_completed_by_then_in_its_order():
    assert [one.label for one in completed_by(RECORDS)] == ["a", "loop[0]", "loop[1]", "c"]
    assert [one.label for one in completed_by(RECORDS, 20)] == ["a", "loop[0]", "loop[1]"]
    assert completed_by(RECORDS, 9) == []
    point = taken(reversed(RECORDS), number=4, at=20, reason="manual", by="ann", run=2, label="here")
    assert (point.number, point.steps, point.run, point.label) == (4, ("a", "loop[0]", "loop[1]"), 2, "here")


def test_verifying():
    point = taken(RECORDS, number=1, at=20, reason="manual", by="ann", run=1)
    verify(point, RECORDS)
    verify(point, [*RECORDS, step("later", 99)])
    verify(taken([], number=1, at=20, reason="manual", by="ann", run=1), [])
    with pytest.raises(ConflictError, match=r"loop\[0\]"):
        verify(point, [one for one in RECORDS if one.label != "loop[0]"])
    with pytest.raises(ConflictError, match="a are gone"):
        verify(point, [replace(one, status="failed") if one.step == "a" else one for one in RECORDS])
    with pytest.raises(ConflictError, match="not those"):
        verify(point, [replace(one, output_sha256="other") if one.step == "a" else one for one in RECORDS])
    with pytest.raises(ConflictError, match="not those"):
        verify(replace(point, sha256="0" * 64), RECORDS)


def test_after_steps_that_ask_for_it_whatever_the_policy_is():
    policy = {"policy": "none", "after": ["build"]}
    completed = StepEvent("completed", "http", 1, 1, "build")
    assert due(policy, None, completed) == "step"
    assert due(policy, None, completed._replace(step="test")) is None
    assert due(policy, None, completed._replace(kind="failed")) is None
    assert due({**policy, "policy": "every_node"}, None, completed._replace(step="test")) == "every_node"
