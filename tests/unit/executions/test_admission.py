"""How many executions may start, and how many may run at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from aslant.errors import InvalidInput, RateLimited
from aslant.executions.admission import Admission, Limits
from tests.unit.executions.memory import World, release


@dataclass
class Rates:
    calls: dict[tuple[str, str, int], int] = field(default_factory=dict)

    def take(self, tenant: str, endpoint: str, window: int, per: int, limit: int) -> bool:
        key = (tenant, endpoint, window)
        if self.calls.get(key, 0) >= limit:
            return False
        self.calls[key] = self.calls.get(key, 0) + 1
        return True


@dataclass
class Clock:
    now: float = 3600 * 5 + 600

    def __call__(self) -> float:
        return self.now


def admission(store: Any, clock: Clock, **limits: int) -> Admission:
    return Admission(Limits(**limits), Rates(), store, clock)


def check(made: Admission, *, user: str = "ann", trigger: str = "api", priority: str = "normal", tenant: str = "acme", **more: Any) -> None:
    made.check(tenant, {**release(), "settings": more}, user=user, trigger=trigger, priority=priority)  # type: ignore[typeddict-item]


def test_a_person_starts_so_many_in_an_hour(store: Any) -> None:
    clock = Clock()
    made = admission(store, clock, user_starts=2)
    for _ in range(2):
        check(made)
    with pytest.raises(RateLimited) as refused:
        check(made)
    assert refused.value.retry_after == 3000, "until the hour is over"
    check(made, user="ben")
    check(made, tenant="other")
    for trigger in ("schedule", "event", "workflow", "webhook"):
        check(made, trigger=trigger)
    clock.now += 3000
    check(made)


def test_a_tenant_starts_so_many_triggers_included(store: Any) -> None:
    made = admission(store, Clock(), tenant_starts=2)
    check(made, user="ann")
    check(made, user="event", trigger="event")
    with pytest.raises(RateLimited):
        check(made, user="ben")


def run(store: Any, number: int, workflow: str = "flow", status: Any = "running", tenant: str = "acme") -> None:
    world = World()
    made = world.service.start("acme", "flow", {}, user="ann")
    for index in range(number):
        one = replace(made, tenant=tenant, id=f"{workflow}-{status}-{index}", workflow=workflow, status=status)
        store.create(one, {"input": {}}, world.service.runs("acme", made.id)[0])


def test_a_workflow_has_so_many_places(store: Any) -> None:
    made = admission(store, Clock())
    run(store, 2)
    run(store, 5, workflow="other")
    run(store, 5, status="failed")
    run(store, 5, tenant="other")
    check(made, concurrency=3)
    with pytest.raises(RateLimited) as refused:
        check(made, concurrency=2)
    assert refused.value.retry_after and "2 executions of flow" in str(refused.value)


def test_the_last_places_of_a_tenant_are_for_what_is_urgent(store: Any) -> None:
    made = admission(store, Clock(), running=10)
    run(store, 4, workflow="a")
    check(made, priority="low")
    run(store, 1, workflow="b")
    with pytest.raises(RateLimited):
        check(made, priority="low")
    check(made)
    run(store, 4, workflow="c")
    with pytest.raises(RateLimited):
        check(made)
    check(made, priority="high")
    run(store, 1, workflow="d")
    with pytest.raises(RateLimited):
        check(made, priority="high")


def test_what_is_counted_stops_at_the_limit(store: Any) -> None:
    run(store, 9)
    assert [store.count("acme", status="running", workflow=None, most=most) for most in (3, 9, 50)] == [3, 9, 9]
    assert store.count("acme", status="running", workflow="none", most=5) == 0


def test_a_start_that_is_repeated_needs_no_place() -> None:
    world = World()
    asked: list[tuple[str, dict[str, Any]]] = []

    def admit(release: Any, tenant: str, user: str, facts: Any) -> None:
        asked.append((user, dict(facts)))
        if len(asked) > 1:
            raise RateLimited("full", retry_after=5)

    service = replace(world.service, admit=admit)
    options = {"priority": "high", "timeout_seconds": 5}
    first = service.start("acme", "flow", {}, user="ann", key="k", trigger={"type": "api"}, options=options)
    assert service.start("acme", "flow", {}, user="ann", key="k", trigger={"type": "api"}, options=options).id == first.id
    with pytest.raises(RateLimited):
        service.start("acme", "flow", {}, user="ann", key="k2")
    assert asked[0] == ("ann", {"type": "api", **options}) and first.options == options
    assert len(world.machines.started) == 1


def test_everything_that_is_wrong_with_an_input_is_told_at_once() -> None:
    many = {f"x{number}": {"type": "integer", "required": True} for number in range(7)}
    world = World()
    world.service.releases.put("acme", {**release(), "inputs": many})  # type: ignore[typeddict-unknown-key]
    with pytest.raises(InvalidInput) as refused:
        world.service.start("acme", "flow", {"x0": "one", "y": 1}, user="ann")
    assert [pointer for pointer, _ in refused.value.problems] == ["/x0", *(f"/x{number}" for number in range(1, 7)), "/y"]
    assert "and 3 more" in str(refused.value)
