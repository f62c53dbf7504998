"""A process that dies at any call of a port: calling again ends in the same state, and exactly one run goes on."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from aslant.executions.records import Child
from aslant.executions.service import Executions
from tests.unit.executions.memory import T0, Budget, Crash, World, facts, release
from tests.unit.executions.test_service import store_child

UNDO = "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"
STEPS = {"a": facts(), "call": facts("workflow", after=["a"]), "b": facts(after=["call"]), "c": facts(after=["b"])}


def world_with(status: str) -> World:
    """An execution "x" in a status, with records, a checkpoint after `call`, and a child and a grandchild."""
    calling = {"call": facts("workflow")}
    world = World(
        release(STEPS, rollback=UNDO), release(STEPS | {"b": facts(after=["call"], hash="new")}, version="2.0.0"),
        release(workflow="child", steps=calling), release(workflow="leaf"),
    )  # fmt: skip
    if status == "none":
        return world
    service = world.through(Budget())
    made = service.start("acme", "flow", {"n": 1}, user="ann", version="1.0.0")
    assert made.id == "x1"
    for at, step in enumerate(("a", "call", "b")):
        world.completed("x1", step, at=at)
    service.take_checkpoint(made, reason="manual", by="", at=(T0 + 1) * 1000)
    world.failed("x1", "c", at=5)
    for id, parent, workflow in (("child", "x1", "child"), ("leaf", "child", "leaf")):
        store_child(world, {
            "id": id, "tenant": "acme", "workflow": workflow, "version": "1.0.0", "run": 1, "user": "ann",
            "parent": {"execution": parent, "step": "call", "iteration": [], "attempt": 0},
        })  # fmt: skip
    for at, step in enumerate(("a", "b")):
        world.completed("leaf", step, at=at)
    if status == "paused":
        service.pause("acme", "x1", by="bob")
    elif status != "running":
        more = {"undone": ("b",)} if status == "failed" else {}
        for id in ("leaf", "child", "x1"):
            world.end(id, status, **(more if id == "x1" else {}))
    return world


def state(world: World) -> dict[str, Any]:
    """All that counts."""
    ids = sorted(id for _, id in world.store.executions)
    return {
        "executions": [world.store.executions["acme", id] for id in ids],
        "running": sorted(world.machines.running),
        "steps": {id: world.store.steps("acme", id) for id in ids},
        "aside": {id: world.store.asides("acme", id) for id in ids},
        "runs": {id: world.store.runs("acme", id) for id in ids},
        "transitions": {id: world.store.transitions("acme", id) for id in ids},
        "children": {id: world.store.children("acme", id) for id in ids},
    }


Call = Callable[[Executions], Any]

CALLS: dict[str, tuple[str, Call]] = {
    "start": ("none", lambda service: service.start("acme", "flow", {"n": 1}, user="ann", key="k")),
    "pause": ("running", lambda service: service.pause("acme", "x1", by="bob")),
    "cancel": ("running", lambda service: service.cancel("acme", "x1", by="bob")),
    "cancel and undo": ("running", lambda service: service.cancel("acme", "x1", by="bob", compensate=True)),
    "resume": ("paused", lambda service: service.resume("acme", "x1", by="bob")),
    "resume on another version": ("paused", lambda service: service.resume("acme", "x1", by="bob", version="2.0.0")),
    "restore": ("paused", lambda service: service.restore("acme", "x1", 1, by="bob")),
    "retry": ("failed", lambda service: service.retry("acme", "x1", by="bob")),
    "rerun": ("completed", lambda service: service.rerun("acme", "x1", "call", by="bob")),
    "rollback of a paused one": ("paused", lambda service: service.rollback("acme", "x1", by="bob")),
    "rollback": ("failed", lambda service: service.rollback("acme", "x1", by="bob")),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("healed", [False, True], ids=["called again", "reconciled first"])
def test_killed_at_any_call_of_a_port(name, healed):
    status, call = CALLS[name]
    reference, budget = world_with(status), Budget()
    call(reference.through(budget))
    expected = state(reference)
    assert len([run for run in expected["running"] if run.startswith("x1")]) == (0 if name in ("start", "pause", "cancel") else 1)
    assert len(expected["running"]) == (0 if name in ("pause", "cancel") else 1)
    assert budget.calls >= 2
    for at in range(budget.calls):
        for late in (False, True):
            world = world_with(status)
            with pytest.raises(Crash):
                call(world.through(Budget(at, late=late)))
            if healed:
                for _, id in sorted(world.store.executions):
                    world.service.reconcile("acme", id)
            call(world.service)
            assert state(world) == expected, f"killed {'after' if late else 'before'} call {at}"


@pytest.mark.parametrize("name", [name for name in CALLS if name != "start"])
def test_called_again_it_does_nothing_more(name):
    status, call = CALLS[name]
    world = world_with(status)
    call(world.service)
    before = state(world)
    call(world.service)
    assert state(world) == before


@pytest.mark.parametrize("second", ["resume", "restore", "rerun"])
def test_something_else_after_a_crash_goes_on_with_what_was_begun(second):
    """Whatever is called after a restore that broke off: no record of what the restore takes back is left half way."""
    other: dict[str, Call] = {
        "resume": lambda service: service.resume("acme", "x1", by="eve"),
        "restore": lambda service: service.restore("acme", "x1", 1, by="eve"),
        "rerun": lambda service: service.rerun("acme", "x1", "c", by="eve"),
    }
    budget = Budget()
    CALLS["restore"][1](world_with("paused").through(budget))
    for at in range(budget.calls):
        world = world_with("paused")
        with contextlib.suppress(Crash):
            CALLS["restore"][1](world.through(Budget(at, late=True)))
        claimed = bool(world.store.executions["acme", "x1"].preparing)
        with contextlib.suppress(Exception):
            other[second](world.service)
        labels = {step.label for step in world.store.steps("acme", "x1")}
        assert world.machines.running == ["x1-r2"]
        assert world.store.executions["acme", "x1"].preparing == {}
        if claimed:
            assert labels == {"a", "call"}


def test_a_child_is_noted_once(monkeypatch):
    world = world_with("running")
    world.store.add_child("acme", "x1", Child("child", "call", (), 0))
    assert len(world.service.children("acme", "x1")) == 1
