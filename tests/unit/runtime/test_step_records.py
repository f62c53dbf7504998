"""Step records: the store in memory and the one in DynamoDB do the same."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from aslant import keys
from aslant.adapters import clients
from aslant.adapters.dynamo_steps import INLINE, DynamoSteps, item_of, read_output, record_of
from aslant.adapters.s3_artifacts import S3Artifacts
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.records import Failure, StepRecord
from aslant.ports import StepKey
from tests.unit.runtime.fakes import MemorySteps

KEY = StepKey("acme", "e#1", "pay", (2, 0))


@pytest.fixture
def dynamo(aws: None) -> DynamoSteps:
    clients.client("dynamodb", "us-east-1").create_table(**keys.executions_table("records"))
    clients.client("s3", "us-east-1").create_bucket(Bucket="large")
    return DynamoSteps("us-east-1", "records", S3Artifacts("us-east-1", "large"))


@pytest.fixture(params=["memory", "dynamo"])
def store(request: pytest.FixtureRequest) -> Any:
    return MemorySteps() if request.param == "memory" else request.getfixturevalue("dynamo")


def begin(store: Any, now: int, *, owner: str = "a", run: int = 1, lasts: int = 100, key: StepKey = KEY) -> Any:
    return store.begin(key, type="http", run=run, owner=owner, now=now, lease_until=now + lasts, workflow="w")


def item(key: StepKey = KEY) -> dict[str, Any]:
    pk, sk = keys.step(key.tenant, key.execution, key.step, key.iteration)
    client = clients.client("dynamodb", "us-east-1")
    return client.get_item(TableName="records", Key={"pk": {"S": pk}, "sk": {"S": sk}}).get("Item", {})


def test_the_life_of_a_record(store):
    mine, first = begin(store, 1000)
    assert mine
    assert (first.status, first.run, first.attempts, first.total_attempts) == ("running", 1, 1, 1)
    assert (first.started_at, first.begun_at, first.lease_until, first.owner) == (1000, 1000, 1100, "a")
    assert (first.step, first.iteration, first.type, first.label) == ("pay", (2, 0), "http", "pay[2][0]")
    assert begin(store, 1100, owner="b") == (False, first), "the lease goes until its last microsecond"
    assert begin(store, 1050, owner="a")[0], "a repeated request has what it asked for"
    store.fail(KEY, first, now=1060, failure=Failure("HttpError", "no", "pay", (2, 0)), usage={"calls": 1})
    mine, second = begin(store, 1070, owner="b")
    assert mine and (second.attempts, second.total_attempts, second.error) == (2, 2, None)
    assert (second.started_at, second.begun_at, second.usage) == (1000, 1070, {"calls": 1})
    mine, third = begin(store, 1200, owner="c", run=2)
    assert mine and (third.run, third.attempts, third.total_attempts) == (2, 1, 3)
    done = store.finish(KEY, third, now=1210, output={"ok": [1, None, "é"]}, usage={"calls": 3})
    assert (done.status, done.output, done.owner, done.finished_at) == ("completed", {"ok": [1, None, "é"]}, "c", 1210)
    late = store.finish(KEY, second, now=1220, output="late", usage={})
    assert (late.output, late.owner) == (done.output, "c")
    mine, seen = begin(store, 9000, owner="d", run=3)
    assert not mine and (seen.status, seen.output, seen.attempts, seen.lease_until) == ("completed", done.output, 1, None)


def test_what_the_machine_did_itself_began_before_it_was_recorded(store):
    given = {"type": "workflow", "run": 1, "owner": "a", "lease_until": 9000}
    mine, first = store.begin(KEY, now=5000, began=2000, **given)
    assert mine and (first.started_at, first.begun_at, first.lease_until) == (2000, 2000, 9000)
    done = store.finish(KEY, first, now=5100, output=1, usage={})
    assert (done.status, done.begun_at, done.finished_at) == ("completed", 2000, 5100)
    _, other = store.begin(replace(KEY, step="other"), now=5000, began=5001, **given)
    assert other.begun_at == 5000, "clocks differ, and nothing begins in the future"


def test_what_a_stop_interrupted_is_nobodys(store):
    """The history tells of such a step, which a state of the machine's own began: it is running, and no function has it."""
    interrupted = StepRecord(KEY.step, KEY.iteration, "running", "workflow", run=1, attempts=1, total_attempts=1, started_at=5, native=True)
    if isinstance(store, MemorySteps):
        store.records[KEY] = interrupted
    else:
        row = item_of(KEY.tenant, KEY.execution, "w", interrupted, now=10)
        clients.client("dynamodb", "us-east-1").put_item(TableName="records", Item=row)
    assert not begin(store, 20, run=0)[0]
    mine, record = begin(store, 30, run=3)
    assert mine and (record.run, record.native, record.lease_until, record.started_at) == (3, False, 130, 5)


@pytest.mark.parametrize("output", [None, False, 0, "", [], {}, 1.5, 2**53, "\U0001f642"])
def test_outputs_come_back_as_they_were(store, output):
    _, began = begin(store, 1)
    store.finish(KEY, began, now=2, output=output, usage={})
    mine, record = begin(store, 1000, owner="b")
    assert not mine and record.output == output and type(record.output) is type(output)


