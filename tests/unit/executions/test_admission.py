"""How many executions may start, and how many may run at once."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from aslant.adapters.dynamo_executions import DynamoExecutions
from aslant.adapters.dynamo_places import DynamoPlaces
from aslant.errors import InvalidInput, RateLimited
from aslant.executions.admission import Admission, Limits, Place
from tests.unit.executions.conftest import TABLE
from tests.unit.executions.memory import World, release
from tests.unit.runtime.fakes import one_write_at_a_time


@pytest.fixture(autouse=True)
def atomic(monkeypatch: pytest.MonkeyPatch) -> None:
    one_write_at_a_time(monkeypatch)


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


@dataclass
class Places:
    kept: dict[tuple[str, str], dict[int, Place]] = field(default_factory=lambda: defaultdict(dict))
    lock: Any = field(default_factory=threading.Lock)

    def taken(self, tenant: str, limit: str) -> dict[int, Place]:
        return dict(self.kept[tenant, limit])

    def take(self, tenant: str, limit: str, number: int, before: Place | None, after: Place) -> bool:
        with self.lock:
            if self.kept[tenant, limit].get(number) != before:
                return False
            self.kept[tenant, limit][number] = after
            return True


def admission(store: Any, clock: Clock, **limits: int) -> Admission:
    places = DynamoPlaces("us-east-1", TABLE) if isinstance(store, DynamoExecutions) else Places()
    return Admission(Limits(**limits), Rates(), places, store, clock)


def check(
    made: Admission, *, id: str = "", user: str = "ann", trigger: str = "api", priority: str = "normal", tenant: str = "acme",
    **more: Any,
) -> None:
    made.check(
        tenant, {**release(), "settings": more},  # type: ignore[typeddict-item]
        id=id or str(uuid.uuid4()), user=user, trigger=trigger, priority=priority,
    )  # fmt: skip


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
    clock = Clock()
    made = admission(store, clock, running=10)

    def place(priority: str) -> None:
        check(made, priority=priority)
        clock.now += 61  # nothing is stored of it, so that its place is free again

    run(store, 4, workflow="a")
    place("low")
    run(store, 1, workflow="b")
    with pytest.raises(RateLimited):
        place("low")
    place("normal")
    run(store, 4, workflow="c")
    with pytest.raises(RateLimited):
        place("normal")
    place("high")
    run(store, 1, workflow="d")
    with pytest.raises(RateLimited):
        place("high")


def test_what_is_counted_stops_at_the_limit(store: Any) -> None:
    run(store, 9)
    run(store, 2, workflow="other", status="failed")
    for workflow in (None, "flow"):
        assert [len(store.running("acme", workflow=workflow, most=most)) for most in (3, 9, 50)] == [3, 9, 9]
    assert store.running("acme", workflow="none", most=5) == store.running("acme", workflow="other", most=5) == []


def test_those_who_start_at_once_get_no_more_places_than_there_are(store: Any) -> None:
    """Nothing of what they start is in an index yet. One runs without a place, as what was resumed does."""
    clock = Clock()
    made = admission(store, clock, running=10)
    run(store, 1)
    refused = []

    def start(number: int) -> None:
        try:
            check(made, id=f"start-{number}", concurrency=4)
        except RateLimited as error:
            refused.append(error)

    with ThreadPoolExecutor(9) as pool:
        list(pool.map(start, range(9)))
    assert len(refused) == 9 - 3
    with pytest.raises(RateLimited):
        check(made, concurrency=4)
    clock.now += 61
    check(made, concurrency=4)  # none of those was ever stored


def test_a_place_is_free_when_its_execution_does_not_run(store: Any) -> None:
    made = admission(store, Clock())
    world = World()
    begun = world.service.start("acme", "flow", {}, user="ann")
    given = world.service.runs("acme", begun.id)[0]
    for round in range(3):
        for number in range(2):
            check(made, id=f"{round}-{number}", concurrency=2)
            store.create(replace(begun, id=f"{round}-{number}"), {"input": {}}, given)
        with pytest.raises(RateLimited):
            check(made, concurrency=2)
        for number in range(2):
            one = store.read("acme", f"{round}-{number}")
            store.transition(one, replace(one, status="paused" if round else "completed"), by="ann")
    check(made, id="again", concurrency=2)
    check(made, id="again", concurrency=2)
    check(made, id="last", concurrency=2)
    with pytest.raises(RateLimited):
        check(made, id="too many", concurrency=2)


def test_the_places_of_the_urgent_are_not_given_to_others_at_once(store: Any) -> None:
    made = admission(store, Clock(), running=10)
    refused: list[str] = []

    def start(number: int) -> None:
        priority = ("low", "normal", "high")[number % 3]
        try:
            check(made, priority=priority)
        except RateLimited:
            refused.append(priority)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(start, range(24)))
    assert len(refused) == 24 - 10 and refused.count("low") >= 8 - 5


def test_a_start_that_is_repeated_needs_no_place() -> None:
    world = World()
    asked: list[tuple[str, dict[str, Any]]] = []

    def admit(release: Any, tenant: str, user: str, id: str, facts: Any) -> None:
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
