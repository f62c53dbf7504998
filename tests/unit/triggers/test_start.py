"""What a schedule starts, and what its policy leaves out. The services are those of other unit tests, on fakes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from aslant.errors import NotFoundError, ValidationError
from aslant.executions.records import Execution, Page
from functions.start_execution.logic import start_scheduled


@dataclass
class Executions:
    """What `aslant.executions.service.Executions` does as far as a schedule needs it."""

    kept: dict[str, Execution] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    refuses: bool = False

    def start(self, tenant: str, workflow: str, input: Any, *, user: str, key: str, trigger: Any) -> Execution:
        """The key is the tenant's: the same one for another workflow would be another start under one id."""
        if self.refuses:
            raise ValidationError("the input lacks something")
        id = self.keys.setdefault(key, f"e{len(self.keys) + 1}")
        made = Execution(tenant, id, workflow, "1.0.0", "running", 0, 1, "m", "a", user, len(self.keys), 0, trigger=trigger)
        return self.kept.setdefault(id, made)

    def list(self, tenant: str, *, workflow: str, limit: int, cursor: Any) -> Page:
        return Page(tuple(reversed(self.kept.values())))

    def cancel(self, tenant: str, id: str, *, by: str, reason: str) -> None:
        self.end(id, "cancelled")

    def end(self, id: str, status: Any = "completed") -> None:
        from dataclasses import replace

        self.kept[id] = replace(self.kept[id], status=status)

    @property
    def running(self) -> list[str]:
        return [id for id, one in self.kept.items() if one.status == "running"]


@dataclass
class World:
    overlap: str = "allow"
    enabled: bool = True
    executions: Executions = field(default_factory=Executions)
    timers: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def get(self, tenant: str, workflow: str) -> Any:
        if workflow not in ("flow", "twin"):
            raise NotFoundError("no such workflow")
        return {"triggers": [{"id": "schedule-1", "enabled": self.enabled, "overlap": self.overlap, "input": {"a": 1}}]}

    def set(self, name: str, at: int, function: str, payload: Any) -> None:
        self.timers.append((name, payload))

    def fire(self, at: str, trigger: str = "schedule-1", workflow: str = "flow") -> str:
        made: Any = self
        return start_scheduled(made.executions, made, made, "acme", workflow, trigger, at)


def test_every_moment_starts_one_and_a_moment_that_is_told_twice_starts_one() -> None:
    world = World()
    assert [world.fire("t1"), world.fire("t2"), world.fire("t1")] == ["e1", "e2", "e1"]
    assert world.executions.running == ["e1", "e2"]
    assert world.executions.kept["e1"].trigger == {"type": "schedule", "id": "schedule-1", "at": "t1"}


def test_skip_leaves_out_what_would_overlap() -> None:
    world = World("skip")
    assert [world.fire("t1"), world.fire("t2")] == ["e1", ""]
    assert world.fire("t1") == "e1", "told again, it is the same start, not one that overlaps itself"
    world.executions.end("e1")
    assert world.fire("t3") == "e2"


def test_queue_looks_again_later() -> None:
    world = World("queue")
    assert [world.fire("t1"), world.fire("t2")] == ["e1", ""]
    ((_, payload),) = world.timers
    assert payload == {"tenant": "acme", "workflow": "flow", "trigger": "schedule-1", "at": "t2"}
    world.executions.end("e1")
    assert world.fire(payload["at"]) == "e2"


def test_cancel_running_ends_the_earlier_one() -> None:
    world = World("cancel_running")
    assert [world.fire("t1"), world.fire("t2")] == ["e1", "e2"]
    assert world.executions.running == ["e2"]
    assert world.executions.kept["e1"].status == "cancelled"


@pytest.mark.parametrize("gone", [{"workflow": "other"}, {"trigger": "schedule-2"}])
def test_a_trigger_that_is_gone_starts_nothing(gone: dict[str, str]) -> None:
    assert World().fire("t1", **gone) == "" and World(enabled=False).fire("t1") == ""


def test_an_input_that_the_workflow_refuses_is_not_tried_again() -> None:
    world = World()
    world.executions.refuses = True
    assert world.fire("t1") == ""


def test_two_workflows_start_at_the_same_moment() -> None:
    world = World()
    first, second = world.fire("t1"), world.fire("t1", workflow="twin")
    assert first != second and {one.workflow for one in world.executions.kept.values()} == {"flow", "twin"}