def test_a_failure_keeps_what_it_was(store):
    _, began = begin(store, 1)
    store.fail(KEY, began, now=2, failure=Failure("ServerError", "down", "pay", (2, 0)), usage={"billed_ms": 2.5})
    mine, record = begin(store, 3, run=0)
    assert not mine and record.error == Failure("ServerError", "down", "pay", (2, 0))
    assert (record.status, record.lease_until, record.usage) == ("failed", None, {"billed_ms": 2.5})


def test_records_of_others_are_others(store):
    for key in (KEY, replace(KEY, tenant="acm"), replace(KEY, execution="e"), replace(KEY, step="pay#00000002.00000000"),
                replace(KEY, iteration=(2,)), replace(KEY, iteration=()), replace(KEY, tenant="acme#execution")):
        assert begin(store, 1, key=key)[0]


def test_a_settled_failure_stays(dynamo):
    _, began = begin(dynamo, 1)
    dynamo.fail(KEY, began, now=2, failure=Failure("X", "m"), usage={})
    row = item()
    clients.client("dynamodb", "us-east-1").put_item(TableName="records", Item={**row, "settled": {"BOOL": True}})
    mine, record = begin(dynamo, 9999, run=5)
    assert not mine and record.settled and record.error is not None and record.error.error == "X"
    late = dynamo.finish(KEY, began, now=10_000, output=1, usage={})
    assert late.settled and late.status == "failed"


def test_a_record_that_was_set_aside_is_not_finished(dynamo):
    _, began = begin(dynamo, 1)
    row = item()
    clients.client("dynamodb", "us-east-1").delete_item(TableName="records", Key={"pk": row["pk"], "sk": row["sk"]})
    with pytest.raises(ConflictError):
        dynamo.finish(KEY, began, now=2, output=1, usage={})
    assert item() == {}
    dynamo.fail(KEY, began, now=2, failure=Failure("X"), usage={})
    assert item() == {}
    begin(dynamo, 5, owner="new")
    with pytest.raises(ConflictError):
        dynamo.finish(KEY, began, now=6, output=1, usage={})


@pytest.mark.parametrize(("extra", "inside"), [(0, True), (1, False)])
def test_large_outputs_are_in_the_bucket(dynamo, extra, inside):
    text = "é" + "x" * (INLINE - len('"é"'.encode()) + extra)
    assert len(json.dumps(text, ensure_ascii=False).encode()) == INLINE + extra
    _, began = begin(dynamo, 1)
    done = dynamo.finish(KEY, began, now=2, output=text, usage={})
    assert ("output" in item()) is inside and bool(done.output_ref) is not inside and len(done.output_sha256) == 64
    assert begin(dynamo, 1000, owner="b")[1].output == text
    if not inside:
        record = record_of(item())
        with pytest.raises(NotFoundError):
            read_output(record, dynamo.artifacts, "other")
        clients.client("s3", "us-east-1").put_object(Bucket="large", Key=record.output_ref, Body=b"1")
        with pytest.raises(ConflictError, match="pay"):
            begin(dynamo, 1000, owner="b")
        clients.client("s3", "us-east-1").delete_object(Bucket="large", Key=record.output_ref)
        with pytest.raises(NotFoundError):
            begin(dynamo, 1000, owner="b")


def test_artifacts_belong_to_their_tenant(dynamo):
    artifacts = dynamo.artifacts
    mine = artifacts.put("a/b", "e", "x", b"1")
    other = artifacts.put("a", "b/e", "x", b"2")
    assert mine != other and artifacts.get("a/b", mine) == b"1"
    for tenant, key in (("a", mine), ("a/b", other), ("", mine)):
        with pytest.raises(NotFoundError):
            artifacts.get(tenant, key)


def test_an_item_and_its_record_say_the_same():
    record = StepRecord("s", (1,), "completed", type="wait", run=2, attempts=1, total_attempts=3, started_at=5, begun_at=6,
        finished_at=7, output={"a": 1}, native=True, usage={"n": 1.5})
    row = item_of("t", "e", "w", record, now=7_000_000)
    back = record_of(row)
    assert replace(back, output_sha256="") == record and len(back.output_sha256) == 64
    assert row["ttl"] == {"N": str(7 + 90 * 86400)} and row["workflow"] == {"S": "w"}
    failed = StepRecord("s", (), "failed", error=Failure("X", "m", "s", ()), settled=True)
    assert record_of(item_of("t", "e", "w", failed, now=1)) == failed


def test_each_call_is_one_request(dynamo):
    client = clients.client("dynamodb", "us-east-1")
    asked: list[str] = []
    client.meta.events.register("before-call.dynamodb", lambda model, **_: asked.append(model.name))
    _, began = begin(dynamo, 1)
    dynamo.finish(KEY, began, now=2, output={"a": 1}, usage={})
    assert asked == ["UpdateItem", "UpdateItem"]
    begin(dynamo, 1000, owner="b")
    assert asked == ["UpdateItem"] * 3
