"""Executions with a time limit of their own."""

from __future__ import annotations

from typing import Any

import pytest

from aslant import timeouts
from aslant.timeouts import Timeouts
from tests.unit.executions.memory import World, release


class Timers:
    def __init__(self) -> None:
        self.given: list[tuple[int, dict[str, Any]]] = []

    def set(self, name: str, at: int, function: str, payload: Any) -> None:
        assert function == "aslant-watch-sla"
        self.given.append((at, dict(payload)))

    def cancel(self, name: str) -> None: ...


@pytest.fixture
def world() -> World:
    return World()


def test_the_timer_stops_what_still_runs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    timers, now = Timers(), [0]
    made = world.service.start("acme", "flow", {}, user="ann", options={"timeout_seconds": 60})
    timeouts.arm(timers, made)
    ((at, payload),) = timers.given
    assert at == made.started_at // 1000 + 61 and payload == {"tenant": "acme", "execution": made.id, "timeout": True}
    said: list[tuple[str, str]] = []
    stop = world.machines.stop
    monkeypatch.setattr(world.machines, "stop", lambda arn, error, cause: (said.append((error, cause)), stop(arn, error, cause)))
    watch = Timeouts(world.store, world.machines, timers, world.releases, lambda: now[0])
    now[0] = made.started_at + 59_000
    assert not watch.look("acme", made.id) and len(timers.given) == 2, "it was early"
    now[0] = made.started_at + 61_000
    assert watch.look("acme", made.id) and world.machines.running == []
    ((error, cause),) = said
    assert error == "States.Timeout" and "60 seconds" in cause


def watched(*releases: Any) -> tuple[World, Timers, Timeouts]:
    world, timers = World(*releases), Timers()
    return world, timers, Timeouts(world.store, world.machines, timers, world.releases, world.clock)


def running(world: World, id: str) -> Any:
    found = world.store.read("acme", id)
    assert found is not None and found.status == "running"
    return found


def test_what_has_no_limit_or_has_ended_is_left_alone() -> None:
    world, timers, watch = watched()
    plain = world.service.start("acme", "flow", {}, user="ann")
    timeouts.arm(timers, plain)
    ended = world.service.start("acme", "flow", {}, user="ann", options={"timeout_seconds": 1})
    world.service.cancel("acme", ended.id, by="ann")
    paused = world.service.start("acme", "flow", {}, user="ann", options={"timeout_seconds": 1})
    world.service.pause("acme", paused.id, by="ann")
    world.clock.now += 10**7
    assert not any(watch.look("acme", id) for id in (plain.id, ended.id, paused.id, "nothing")) and timers.given == []


@pytest.mark.parametrize(("options", "settings"), [({"timeout_seconds": 60}, {}), ({}, {"timeout": 60}),
    ({"timeout_seconds": 60}, {"timeout": 500})])  # fmt: skip
def test_a_pause_takes_no_time_and_gives_none(options: dict[str, Any], settings: dict[str, Any]) -> None:
    """40 seconds are worked, an hour is rested, so 20 seconds are left: not 60, and not none."""
    world, timers, watch = watched(release(settings=settings))
    id = world.service.start("acme", "flow", {}, user="ann", options=options).id
    world.clock.now += 40_000
    world.service.pause("acme", id, by="ann")
    world.clock.now += 3_600_000
    world.service.resume("acme", id, by="ann")
    watch.again(running(world, id), world.releases.get("acme", "flow"))
    assert timers.given[-1][0] == world.clock.now // 1000 + 21
    world.clock.now += 19_000
    assert not watch.look("acme", id) and timers.given[-1][0] == world.clock.now // 1000 + 2
    world.clock.now += 1_000
    assert watch.look("acme", id) and world.machines.running == []


def test_a_retry_has_the_whole_time() -> None:
    world, timers, watch = watched(release(settings={"timeout": 60}))
    id = world.service.start("acme", "flow", {}, user="ann").id
    world.clock.now += 50_000
    world.end(id, "failed")
    world.clock.now += 1_000_000
    world.service.retry("acme", id, by="ann", version="1.0.0")
    watch.again(running(world, id), world.releases.get("acme", "flow"))
    assert timers.given[-1][0] == world.clock.now // 1000 + 61
    world.clock.now += 59_000
    assert not watch.look("acme", id)


def test_the_engine_keeps_the_workflows_limit_of_a_first_run() -> None:
    world, timers, watch = watched(release(settings={"timeout": 60}))
    made = world.service.start("acme", "flow", {}, user="ann")
    watch.again(made, world.releases.get("acme", "flow"))
    world.clock.now += 10**7
    assert not watch.look("acme", made.id) and timers.given == []
