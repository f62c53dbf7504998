"""The bus fails, the publisher is killed, batches come again: nothing is lost, overtaken or counted twice."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from aslant import keys
from aslant.adapters.dynamo_steps import item_of
from aslant.errors import NotFoundError
from aslant.executions.checkpoints import completed_by, digest
from aslant.executions.records import Execution, StepRecord
from functions.publish_events.logic import Publisher
from tests.examples import few

EVERY = {"policy": "every_node"}


def ids(events):
    return [event.id for event in events]


def first_seen(events):
    return list({event.id: event for event in events}.values())


def expected(kit, make, policy=None):
    """What happens without any fault: ids of events, and checkpoints."""
    store, bus = kit.Store(policy), kit.Bus()
    kit.deliver(make(kit.Life(store)), bus, store)
    assert len(set(ids(bus.taken))) == len(bus.taken)
    return ids(bus.taken), store.made


def in_order(events):
    """Whether the events of each execution were first seen in the order of the stream."""
    seen = {}
    for event in first_seen(events):
        if event.sequence < seen.get(event.execution, ""):
            return False
        seen[event.execution] = event.sequence
    return True


def two(life):
    records = life.whole("e-1") + life.whole("e-2")
    return [record for pair in zip(records[: len(records) // 2], records[len(records) // 2 :], strict=True) for record in pair]


@pytest.mark.parametrize("faults", [
    [(0,)], [(1,), (1,)], [(0, 1)] * 3, ["all"], ["all"] * 20, ["before"], ["after"], [None, "after", None, "before"],
    [(0,)] * 30, ["all", (1,), "after", (0,), None, "before"] * 3,
])
def test_a_bus_that_fails_gets_everything_in_order(kit, faults):
    wanted, _ = expected(kit, two)
    store, bus = kit.Store(), kit.Bus(faults)
    kit.deliver(two(kit.Life(store)), bus, store)
    assert sorted(set(ids(bus.taken))) == sorted(wanted) and in_order(bus.taken)


def test_a_request_has_one_event_of_an_execution_and_ten_at_most(kit):
    store, bus = kit.Store(), kit.Bus()
    life = kit.Life(store)
    records = [life.started(f"e-{index}") for index in range(25)] + life.whole("e-99")
    kit.deliver(records, bus, store)
    assert all(len({event.execution for event in request}) == len(request) for request in bus.requests)
    assert max(len(request) for request in bus.requests) == 10


def test_what_one_execution_cannot_publish_does_not_hold_up_the_others_in_the_batch(kit):
    store, bus = kit.Store(), kit.Bus()

    def refuse(events):
        bus.requests.append(list(events))
        answers = ["InternalFailure: no" if event.execution == "e-1" else "" for event in events]
        bus.taken += [event for event, answer in zip(events, answers, strict=True) if not answer]
        return answers

    bus.publish = refuse
    records = two(kit.Life(store))
    pauses = []
    publisher = Publisher(bus, store, store, lambda: 60.0, pauses.append)
    assert publisher.work(records) == records[0]["dynamodb"]["SequenceNumber"]
    assert {event.execution for event in bus.taken} == {"e-2"} and in_order(bus.taken)
    assert pauses == sorted(pauses) and len(pauses) == 5


def test_it_gives_up_when_the_time_of_the_invocation_is_nearly_over(kit):
    store, bus = kit.Store(), kit.Bus(["all"] * 100)
    records = kit.Life(store).whole("e-1")
    left = iter([10.0, 3.05, 0.0])
    publisher = Publisher(bus, store, store, lambda: next(left), lambda seconds: None)
    assert publisher.work(records) == records[0]["dynamodb"]["SequenceNumber"]
    assert len(bus.requests) == 2


@pytest.mark.parametrize(("status", "arn", "run", "told"), [
    ("cancelled", "e-1", 1, False), ("cancelled", "e-1", 2, True), ("rolling_back", "e-1-r2", 1, False), ("paused", "e-1", 1, True),
    ("cancelled", "ending:e-1-r2", 2, True),  # `finally`
])
def test_nothing_begins_after_the_end_was_told(kit, status, arn, run, told):
    store, bus = kit.Store(), kit.Bus()
    kit.deliver([kit.Life(store).started("e-1")], bus, store)
    machine = "arn:aws:states:us-east-1:123456789012:stateMachine:orders"
    at = 1_790_000_000_000
    store.read = lambda tenant, id: Execution(
        tenant, id, "orders", "1.0.0", status, 2, 2 if "r2" in arn else 1, machine,
        f"{machine.replace('stateMachine', 'execution')}:{arn}", "ada", at - 9, at - 5, finished_at=at - 5,
    )
    record = StepRecord("late", (), "running", "http", run, 1, 1, at * 1000, at * 1000)
    change = {"dynamodb": {
        "Keys": dict(zip(("pk", "sk"), ({"S": part} for part in keys.step("acme", "e-1", "late", ())), strict=True)),
        "SequenceNumber": "9", "NewImage": item_of("acme", "e-1", "orders", record, now=at * 1000),
    }}
    kit.deliver([change], bus, store)
    assert [event.type for event in bus.taken][1:] == (["node_started"] if told else [])


@pytest.mark.parametrize(("policy", "count", "reasons"), [
    (EVERY, 3, {"every_node"}), ({"policy": "every_n", "every": 2}, 1, {"every_n"}), ({"policy": "on_failure"}, 1, {"on_failure"}),
    ({"policy": "none"}, 0, set()), (None, 0, set()), ({"policy": "manual"}, 0, set()),
    ({"policy": "interval", "seconds": 0}, 3, {"interval"}), ({"policy": "interval", "seconds": 3600}, 1, {"interval"}),
])
def test_checkpoints_of_each_policy(kit, policy, count, reasons):
    store, bus = kit.Store(policy), kit.Bus()
    kit.deliver(kit.Life(store).whole("e-1"), bus, store)
    made = store.made.get(("acme", "e-1"), {})
    assert list(made) == list(range(1, count + 1)) and {each.reason for each in made.values()} == reasons
    for checkpoint in made.values():
        done = completed_by(store.steps("acme", "e-1"), checkpoint.at)
        assert checkpoint.steps == tuple(record.label for record in done) and checkpoint.sha256 == digest(done)
        assert checkpoint.by == "policy"


def test_checkpoints_after_what_the_machine_itself_did_are_made_when_its_run_has_ended(kit):
    store, bus = kit.Store({"policy": "every_node"}), kit.Bus()
    life = kit.Life(store)
    records = life.whole("e-1", 1)
    (done,) = store.steps("acme", "e-1")
    for name, kind, native, at in (
        ("last", "http", False, 9000), ("ask", "approval", True, 5000), ("pick", "choice", True, 6000), ("no", "wait", True, 7000),
    ):
        moment = done.finished_at + at
        record = StepRecord(
            name, (1,), "failed" if name == "no" else "completed", kind, 1, 1, 1, moment, moment, moment, native=native
        )
        store.records["acme", "e-1"][name] = record
        records.append(life._record(item_of("acme", "e-1", "orders", record, now=moment)))
    for _ in range(2):
        kit.deliver(records, bus, store)
    made = [each for _, each in sorted(store.made["acme", "e-1"].items())]
    assert [(each.label, each.at - done.finished_at, len(each.steps)) for each in made] == [
        ("after s0", 0, 1), ("after ask[1]", 5000, 1), ("after last[1]", 9000, 2),
    ]  # fmt: skip


def test_there_is_a_checkpoint_before_what_is_hard_to_undo_and_one_only(kit):
    store, bus = kit.Store(), kit.Bus()
    life = kit.Life(store)
    records = life.whole("e-1", 1) + [
        life.step("e-1", "roll out", "running", "deploy"), life.step("e-1", "roll out", "failed"),
        life.step("e-1", "roll out", "running", "deploy"), life.step("e-1", "roll out", "completed"),
    ]
    kit.deliver(records, bus, store)
    kit.deliver(records, bus, store)
    (checkpoint,) = store.made["acme", "e-1"].values()
    assert (checkpoint.reason, checkpoint.steps) == ("before_deploy", ("s0",))


def test_a_child_that_is_faster_than_its_notice_has_its_checkpoints(kit):
    store, bus = kit.Store(EVERY), kit.Bus()
    store.known = False
    kit.deliver(kit.Life(store).whole("e-1"), bus, store)
    assert list(store.made["acme", "e-1"]) == [1, 2, 3]


@pytest.mark.parametrize("faults", [["before"], ["after"], ["all"], [None, "after", "before", "all", None, "after"]])
def test_checkpoints_have_no_gap_after_a_kill_at_any_point(kit, faults):
    _, wanted = expected(kit, two, EVERY)
    store, bus = kit.Store(EVERY, faults), kit.Bus()
    kit.deliver(two(kit.Life(store)), bus, store)
    assert store.made == wanted


def test_a_manual_checkpoint_in_between_neither_hides_nor_doubles_one(kit):
    store, bus = kit.Store(EVERY), kit.Bus()
    records = kit.Life(store).whole("e-1")
    kit.deliver(records[:5], bus, store)
    manual = replace(store.made["acme", "e-1"][1], number=2, at=10**17, reason="manual", by="ada")
    store.put_checkpoint("acme", "e-1", manual)
    kit.deliver(records[:7], bus, store)
    kit.deliver(records, bus, store)
    kit.deliver(records, bus, store)
    assert [(number, each.reason, len(each.steps)) for number, each in store.made["acme", "e-1"].items()] == [
        (1, "every_node", 1), (2, "manual", 1), (3, "every_node", 2), (4, "every_node", 3),
    ]


def test_a_record_that_says_nothing_does_not_stop_the_shard(kit):
    store, bus = kit.Store(), kit.Bus()
    records = kit.Life(store).whole("e-1")
    wrong = {"dynamodb": {**records[1]["dynamodb"], "NewImage": {"status": {"S": "running"}}, "SequenceNumber": "1" * 21}}
    alien = {"dynamodb": {"Keys": {"pk": {"S": "a"}, "sk": {"S": "b"}}, "NewImage": {}, "SequenceNumber": "2" * 21}}
    wanted, _ = expected(kit, lambda life: life.whole("e-1"))
    kit.deliver([wrong, *records, alien], bus, store)
    assert sorted(ids(bus.taken)) == sorted(wanted)


def test_shards_at_once_do_not_disturb_each_other(kit):
    store, bus, lock = kit.Store(EVERY, ["after", None, "before"] * 4), kit.Bus([(0,), "after", None, "before"] * 5), threading.Lock()
    send, put = bus.publish, store.put_checkpoint

    def publish(events):
        with lock:
            return send(events)

    def put_checkpoint(*arguments):
        with lock:
            return put(*arguments)

    bus.publish, store.put_checkpoint = publish, put_checkpoint
    life = kit.Life(store)
    shards = [life.whole(f"e-{index}", 5) for index in range(4)]
    errors = []

    def run(records):
        try:
            kit.deliver(records, bus, store, batch=4)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(records,)) for records in shards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert errors == []
    assert in_order(bus.taken) and len(set(ids(bus.taken))) == 4 * 13
    assert {place: list(made) for place, made in store.made.items()} == {
        ("acme", f"e-{index}"): [1, 2, 3, 4, 5] for index in range(4)
    }


FAULT = st.one_of(st.none(), st.sampled_from(["all", "before", "after"]), st.sets(st.integers(0, 9)).map(tuple))


@few(30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(bus_faults=st.lists(FAULT, max_size=25), store_faults=st.lists(st.sampled_from([None, "all", "before", "after"]), max_size=12),
       batch=st.integers(1, 20))
def test_whatever_fails_whenever(kit, bus_faults, store_faults, batch):
    wanted, checkpoints = expected(kit, two, EVERY)
    store, bus = kit.Store(EVERY, store_faults), kit.Bus(bus_faults)
    kit.deliver(two(kit.Life(store)), bus, store, batch=batch)
    assert sorted(set(ids(bus.taken))) == sorted(wanted)
    assert in_order(bus.taken)
    assert store.made == checkpoints


def test_one_look_at_the_records_does_for_a_batch(kit):
    store, bus = kit.Store({"policy": "every_n", "every": 2}), kit.Bus()
    life = kit.Life(store)
    batch = [record for step in "abcdefgh" for record in (life.step("e-1", step, "running"), life.step("e-1", step, "completed"))]
    looks = []
    steps = store.steps
    store.steps = lambda *place: looks.append(place) or steps(*place)
    kit.deliver(batch, bus, store)
    assert looks == [("acme", "e-1")]
    assert [(n, each.steps) for n, each in store.made["acme", "e-1"].items()] == [
        (1, ("a", "b")), (2, ("a", "b", "c", "d")), (3, ("a", "b", "c", "d", "e", "f")),
        (4, ("a", "b", "c", "d", "e", "f", "g", "h")),
    ]


def test_a_checkpoint_that_can_never_be_made_does_not_stop_the_shard(kit):
    store, bus = kit.Store(EVERY), kit.Bus()
    records = kit.Life(store).whole("e-1")

    def gone(tenant, id):
        raise NotFoundError("the list of its steps is gone from the bucket")

    store.last_checkpoint = gone
    kit.deliver(records, bus, store)
    wanted, _ = expected(kit, lambda life: life.whole("e-1"))
    assert sorted(ids(bus.taken)) == sorted(wanted)
