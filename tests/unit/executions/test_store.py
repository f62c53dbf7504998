"""What every executions store does: the one in memory that other tests use, and the one on DynamoDB."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from dataclasses import replace

import pytest

from aslant.errors import ConflictError, NotFoundError
from aslant.executions.records import Checkpoint, Child, Execution, Failure, Parent, Run, StepRecord
from aslant.ports import StepKey
from tests.unit.executions.conftest import TABLE
from tests.unit.executions.memory import T0, MemoryExecutions

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:flow"
RUN = Run(1, f"{MACHINE}:x", MACHINE, "1.0.0", "start", "ann", T0)


@pytest.fixture
def small_transactions(monkeypatch):
    """So that a few records need several; moto copies its tables for each."""
    from aslant.adapters import dynamo_executions

    monkeypatch.setattr(dynamo_executions, "MAX_ACTIONS", 10)


def execution(id: str = "x", tenant: str = "acme", **more: object) -> Execution:
    base = Execution(tenant, id, "flow", "1.0.0", "running", 0, 1, MACHINE, f"{MACHINE}:{id}", "ann", T0, T0)
    return replace(base, **more)  # type: ignore[arg-type]


def put_step(store, key: StepKey, *, run: int = 1, now: int = T0 * 1000, output: object = None, fail: str = "") -> StepRecord:
    """A step record, made as the steps' functions make them."""
    if isinstance(store, MemoryExecutions):
        record = StepRecord(
            key.step, key.iteration, "failed" if fail else "completed", "skill", run, 1, 1, now, now, now + 5,
            output=output, output_sha256="" if fail else hashlib.sha256(json.dumps(output).encode()).hexdigest(),
            error=Failure(fail, "", key.step, key.iteration) if fail else None,
        )
        store.put_step(key.tenant, key.execution, record)
        return record
    from aslant.adapters.dynamo_steps import DynamoSteps

    steps = DynamoSteps("us-east-1", TABLE, store.artifacts)
    mine, began = steps.begin(key, type="skill", run=run, owner="me", now=now, lease_until=now + 1)
    assert mine
    if fail:
        steps.fail(key, began, now=now + 5, failure=Failure(fail), usage={})
        return began
    return steps.finish(key, began, now=now + 5, output=output, usage={})


def test_what_is_stored_is_read_again(store):
    full = execution(
        reason="why", error=Failure("E", "message", "a", (1, 2)), parent=Parent("p#%", "s", (0,), 2), trigger={"kind": "manual"},
        labels={"k": "v"}, undone=("a[0]",), not_undone=("b",), usage={"calls": 1.5}, sla_due=T0 + 5, input_hash="h",
    )
    created, stored = store.create(full, {"input": {"n": 2**53, "t": "ä\u2028"}, "context": {"user": "ann"}}, RUN)
    assert created
    assert stored == replace(full, revision=1)
    assert store.read("acme", "x") == stored
    assert store.input("acme", "x") == {"input": {"n": 2**53, "t": "ä\u2028"}, "context": {"user": "ann"}}
    assert store.output("acme", "x") is None
    assert store.runs("acme", "x") == (RUN,)
    assert [(one.before, one.after, one.by) for one in store.transitions("acme", "x")] == [("", "running", "ann")]


def test_the_same_id_is_stored_once(store):
    store.create(execution(), {"input": 1}, RUN)
    created, found = store.create(execution(user="bob"), {"input": 2}, RUN)
    assert (created, found.user) == (False, "ann")
    assert store.input("acme", "x") == {"input": 1}


def test_nothing_is_there_before(store):
    assert store.read("acme", "x") is None
    assert store.transitions("acme", "x") == store.runs("acme", "x") == store.steps("acme", "x") == ()
    assert store.last_checkpoint("acme", "x") is None
    with pytest.raises(NotFoundError):
        store.input("acme", "x")


def test_a_transition_counts_the_revision_and_notes_itself(store):
    _, before = store.create(execution(), {"input": 1}, RUN)
    run = replace(RUN, number=2, entered={"x/w[0]": 5}, why="resume")
    paused = store.transition(before, replace(before, status="paused", changed_at=T0 + 1), by="bob", reason="lunch")
    after = store.transition(paused, replace(paused, status="running", run=2), by="bob", run=run)
    assert (after.status, after.revision) == ("running", 3)
    assert store.read("acme", "x") == after
    assert store.runs("acme", "x") == (RUN, run)
    assert [(one.revision, one.before, one.after, one.by, one.reason) for one in store.transitions("acme", "x")] == [
        (1, "", "running", "ann", ""), (2, "running", "paused", "bob", "lunch"), (3, "paused", "running", "bob", ""),
    ]


def test_a_transition_of_what_has_changed_is_refused_and_writes_nothing(store):
    _, before = store.create(execution(), {"input": 1}, RUN)
    store.transition(before, replace(before, status="paused"), by="bob")
    with pytest.raises(ConflictError):
        store.transition(before, replace(before, status="cancelled"), by="eve", run=replace(RUN, number=2), output=1)
    assert store.read("acme", "x").status == "paused"
    assert len(store.transitions("acme", "x")) == 2
    assert store.runs("acme", "x") == (RUN,)
    assert store.output("acme", "x") is None


