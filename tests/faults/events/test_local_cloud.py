"""The publisher on the local cloud: real tables, streams and bus, with faults at every boundary."""

from __future__ import annotations

import random
import threading
from collections import defaultdict
from dataclasses import replace

import pytest
from botocore.exceptions import ClientError

from aslant import bootstrap, keys
from aslant.adapters import clients
from aslant.events import SOURCE
from aslant.executions.records import Execution, Failure, Run
from aslant.ports import StepKey
from aslant.settings import Settings
from functions.publish_events.handler import handler
from infra.local.cloud import LocalCloud

NOW = 1_790_000_000_000
STEPS, EXECUTIONS = 3, 4


@pytest.fixture
def cloud():
    clients.forget()
    settings = Settings.read({})
    with LocalCloud() as running:
        running.client("dynamodb").create_table(**keys.executions_table(settings.executions_table))
        running.client("dynamodb").create_table(**keys.catalog_table(settings.catalog_table))
        running.client("s3").create_bucket(Bucket=settings.bucket)
        yield running
    clients.forget()


class Unreliable:
    """Fails the publisher's requests: whole, in parts, or by ending the function before or after."""

    def __init__(self, client, seed):
        self._client, self._random, self._lock = client, random.Random(seed), threading.Lock()
        self.faults = 0

    def put_events(self, Entries):
        with self._lock:
            kind = self._random.choice(["before", "after", "part", "throttled", *["fine"] * 5])
            part = self._random.randrange(len(Entries))
            self.faults += kind != "fine"
        if kind == "before":
            raise SystemExit(1)
        if kind == "throttled":
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow"}}, "PutEvents")
        if kind == "part":
            rest = Entries[:part] + Entries[part + 1 :]
            answers = self._client.put_events(Entries=rest)["Entries"] if rest else []
            failed = {"ErrorCode": "InternalFailure", "ErrorMessage": "no"}
            return {"FailedEntryCount": 1, "Entries": [*answers[:part], failed, *answers[part:]]}
        answer = self._client.put_events(Entries=Entries)
        if kind == "after":
            raise SystemExit(1)
        return answer


def live(settings, execution):
    """An execution of some steps, the first of which fails once; then its end."""
    store, steps = bootstrap.execution_store(settings), bootstrap.steps(settings)
    record = Execution("acme", execution, "orders", "1.0.0", "running", 1, 1, "m", "a", "ada", NOW, NOW)
    _, record = store.create(record, {"input": {}}, Run(1, "a", "m", "1.0.0", "start", "ada", NOW))
    at = NOW * 1000

    def begin(step):
        nonlocal at
        at += 1000
        key = StepKey("acme", execution, step)
        return key, steps.begin(key, type="http", run=1, owner=f"{step}{at}", now=at, lease_until=at + 10**9, workflow="orders")[1]

    key, began = begin("s0")
    steps.fail(key, began, now=at + 10, failure=Failure("NetworkError", "no route"), usage={})
    for index in range(STEPS):
        key, began = begin(f"s{index}")
        steps.finish(key, began, now=at + 500, output={"n": index}, usage={})
    store.transition(record, replace(record, status="completed", changed_at=NOW + 9, finished_at=NOW + 9), by="engine")


def test_everything_arrives_in_order_whatever_fails(cloud, monkeypatch):
    settings = Settings.read({})
    release = {
        "workflow": "orders", "version": "1.0.0", "hash": "h", "machine": "m", "steps": {}, "states": {},
        "settings": {"checkpoint": {"policy": "every_node"}},
    }
    bootstrap.releases(settings).put("acme", release)
    got, lock = [], threading.Lock()

    def collect(event, context):
        with lock:
            got.append(event)

    unreliable = Unreliable(cloud.client("events"), seed=5)
    monkeypatch.setattr("aslant.adapters.event_bus.client", lambda service, region: unreliable)
    monkeypatch.setattr("functions.publish_events.logic._PAUSE", 0.001)
    cloud.function("collect", collect)
    cloud.rule("all", {"source": [SOURCE]}, "collect")
    cloud.function("publish", handler)
    cloud.stream(settings.executions_table, "publish", batch=9, shards=3)
    threads = [threading.Thread(target=live, args=(settings, f"e-{index}")) for index in range(EXECUTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cloud.settle(90) and cloud.dead_letters == []
    assert unreliable.faults > 5
    by_execution = defaultdict(dict)
    for event in got:
        detail = event["detail"]
        assert event["detail-type"] == detail["event_type"] and detail["workflow_id"] == "orders"
        by_execution[detail["execution_id"]][detail["event_id"]] = detail
    assert sorted(by_execution) == [f"e-{index}" for index in range(EXECUTIONS)]
    for execution, events in by_execution.items():
        ordered = sorted(events.values(), key=lambda detail: detail["sequence"])
        own = [detail["event_type"] for detail in ordered if detail["event_type"] != "checkpoint_created"]
        assert own == [
            "workflow_started", "node_started", "node_failed", "node_retrying", "node_completed",
            *["node_started", "node_completed"] * (STEPS - 1), "workflow_completed",
        ]
        made = [detail["payload"]["number"] for detail in ordered if detail["event_type"] == "checkpoint_created"]
        assert made == list(range(1, STEPS + 1))
        checkpoints = bootstrap.execution_store(settings).checkpoints("acme", execution)
        assert [len(checkpoint.steps) for checkpoint in checkpoints] == list(range(1, STEPS + 1))
