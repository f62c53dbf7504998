"""The Lambda functions on the sample events, with ports in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap, clock
from aslant.errors import ValidationError
from aslant.notices import read_notice
from functions.record_execution.handler import handler as record
from functions.watch_sla.handler import handler as watch
from tests.unit.recording.fakes import FakeMachines, FakeReleases, FakeTimers, MemoryStore
from tests.unit.recording.flow import RELEASE

SAMPLES = Path(__file__).parents[3] / "events" / "executions"
S0 = 1_800_000_000_000


def sample(name: str) -> Any:
    return json.loads((SAMPLES / f"{name}.json").read_text())


@pytest.fixture
def ports(monkeypatch: pytest.MonkeyPatch) -> tuple[MemoryStore, FakeMachines, FakeTimers]:
    store, machines, timers = MemoryStore(), FakeMachines(), FakeTimers()
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:"
    releases = FakeReleases(
        {**RELEASE, "workflow": "release", "version": "1.2.0", "machine": machine + "release"},
        {**RELEASE, "workflow": "checks", "version": "1.0.0", "machine": machine + "checks"},
    )
    monkeypatch.setattr(bootstrap, "execution_store", lambda settings: store)
    monkeypatch.setattr(bootstrap, "machines", lambda settings: machines)
    monkeypatch.setattr(bootstrap, "releases", lambda settings: releases)
    monkeypatch.setattr(bootstrap, "timers", lambda settings: timers)
    monkeypatch.setattr(bootstrap, "approvals", lambda settings: None)
    monkeypatch.setattr(clock, "now", lambda: (S0 + 70_000) / 1000)
    return store, machines, timers


@pytest.mark.parametrize(("name", "status"), [
    ("succeeded", "completed"), ("failed", "failed"), ("aborted", "cancelled"), ("timed-out", "timed_out"),
])  # fmt: skip
def test_from_the_start_to_the_end(ports: tuple[MemoryStore, FakeMachines, FakeTimers], name: str, status: str) -> None:
    store, _, timers = ports
    about = {"tenant": "acme", "execution": "exec-0001", "run": 1}
    assert record(sample("running"), None) == about | {"status": "running"}
    assert len(timers.timers) == 1
    assert record(sample(name), None) == about | {"status": status}
    assert timers.timers == {}
    ended = store.executions["acme", "exec-0001"]
    assert ended.finished_at == S0 + 42_000
    if name == "failed":
        assert ended.error is not None and (ended.error.error, ended.error.message) == ("HttpError", "step publish: HTTP 422")


def test_samples_of_others(ports: tuple[MemoryStore, FakeMachines, FakeTimers]) -> None:
    store, machines, _ = ports
    record(sample("running"), None)
    assert record(sample("child-running"), None)["execution"] == "call-5f2b"
    assert [child.id for child in store.children("acme", "exec-0001")] == ["call-5f2b"]
    assert record(sample("by-hand"), None)["tenant"] == "default"
    machines.descriptions[sample("succeeded-large")["detail"]["executionArn"]] = {
        "status": "SUCCEEDED", "input": sample("succeeded")["detail"]["input"], "output": "[1]",
    }
    assert record(sample("succeeded-large"), None)["status"] == "completed"
    assert store.output("acme", "exec-0001") == [1]


@pytest.mark.parametrize("event", [
    None, {}, [], {"source": "aws.states", "detail-type": "Other", "detail": {}},
    {"source": "shop", "detail-type": "Step Functions Execution Status Change", "detail": {}},
    {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": {"status": "RUNNING"}},
    {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": None},
])  # fmt: skip
def test_what_is_no_notice_is_left_alone(event: Any) -> None:
    with pytest.raises(ValidationError):
        read_notice(event)
    assert record(event, None) == {}


@pytest.mark.parametrize("given", ["null", "[]", "{", '{"execution": []}', '{"execution": {"id": 7}}', "[" * 5000])
def test_inputs_of_any_kind_are_somebody_elses(ports: tuple[MemoryStore, FakeMachines, FakeTimers], given: str) -> None:
    event = sample("running")
    event["detail"] |= {"input": given, "stateMachineArn": "arn:aws:states:us-east-1:123456789012:stateMachine:other"}
    assert record(event, None) == {} and ports[0].executions == {}


def test_a_timer_that_fires(ports: tuple[MemoryStore, FakeMachines, FakeTimers], monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent:
        def publish(self, *_: str) -> str:
            raise ValidationError("no such topic")

    monkeypatch.setenv("ASLANT_NOTIFY_TOPIC", "arn:topic")
    monkeypatch.setattr(bootstrap, "topics", lambda settings: Silent())
    monkeypatch.setattr(bootstrap, "http", lambda settings: None)
    record(sample("running"), None)
    assert watch(sample("sla-timer"), None) == {"breached": True}  # the mark stands though nobody could be told
    assert watch(sample("sla-timer"), None) == {"breached": False}
    with pytest.raises(ValidationError):
        watch({"tenant": "acme"}, None)