def test_one_of_many_transitions_at_once_wins(store):
    _, before = store.create(execution(), {"input": 1}, RUN)
    won, barrier = [], threading.Barrier(4)

    def change(name: str) -> None:
        barrier.wait()
        with contextlib.suppress(ConflictError):
            won.append(store.transition(before, replace(before, status="paused", reason=name), by=name).reason)

    if isinstance(store, MemoryExecutions):
        threads = [threading.Thread(target=change, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    else:  # moto checks a condition and writes in two steps; threads would test moto
        barrier = threading.Barrier(1)
        for name in "abcd":
            change(name)
    assert len(won) == 1
    assert store.read("acme", "x").reason == won[0]


def test_amending_keeps_what_others_wrote(store):
    _, before = store.create(execution(), {"input": 1}, RUN)
    store.amend(before, replace(before, usage={"calls": 2}))
    store.amend(before, replace(before, sla_breached=True))
    now = store.read("acme", "x")
    assert (now.usage, now.sla_breached, now.revision) == ({"calls": 2}, True, 1)
    with pytest.raises(ConflictError):
        store.amend(before, replace(before, sla_breached=True, usage={"calls": 3}))
    assert len(store.transitions("acme", "x")) == 1


def test_a_claim_keeps_transitions_away(store):
    _, before = store.create(execution(status="paused"), {"input": 1}, RUN)
    claimed = store.amend(before, replace(before, preparing={"run": 2, "why": "restore"}))
    with pytest.raises(ConflictError):
        store.transition(before, replace(before, status="running"), by="bob")
    with pytest.raises(ConflictError):
        store.amend(before, replace(before, preparing={"run": 2, "why": "rerun"}))
    assert store.transition(claimed, replace(claimed, status="running", preparing={}), by="bob").preparing == {}


def test_output_and_time_to_live(store):
    _, before = store.create(execution(), {"input": 1}, RUN)
    done = store.transition(
        before, replace(before, status="completed", finished_at=T0 + 9, ttl=T0 // 1000 + 60), by="engine", output={"o": [1]}
    )
    assert store.output("acme", "x") == {"o": [1]}
    assert store.read("acme", "x").ttl == T0 // 1000 + 60
    again = store.transition(done, replace(done, status="running", ttl=None, finished_at=None), by="bob")
    assert store.read("acme", "x") == again
    store.transition(again, replace(again, status="completed"), by="engine", output=None)
    assert store.output("acme", "x") is None


@pytest.mark.parametrize("length", [10, 40_000, 250_000])
def test_large_inputs_and_outputs(store, length):
    _, before = store.create(execution(), {"input": "i" * length}, RUN)
    store.transition(before, replace(before, status="completed"), by="engine", output="ö" * length)
    assert store.input("acme", "x") == {"input": "i" * length}
    assert store.output("acme", "x") == "ö" * length


def test_the_first_end_of_a_run_stays(store):
    store.create(execution(), {"input": 1}, RUN)
    store.end_run("acme", "x", 1, status="ABORTED", ended_at=T0 + 5, transitions=7)
    store.end_run("acme", "x", 1, status="FAILED", ended_at=T0 + 9)
    store.end_run("acme", "x", 2, status="FAILED", ended_at=T0 + 9)
    assert store.runs("acme", "x") == (replace(RUN, status="ABORTED", ended_at=T0 + 5, transitions=7),)


def test_step_records_with_and_without_outputs(store):
    store.create(execution(), {"input": 1}, RUN)
    put_step(store, StepKey("acme", "x", "a"), output={"big": "b" * 50_000})
    put_step(store, StepKey("acme", "x", "a#1", (3, 0)), output=None)
    put_step(store, StepKey("acme", "x", "z", (1,)), fail="Broken")
    plain = store.steps("acme", "x")
    assert [(one.label, one.status, one.output) for one in plain] == [
        ("a", "completed", None), ("a#1[3][0]", "completed", None), ("z[1]", "failed", None),
    ]
    assert plain[0].output_sha256 == hashlib.sha256(b'{"big":"' + b"b" * 50_000 + b'"}').hexdigest() or isinstance(
        store, MemoryExecutions
    )
    assert plain[2].error is not None and plain[2].error.error == "Broken"
    assert store.steps("acme", "x", outputs=True)[0].output == {"big": "b" * 50_000}


def test_setting_aside_moves_chosen_records_of_earlier_runs(store, small_transactions):
    store.create(execution(), {"input": 1}, RUN)
    for number in range(12):
        put_step(store, StepKey("acme", "x", "loop", (number,)), output=number)
    put_step(store, StepKey("acme", "x", "kept"), output=1)
    put_step(store, StepKey("acme", "x", "loop", (500,)), run=2, output="of the new run")
    assert store.set_aside("acme", "x", run=2, chosen=lambda step: step.step == "loop") == 12
    assert [one.label for one in store.steps("acme", "x")] == ["kept", "loop[500]"]
    assert store.set_aside("acme", "x", run=2, chosen=lambda step: step.step == "loop") == 0
    assert store.set_aside("acme", "x", run=3, chosen=lambda step: step.label == "loop[0]") == 0
    # The step runs anew, and may be set aside again for another run.
    put_step(store, StepKey("acme", "x", "loop", (0,)), run=2, output="again")
    assert store.set_aside("acme", "x", run=3, chosen=lambda step: step.label == "loop[0]") == 1
    earlier = [(one.label, one.run, one.output) for one in store.earlier_steps("acme", "x")]
    assert sorted(earlier) == sorted([*((f"loop[{number}]", 1, None) for number in range(12)), ("loop[0]", 2, None)])
    assert store.earlier_steps("acme", "y") == store.earlier_steps("other", "x") == ()


def test_settling_marks_what_is_still_as_it_was_read(store):
    store.create(execution(), {"input": 1}, RUN)
    put_step(store, StepKey("acme", "x", "a"), fail="Broken")
    put_step(store, StepKey("acme", "x", "b"), fail="Broken")
    read = store.steps("acme", "x")
    put_step(store, StepKey("acme", "x", "b"), run=2, now=T0 * 1000 + 77, fail="Broken")
    store.settle("acme", "x", read)
    assert [(one.step, one.settled) for one in store.steps("acme", "x")] == [("a", True), ("b", False)]


def test_an_attempt_that_never_said_so_has_failed_but_keeps_its_lease(aws):
    from aslant.adapters.dynamo_steps import DynamoSteps
    from tests.unit.executions.conftest import fresh_table

    store = fresh_table()
    store.create(execution(), {"input": 1}, RUN)
    steps, key, now = DynamoSteps("us-east-1", TABLE, store.artifacts), StepKey("acme", "x", "a"), T0 * 1000
    _, began = steps.begin(key, type="skill", run=1, owner="killed", now=now, lease_until=now + 1000)
    lost = replace(began, status="failed", finished_at=now + 10, error=Failure("Gone", "without a word", "a", ()))
    store.fail_lost("acme", "x", [replace(lost, total_attempts=7), lost])
    (found,) = store.steps("acme", "x")
    assert (found.status, found.error, found.lease_until) == ("failed", lost.error, now + 1000)
    assert steps.begin(key, type="skill", run=1, owner="early", now=now + 500, lease_until=now + 999)[0] is False
    assert steps.begin(key, type="skill", run=2, owner="next", now=now + 1001, lease_until=now + 2000)[0] is True
    store.fail_lost("acme", "x", [lost])  # too late: somebody else has it
    assert store.steps("acme", "x")[0].status == "running"
    # Whoever finishes after all has finished.
    assert steps.finish(key, began, now=now + 1500, output=1, usage={}).status == "completed"


def test_native_records_never_replace_those_of_functions(store, small_transactions):
    _, made = store.create(execution(), {"input": 1}, RUN)
    put_step(store, StepKey("acme", "x", "a"), output="mine")
    native = [
        StepRecord("a", (), "completed", "transform", output="not mine", native=True),
        *(StepRecord("n", (number,), "completed", "transform", output=number, native=True) for number in range(11)),
    ]
    store.record_native(made, native, now=T0 * 1000)
    store.record_native(made, [replace(native[1], output="later")], now=T0 * 1000)
    steps = {one.label: one for one in store.steps("acme", "x", outputs=True)}
    assert (steps["a"].output, steps["a"].native) == ("mine", False)
    assert (steps["n[0]"].output, steps["n[10]"].output, steps["n[10]"].native) == ("later", 10, True)
    assert len(steps) == 12


def test_children(store):
    store.add_child("acme", "x", Child("c2", "s", (1,), 0))
    store.add_child("acme", "x", Child("c1", "s", (0,), 2))
    store.add_child("acme", "x", Child("c1", "s", (0,), 2))
    assert store.children("acme", "x") == (Child("c1", "s", (0,), 2), Child("c2", "s", (1,), 0))
    assert store.children("other", "x") == ()


def test_numbers_of_checkpoints_are_used_once(store):
    points = [Checkpoint(n, T0 + n, "manual", "ann", 1, ("a", "b[0]") * n, f"sha{n}", "label") for n in (1, 2, 3)]
    assert [store.put_checkpoint("acme", "x", one) for one in points] == [True, True, True]
    assert store.put_checkpoint("acme", "x", replace(points[0], by="eve")) is False
    assert store.checkpoints("acme", "x") == tuple(points)
    assert [store.delete_checkpoint("acme", "x", number) for number in (3, 3, 4)] == [True, False, False]
    assert store.checkpoints("acme", "x") == tuple(points[:2])
    assert store.last_checkpoint("acme", "x").number == 3
    assert store.put_checkpoint("acme", "x", points[2]) is False


def test_a_checkpoint_of_many_steps(store):
    point = Checkpoint(1, T0, "manual", "ann", 1, tuple(f"a step with a long name[{n}]" for n in range(20_000)), "sha")
    assert store.put_checkpoint("acme", "x", point)
    assert store.checkpoints("acme", "x") == (point,)
    assert store.last_checkpoint("acme", "x") == point
