"""Executions with a time limit of their own."""

from __future__ import annotations

from typing import Any

import pytest

from aslant import timeouts
from aslant.timeouts import Timeouts
from tests.unit.executions.memory import World


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
    watch = Timeouts(world.store, world.machines, timers, lambda: now[0])
    now[0] = made.started_at + 59_000
    assert not watch.look("acme", made.id) and len(timers.given) == 2, "it was early"
    now[0] = made.started_at + 61_000
    assert watch.look("acme", made.id) and world.machines.running == []
    ((error, cause),) = said
    assert error == "States.Timeout" and "60 seconds" in cause


def test_what_has_no_limit_or_has_ended_is_left_alone(world: World) -> None:
    timers = Timers()
    plain = world.service.start("acme", "flow", {}, user="ann")
    timeouts.arm(timers, plain)
    ended = world.service.start("acme", "flow", {}, user="ann", options={"timeout_seconds": 1})
    world.service.cancel("acme", ended.id, by="ann")
    again = world.service.start("acme", "flow", {}, user="ann", options={"timeout_seconds": 1})
    world.service.pause("acme", again.id, by="ann")
    world.service.resume("acme", again.id, by="ann")
    watch = Timeouts(world.store, world.machines, timers, lambda: plain.started_at + 10**7)
    assert not any(watch.look("acme", id) for id in (plain.id, ended.id, again.id, "nothing")) and timers.given == []
