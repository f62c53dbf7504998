"""Executions that do not end in time."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest

from aslant import sla
from aslant.errors import ConflictError, NetworkError, ValidationError
from aslant.executions.records import Execution, Run
from aslant.http_ports import HttpResponse
from aslant.settings import Settings
from tests.unit.recording.fakes import MACHINE, T0, FakeTimers, MemoryStore, arn
from tests.unit.recording.flow import RELEASE


def make(store: MemoryStore, status: Any = "running", **more: Any) -> Execution:
    execution = Execution("acme", "e1", "flow", "1.0.0", status, 1, 1, MACHINE, arn("e1"), "ada", T0, T0,
                          **{"sla_due": T0 + 60_000, **more})  # fmt: skip
    return store.create(execution, {}, Run(1, arn("e1"), MACHINE, "1.0.0", "start", "ada", T0))[1]


def watch(store: MemoryStore, timers: FakeTimers, told: list[str], now: int = T0 + 60_000) -> sla.Watch:
    return sla.Watch(store, timers, lambda: now, lambda execution: told.append(execution.id))


def test_what_is_promised() -> None:
    assert sla.due(RELEASE, T0) == T0 + 60_000  # type: ignore[arg-type]
    assert sla.due({**RELEASE, "settings": {}}, T0) is None  # type: ignore[typeddict-item]


def test_the_timer_of_an_execution(store: MemoryStore, timers: FakeTimers) -> None:
    execution = make(store)
    sla.arm(timers, replace(execution, sla_due=T0 + 60_001), RELEASE)  # type: ignore[arg-type]
    sla.arm(timers, replace(execution, sla_due=T0 + 60_001), RELEASE)  # type: ignore[arg-type]
    ((at, function, payload),) = timers.timers.values()
    assert at * 1000 >= T0 + 60_001 and (at - 1) * 1000 < T0 + 60_001
    assert (function, payload) == ("aslant-watch-sla", {"tenant": "acme", "execution": "e1", "run": 1})
    sla.disarm(timers, execution)
    assert timers.timers == {}
    sla.arm(timers, replace(execution, sla_due=None), {**RELEASE, "settings": {}})  # type: ignore[typeddict-item]
    assert timers.timers == {}


def test_timers_of_tenants_and_executions_do_not_meet() -> None:
    names = ["a", "b", "a#b", 'a", "b']
    found = {
        sla.timer_name(Execution(tenant, id, "w", "1", "running", 1, 1, "", "", "", 0, 0))
        for tenant, id in itertools.product(names, names)
    }
    assert len(found) == len(names) ** 2


@pytest.mark.parametrize("status", ["running", "paused", "rolling_back", "pending"])
def test_one_that_is_late_is_marked_and_told_of_once(store: MemoryStore, timers: FakeTimers, status: str) -> None:
    make(store, status)
    told: list[str] = []
    assert watch(store, timers, told).look("acme", "e1")
    assert not watch(store, timers, told).look("acme", "e1")
    assert told == ["e1"] and store.executions["acme", "e1"].sla_breached
    assert store.executions["acme", "e1"].status == status


@pytest.mark.parametrize("status", ["completed", "failed", "cancelled", "timed_out", "rolled_back"])
def test_one_that_has_ended_is_not_late(store: MemoryStore, timers: FakeTimers, status: str) -> None:
    make(store, status)
    told: list[str] = []
    assert not watch(store, timers, told).look("acme", "e1") and told == []


def test_nothing_of_another_tenant_or_without_a_promise(store: MemoryStore, timers: FakeTimers) -> None:
    make(store, sla_due=None)
    told: list[str] = []
    assert not watch(store, timers, told).look("acme", "e1")
    assert not watch(store, timers, told).look("other", "e1") and told == []


def test_a_timer_that_is_early_is_set_again(store: MemoryStore, timers: FakeTimers) -> None:
    make(store)
    told: list[str] = []
    assert not watch(store, timers, told, T0 + 59_000).look("acme", "e1") and told == []
    ((at, _, _),) = timers.timers.values()
    assert at == T0 // 1000 + 60


def test_two_watchers_at_once_tell_once(store: MemoryStore, timers: FakeTimers) -> None:
    execution = make(store)
    told: list[str] = []

    class Slow(MemoryStore):
        """Hands out what it read before the other watcher wrote."""

        reads = 0

        def read(self, tenant: str, id: str) -> Execution | None:
            self.reads += 1
            return execution if self.reads == 1 else store.read(tenant, id)

        def amend(self, before: Execution, after: Execution) -> Execution:
            return store.amend(before, after)

    assert watch(store, timers, told).look("acme", "e1")
    assert not watch(Slow(), timers, told).look("acme", "e1")
    assert told == ["e1"]


def test_one_that_keeps_changing_is_tried_again_later(timers: FakeTimers) -> None:
    class Busy(MemoryStore):
        def amend(self, before: Execution, after: Execution) -> Execution:
            raise ConflictError("changed")

    store = Busy()
    make(store)
    with pytest.raises(ConflictError):
        watch(store, timers, []).look("acme", "e1")


class Topics:
    def __init__(self, error: Exception | None = None) -> None:
        self.sent: list[tuple[str, str, str]] = []
        self.error = error

    def publish(self, topic: str, subject: str, message: str) -> str:
        if self.error is not None:
            raise self.error
        self.sent.append((topic, subject, message))
        return "1"


class Http:
    def __init__(self, status: int = 200) -> None:
        self.sent: list[Any] = []
        self.status = status

    def send(self, request: Any) -> HttpResponse:
        self.sent.append(request)
        return HttpResponse(self.status, {}, b"", request.url)


SETTINGS = Settings(notify_topic="arn:topic", slack_webhook="https://hooks.example.com/secret-part")


def test_people_are_told_through_every_channel(store: MemoryStore) -> None:
    topics, http = Topics(), Http()
    sla.notifier(SETTINGS, topics, http, lambda: T0 + 61_000)(make(store))
    ((topic, subject, text),) = topics.sent
    assert (topic, subject) == ("arn:topic", "flow is late") and "e1" in text and "61 s" in text
    (request,) = http.sent
    assert request.url == SETTINGS.slack_webhook and "e1" in json.loads(request.body)["text"]
    sla.notifier(Settings(), topics, http, lambda: T0)(make(store))
    assert (len(topics.sent), len(http.sent)) == (1, 1)


def test_one_channel_that_fails_does_not_keep_the_others(store: MemoryStore) -> None:
    http = Http(500)
    with pytest.raises(ValidationError) as caught:
        sla.notifier(SETTINGS, Topics(NetworkError("down")), http, lambda: T0)(make(store))
    assert len(http.sent) == 1
    assert "down" in str(caught.value) and "500" in str(caught.value) and "secret-part" not in str(caught.value)
