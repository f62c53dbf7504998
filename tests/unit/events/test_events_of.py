"""What the records of a stream tell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aslant import keys
from aslant.adapters.dynamo_steps import left_by
from aslant.adapters.execution_items import columns, key_of
from aslant.events import TYPES, events_of
from aslant.executions.records import Checkpoint, Failure, Parent

STARTED = 1_790_000_000_000
LATER = STARTED + 5_000


@pytest.fixture
def told(stream, problems):
    """The types of the events of a change; each event is right by its schema and small."""

    def events(before, after, *, full=False):
        found = events_of(stream(before, after))
        for event in found:
            assert problems(event.detail) == []
            assert len(json.dumps(event.detail, ensure_ascii=False).encode()) < 4096
        return found if full else [event.type for event in found]

    return events


@pytest.mark.parametrize(("before", "after", "types"), [
    (None, ("running", 1), ["workflow_started"]),
    (None, ("pending", 1), []),
    (("pending", 1), ("running", 1), ["workflow_started"]),
    (("running", 1), ("paused", 1), ["workflow_paused"]),
    (("paused", 1), ("running", 2), ["workflow_resumed"]),
    (("running", 1), ("running", 2), ["workflow_resumed"]),
    (("running", 1), ("running", 1), []),
    (("running", 1), ("completed", 1), ["workflow_completed"]),
    (("running", 1), ("failed", 1), ["workflow_failed"]),
    (("running", 1), ("cancelled", 1), ["workflow_cancelled"]),
    (("running", 1), ("timed_out", 1), ["workflow_timed_out"]),
    (("failed", 1), ("running", 2), ["workflow_started"]),
    (("completed", 1), ("running", 2), ["workflow_started"]),
    (("failed", 1), ("rolling_back", 2), []),
    (("rolling_back", 2), ("rolled_back", 2), ["workflow_rolled_back"]),
    (("rolling_back", 2), ("failed", 2), ["workflow_failed"]),
    (None, ("failed", 1), ["workflow_started", "workflow_failed"]),
])
def test_statuses_of_an_execution(told, execution_item, before, after, types):
    def item(state, revision):
        return None if state is None else execution_item(status=state[0], run=state[1], revision=revision, changed_at=LATER)

    assert told(item(before, 1), item(after, 2)) == types


def test_the_end_of_an_execution_says_how_long_it_took_and_why(told, execution_item):
    ended = execution_item(
        status="failed", revision=2, changed_at=LATER, finished_at=LATER, reason="engine",
        error=Failure("HttpError", "x" * 5000, "pay", (2,)), parent=Parent("e-0", "call", (1,)),
    )
    (event,) = told(execution_item(), ended, full=True)
    assert event.payload == {
        "status": "failed", "previous_status": "running", "version": "1.2.0", "run": 1, "user": "ada", "reason": "engine",
        "parent": {"execution_id": "e-0", "step": "call", "iteration": [1]}, "duration_ms": 5000,
        "error": {"error": "HttpError", "message": "x" * 199 + "…", "step": "pay"},
    }
    assert {key: value for key, value in event.detail.items() if key not in ("event_id", "sequence", "payload")} == {
        "event_type": "workflow_failed", "tenant_id": "acme", "organization_id": "acme", "workflow_id": "orders",
        "execution_id": "e-1", "timestamp": "2026-09-21T14:13:25.000Z",
    }


def test_what_is_promised_is_told_once_when_it_is_broken(told, execution_item):
    broken = execution_item(sla_due=LATER, sla_breached=True)
    assert told(execution_item(sla_due=LATER), broken) == ["sla_breached"]
    assert told(broken, {**broken, "reason": {"S": "other"}}) == []


def _step(step_item, state):
    if state is None:
        return None
    status, run, attempts = state
    error = Failure("NetworkError", "no route") if status == "failed" else None
    output = {"card": "4111"} if status == "completed" else None
    return step_item(status, run=run, attempts=attempts, error=error, output=output, begun_at=STARTED * 1000 + run * 10 + attempts)


@pytest.mark.parametrize(("before", "after", "types"), [
    (None, ("running", 1, 1), ["node_started"]),
    (("running", 1, 1), ("completed", 1, 1), ["node_completed"]),
    (("running", 1, 1), ("failed", 1, 1), ["node_failed"]),
    (("failed", 1, 1), ("running", 1, 2), ["node_retrying"]),
    (("running", 1, 1), ("running", 1, 2), ["node_retrying"]),  # its lease was over
    (("failed", 1, 2), ("running", 2, 1), ["node_retrying"]),   # in a new run
    (("running", 1, 1), ("running", 2, 1), ["node_started"]),   # it was stopped by a pause
    (("skipped", 1, 0), ("running", 2, 1), ["node_started"]),
    (("completed", 1, 1), ("completed", 1, 1), []),
    (("completed", 1, 1), None, []),                            # set aside, or too old
    (("failed", 1, 1), ("failed", 1, 1), []),
])
def test_begins_and_ends_of_a_step(told, step_item, before, after, types):
    assert told(_step(step_item, before), _step(step_item, after)) == types


def test_what_is_left_of_a_record_that_was_set_aside_tells_nothing(told, step_item):
    done = _step(step_item, ("completed", 1, 1))
    left = left_by(done, 2)
    assert told(done, left) == []
    assert told(left, _step(step_item, ("running", 2, 1))) == ["node_started"]
    assert told(left, step_item("completed", native=True, attempts=0, run=2, type="choice")) == ["node_started", "node_completed"]


def test_a_failure_that_is_settled_tells_nothing_new(told, step_item):
    failed = _step(step_item, ("failed", 1, 1))
    assert told(failed, {**failed, "settled": {"BOOL": True}}) == []


def test_native_states_tell_once_and_skipped_ones_as_skipped(told, step_item):
    def native(status, run=1):
        return step_item(status, native=True, attempts=0, total_attempts=0, run=run, type="choice")

    assert told(None, native("skipped")) == ["node_skipped"]
    assert told(None, native("completed")) == ["node_started", "node_completed"]
    assert told(None, native("failed")) == ["node_started", "node_failed"]
    assert told(None, native("running")) == ["node_started"]  # a pause or a cancel came in between
    assert told(native("running"), native("completed", 2)) == ["node_started", "node_completed"]
    started, completed = told(None, native("completed"), full=True)
    assert started.at == STARTED and completed.at > STARTED and started.id != completed.id
    came = {**native("completed", 2), "first_at": {"N": str(STARTED * 1000 + 500_000)}}  # a wait of run 1 that goes on
    assert [event.at for event in told(native("running"), came, full=True)] == [STARTED + 500, completed.at]
    assert told(native("completed"), native("completed")) == []
    assert told(native("skipped"), native("completed", 2)) == ["node_started", "node_completed"]


def test_what_is_cut_short_is_told_once_and_what_ends_all_the_same_after_that(told, step_item):
    running = step_item("running")
    cut = step_item("running", stopped_at=STARTED * 1000 + 2_500_000)
    (event,) = told(running, cut, full=True)
    assert (event.type, event.at, event.payload["duration_ms"]) == ("node_cancelled", STARTED + 2500, 2500)
    assert told(cut, {**cut, "ttl": {"N": "1"}}) == []
    assert told(cut, step_item("completed", finished_at=STARTED * 1000 + 3_000_000)) == ["node_completed"]
    assert told(cut, step_item("running", run=2)) == ["node_started"]
    assert told(running, left_by(running, 2)) == ["node_cancelled"]  # a restore does it again
    assert told(cut, left_by(cut, 2)) == []
    part = step_item("running", step="items each")
    assert told(part, {**part, "stopped_at": {"N": "1"}}) == told(part, left_by(part, 2)) == []


def test_what_is_recorded_after_the_end_of_its_execution_does_not_begin_any_more(told, step_item):
    def late(status, **more):
        return step_item(status, native=True, attempts=0, type="wait", late=True, **more)

    assert told(None, late("completed", finished_at=STARTED * 1000)) == ["node_completed"]
    assert told(None, late("running")) == []
    assert told(late("running"), late("running", stopped_at=STARTED * 1000)) == ["node_cancelled"]


def test_results_and_details_of_a_step_stay_out_of_its_events(told, step_item):
    (event,) = told(_step(step_item, ("running", 1, 1)), _step(step_item, ("completed", 1, 1)), full=True)
    assert event.payload == {"step": "pay", "iteration": [], "type": "http", "run": 1, "attempt": 1, "duration_ms": 1500}
    (event,) = told(_step(step_item, ("running", 1, 1)), _step(step_item, ("failed", 1, 1)), full=True)
    assert event.payload["error"] == {"error": "NetworkError", "message": "no route"}


def _approval(status, **more):
    ref = keys.ApprovalRef("e-1", "ask", (0,), 0)
    row = {
        "tenant": "acme", "approval_id": keys.approval_id(ref), "execution": "e-1", "step": "ask", "workflow": "orders",
        "status": status, "token": "sealed", "iteration": "[0]", "config": '{"message": "the secret plan"}', **more,
    }
    numbers = {"requested_at": STARTED // 1000, "expires_at": LATER // 1000, "decided_at": LATER // 1000}
    return {name: {"S": value} for name, value in row.items()} | {
        name: {"N": str(value)} for name, value in (numbers | more).items() if isinstance(value, int)
    } | key_of(keys.approval("acme", ref))


@pytest.mark.parametrize(("before", "after", "types"), [
    (None, "pending", ["approval_requested"]), ("pending", "pending", []), ("pending", "approved", ["approval_granted"]),
    ("pending", "rejected", ["approval_rejected"]), ("pending", "expired", ["approval_expired"]),
    ("pending", "cancelled", []), ("cancelled", "pending", ["approval_requested"]), ("approved", "approved", []),
])
def test_approvals(told, before, after, types):
    found = told(_approval(before) if before else None, _approval(after, decided_by="bob"), full=True)
    assert [event.type for event in found] == types
    assert not any(word in json.dumps([event.detail for event in found]) for word in ("sealed", "secret plan"))
    if found and after in ("pending", "approved"):
        moments = {"requested_ms": STARTED + 123, "decided_ms": LATER + 456}
        (exact,) = told(_approval(before) if before else None, _approval(after, decided_by="bob", **moments), full=True)
        assert exact.at == (STARTED + 123 if after == "pending" else LATER + 456)
    if after == "approved" and found:
        assert found[0].payload["by"] == "bob" and found[0].payload["iteration"] == [0]


def test_checkpoints_tell_when_they_are_made_and_not_when_they_are_deleted(told):
    made = columns(Checkpoint(3, LATER * 1000, "every_node", "policy", 1, ("a", "b"), "0" * 64, "nightly"))
    made |= key_of(keys.checkpoint("acme", "e-1", 3))
    (event,) = told(None, made, full=True)
    assert (event.type, event.workflow, event.execution) == ("checkpoint_created", "", "e-1")
    assert event.payload == {"number": 3, "reason": "every_node", "label": "nightly", "by": "policy", "run": 1}
    assert told(made, {**made, "deleted": {"BOOL": True}}) == []


def test_the_catalog(told):
    def item(**texts):
        return {name: {"S": text} for name, text in texts.items()} | key_of(keys.workflow("acme", "orders#1"))

    (created, published) = told(None, item(published="1.0.0"), full=True)
    assert (created.type, published.type, published.payload) == ("workflow_created", "workflow_published", {"version": "1.0.0"})
    assert (created.workflow, created.execution, created.detail["execution_id"]) == ("orders#1", "", None)
    again = told(item(published="2.0.0"), item(published="1.0.0"), full=True)
    assert [event.type for event in again] == ["workflow_published"] and again[0].id != published.id
    assert told(item(published="1.0.0"), item(published="1.0.0")) == []
    assert told(item(status="published"), item(status="archived")) == ["workflow_archived"]
    assert told(item(status="archived"), item(status="archived")) == []
    assert told(None, {**item(version="1.0.0"), **key_of(keys.version("acme", "orders", "1.0.0"))}) == []


@pytest.mark.parametrize("sk", ["input", "output", "run#000001", "transition#000001", "child#x", "aside#000002#pay#"])
def test_other_items_tell_nothing(told, sk):
    item = {"pk": {"S": keys.partition("acme", "e-1")}, "sk": {"S": sk}, "status": {"S": "running"}}
    assert told(None, item) == []
    assert told(None, {**item, "pk": {"S": "not ours"}, "sk": {"S": "x"}}) == []


def test_the_same_record_gives_the_same_events_and_different_ones_different_ids(stream, execution_item, step_item):
    records = [
        stream(None, execution_item()), stream(None, step_item("running")), stream(step_item("running"), step_item("completed")),
        stream(step_item("completed"), step_item("running", run=2)), stream(None, step_item("running", tenant="other")),
        stream(None, step_item("running", execution="e-2")), stream(None, step_item("running", iteration=(0,))),
        stream(None, step_item("running", step="pay2")),
        stream(execution_item(), execution_item(status="paused", revision=2)),
        stream(execution_item(status="paused", revision=2), execution_item(run=2, revision=3)),
    ]
    once = [event for record in records for event in events_of(record)]
    assert once == [event for record in records for event in events_of(json.loads(json.dumps(record)))]
    assert len({event.id for event in once}) == len(once) == len(records)


_TEXT = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tenant=_TEXT, execution=_TEXT, message=st.text(st.characters(blacklist_categories=["Cs"]), max_size=3000))
def test_any_ids_and_messages_come_through_whole_and_small(told, step_item, tenant, execution, message):
    failed = step_item("failed", tenant=tenant, execution=execution, error=Failure("E", message))
    (event,) = told(step_item("running", tenant=tenant, execution=execution), failed, full=True)
    assert (event.tenant, event.execution) == (tenant, execution)


EVENTS = Path(__file__).parents[3] / "events"


def test_every_type_has_a_schema_and_a_sample():
    assert sorted(path.stem for path in (EVENTS / "schemas").glob("*.json")) == sorted(TYPES)
    assert sorted(path.stem for path in (EVENTS / "bus").glob("*.json")) == sorted(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_samples_are_right_by_their_schemas(name, problems):
    sample = json.loads((EVENTS / "bus" / f"{name}.json").read_text())
    assert sample["detail-type"] == sample["detail"]["event_type"] == name and sample["source"] == "aslant"
    assert problems(sample["detail"]) == []
    for field in ("event_id", "timestamp", "payload"):
        assert problems({key: value for key, value in sample["detail"].items() if key != field}) != []
    assert problems(sample["detail"] | {"output": 1}) != []


@pytest.mark.parametrize(("name", "types"), [
    ("executions", [
        "workflow_started", "node_started", "node_failed", "node_retrying", "node_completed", "checkpoint_created",
        "approval_requested", "approval_granted", "workflow_paused", "workflow_resumed", "workflow_completed", "node_skipped",
    ]),
    ("catalog", ["workflow_created", "workflow_published", "workflow_archived"]),
])
def test_samples_of_streams(name, types):
    batch = json.loads((EVENTS / "streams" / f"{name}.json").read_text())
    found = [event for record in batch["Records"] for event in events_of(record)]
    assert [event.type for event in found] == types
    assert {event.tenant for event in found} == {"acme"}


@pytest.mark.parametrize("step", ["evaluate:0a1b2c3d pay", "evaluate:0a1b2c3d undo pay", "items pay"])
def test_what_is_computed_for_a_step_tells_nothing(told, step_item, step):
    before, after = (step_item(status, run=1, attempts=1, begun_at=STARTED * 1000) for status in ("running", "completed"))
    assert told(before, after) == ["node_completed"]
    assert told({**before, "step": {"S": step}}, {**after, "step": {"S": step}}) == []
