"""The function `compensate`: what it reads and writes, with the samples of its invocations."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap
from aslant.errors import ConflictError, RollbackIncomplete
from aslant.executions.family import adopted
from aslant.executions.records import Child, Execution, Run, StepRecord
from functions.compensate import logic
from functions.compensate.handler import handler
from tests.unit.executions.memory import MemoryExecutions

SAMPLES = Path(__file__).parents[3] / "events" / "compensate"
KEY = ("acme", "exec-0001")
EXECUTION = Execution(*KEY, "release", "1.2.0", "running", 0, 1, "machine", "arn", "ada", 1, 1)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> MemoryExecutions:
    made = MemoryExecutions()
    made.create(EXECUTION, {"input": {}}, Run(1, "arn", "machine", "1.2.0", "start", "ada", 1))
    records = [
        StepRecord("reserve", (0,), "completed", finished_at=10, output={"seat": 1}),
        StepRecord("reserve", (1,), "completed", finished_at=20, output={"seat": 2}),
        StepRecord("charge", (), "completed", finished_at=30, output=9),
        StepRecord("notify", (), "failed", finished_at=40),
        StepRecord("items each", (), "completed", finished_at=5, output={"e0": ["ann", "bob"]}),
    ]
    monkeypatch.setattr(made, "steps", lambda tenant, id, outputs=False: tuple(records) if (tenant, id) == KEY else ())
    monkeypatch.setattr(bootstrap, "execution_store", lambda settings: made)
    return made


def call(name: str, **config: Any) -> Any:
    event = json.loads((SAMPLES / f"{name}.json").read_text("utf-8"))
    event["config"] |= config
    return handler(event, None)["output"]


def become(store: MemoryExecutions, status: Any) -> None:
    before = store.read(*KEY)
    assert before is not None
    store.transition(before, replace(before, status=status), by="test")


def test_a_plan_says_what_is_undone_and_notes_it_as_not_undone_yet(store: MemoryExecutions) -> None:
    assert call("plan") == {
        "action": "rollback", "steps": ["report"],
        "undo": [{"step": "charge", "iteration": []}, {"step": "reserve", "iteration": [1]}, {"step": "reserve", "iteration": [0]}],
    }
    found = store.read(*KEY)
    assert found is not None
    assert (found.status, found.not_undone) == ("rolling_back", ("charge", "reserve[1]", "reserve[0]", "report"))


def test_planning_twice_changes_the_status_once(store: MemoryExecutions) -> None:
    assert call("plan") == call("plan")
    assert [one.after for one in store.transitions(*KEY)] == ["running", "rolling_back"]


@pytest.mark.parametrize("status", ["paused", "cancelled"])
def test_a_failure_in_the_moment_of_a_pause_undoes_nothing(store: MemoryExecutions, status: str) -> None:
    become(store, status)
    assert call("plan")["undo"] == []
    found = store.read(*KEY)
    assert found is not None and found.status == status


def test_what_somebody_asks_for_may_follow_a_cancellation(store: MemoryExecutions) -> None:
    become(store, "cancelled")
    assert len(call("plan", request={"by": "request"})["undo"]) == 3
    found = store.read(*KEY)
    assert found is not None and found.status == "rolling_back"


def test_a_failure_with_another_policy_leaves_the_execution_alone(store: MemoryExecutions) -> None:
    plan = {"undo": {"charge": {}}, "rules": [{"errors": ["Other"], "action": "rollback"}]}
    assert call("plan", plan=plan) == {"action": "fail", "undo": [], "steps": []}
    found = store.read(*KEY)
    assert found is not None and found.status == "running"


def test_values_are_read_from_the_records(store: MemoryExecutions) -> None:
    assert call("values") == {
        "output": {"reserve": {"seat": 2}}, "status": {"reserve": "completed"}, "error": {"reserve": None},
        "index": {"each": 1}, "item": {"each": "bob"},
    }


def test_the_end_notes_both_lists_and_fails_when_something_is_left(store: MemoryExecutions) -> None:
    call("plan")
    with pytest.raises(RollbackIncomplete, match=r"not undone: reserve\[0\]$"):
        call("finish")
    found = store.read(*KEY)
    assert found is not None
    assert (found.undone, found.not_undone) == (("charge", "reserve[1]"), ("reserve[0]",))


def test_a_later_end_adds_to_what_was_undone(store: MemoryExecutions) -> None:
    call("plan")
    with pytest.raises(RollbackIncomplete):
        call("finish")
    assert call("finish", undo=[{"step": "reserve", "iteration": [0]}], results=[True]) == {
        "undone": ["reserve[0]"], "not_undone": [],
    }
    found = store.read(*KEY)
    assert found is not None and found.undone == ("charge", "reserve[1]", "reserve[0]") and found.not_undone == ()


def test_a_rollback_step_that_failed_is_among_what_is_left(store: MemoryExecutions) -> None:
    with pytest.raises(RollbackIncomplete, match="not undone: report$"):
        call("finish", undo=[], results=[], steps={"report": "failed"})


def test_a_record_that_changes_meanwhile_is_read_again(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = [2]
    plain = store.transition

    def unlucky(before: Execution, after: Execution, **more: Any) -> Execution:
        refused[0] -= 1
        if refused[0] >= 0:
            raise ConflictError("somebody was faster")
        return plain(before, after, **more)

    monkeypatch.setattr(store, "transition", unlucky)
    assert len(call("plan")["undo"]) == 3
    assert [one.after for one in store.transitions(*KEY)] == ["running", "rolling_back"]


def test_an_execution_without_a_record_is_undone_all_the_same(store: MemoryExecutions) -> None:
    store.executions.clear()
    assert len(call("plan")["undo"]) == 3


def child_of(store: MemoryExecutions, id: str, status: Any, *, attempt: int = 0, changed_at: int = 1) -> None:
    info = {"id": id, "tenant": "acme", "workflow": "below", "version": "1.0.0", "run": 1, "user": "ada",
            "parent": {"execution": "exec-0001", "step": "call", "iteration": [1], "attempt": attempt}}  # fmt: skip
    made, given, run = adopted(info, arn=f"arn-{id}", machine="below", started_at=1, given={"input": {"n": 7}})
    store.create(replace(made, status=status, changed_at=changed_at), given, run)
    store.add_child("acme", "exec-0001", Child(id, "call", (1,), attempt))


STOPPED = {"undo": {"charge": {}, "call": {"child": True}}}


def test_a_child_that_was_stopped_with_its_parent_is_undone_first(store: MemoryExecutions) -> None:
    child_of(store, "k0", "failed")
    child_of(store, "k1", "cancelled", attempt=1, changed_at=2)
    become(store, "rolling_back")
    plan = call("plan", plan=STOPPED, request={"by": "request"})
    assert plan["undo"] == [{"step": "call", "iteration": [1]}, {"step": "charge", "iteration": []}]
    about = call("values", step="call", iteration=[1], reads={"call": {"child": "call"}})["child"]["call"]
    assert (about["input"], about["execution"]["id"], about["execution"]["run"]) == ({"n": 7}, "k1", 1)
    assert about["execution"]["parent"] == {"execution": "exec-0001", "step": "call", "iteration": [1], "attempt": 1}


def test_a_child_that_failed_has_undone_itself(store: MemoryExecutions) -> None:
    child_of(store, "k", "failed")
    become(store, "rolling_back")
    assert call("plan", plan=STOPPED, request={"by": "request"})["undo"] == [{"step": "charge", "iteration": []}]


@pytest.mark.parametrize("status", ["cancelled", "completed"])
def test_a_failure_undoes_a_child_beside_it_however_it_came_to_rest(store: MemoryExecutions, status: str) -> None:
    child_of(store, "k", status)
    plan = STOPPED | {"rules": [{"errors": ["NetworkError"], "action": "compensate"}]}
    assert call("plan", plan=plan)["undo"] == [{"step": "call", "iteration": [1]}, {"step": "charge", "iteration": []}]


def test_what_a_parent_undoes_keeps_its_status(store: MemoryExecutions) -> None:
    become(store, "cancelled")
    call("plan", request={"by": "parent", "action": "compensate"})
    found = store.read(*KEY)
    assert found is not None and (found.status, found.not_undone) == ("cancelled", ("charge", "reserve[1]", "reserve[0]"))
    undo = [{"step": "charge", "iteration": []}, {"step": "reserve", "iteration": [1]}, {"step": "reserve", "iteration": [0]}]
    call("finish", request={"by": "parent"}, undo=undo, results=[True] * 3, steps={})
    found = store.read(*KEY)
    assert found is not None and (found.status, found.undone, found.not_undone) == (
        "cancelled", ("charge", "reserve[1]", "reserve[0]"), ())


def moving(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch, *looks: list[StepRecord]) -> list[float]:
    """Lets each look at the records see the next state of things; the pauses between them."""
    told, pauses = list(looks), list[float]()
    monkeypatch.setattr(store, "steps", lambda tenant, id, outputs=False: tuple(told[0]))

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(told) > 1:
            del told[0]

    monkeypatch.setattr(logic.compensate, "__defaults__", (sleep,))
    return pauses


def test_what_is_still_done_is_waited_for_and_undone_as_well(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = StepRecord("charge", (), "running", lease_until=10**18)
    other = StepRecord("elsewhere", (), "running", lease_until=10**18)  # has no compensation
    first = StepRecord("reserve", (0,), "completed", finished_at=10)
    ended = replace(begun, status="completed", finished_at=50)
    pauses = moving(store, monkeypatch, [first, begun, other], [first, begun, other], [first, ended, other])
    assert [one["step"] for one in call("plan")["undo"]] == ["charge", "reserve"] and len(pauses) == 2
    found = store.read(*KEY)
    assert found is not None and (found.status, found.not_undone) == ("rolling_back", ("charge", "reserve[0]", "report"))


def test_nobody_waits_for_a_function_that_was_killed(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = moving(store, monkeypatch, [StepRecord("charge", (), "running", lease_until=1)])
    assert call("plan")["undo"] == [] and pauses == []


def test_a_child_that_is_being_stopped_is_waited_for(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch) -> None:
    child_of(store, "k", "running")

    def sleep(seconds: float) -> None:
        found = store.read("acme", "k")
        assert found is not None and found.status == "running", "it came to rest, and is waited for all the same"
        store.transition(found, replace(found, status="cancelled"), by="engine")

    monkeypatch.setattr(logic.compensate, "__defaults__", (sleep,))
    plan = STOPPED | {"rules": [{"errors": ["NetworkError"], "action": "compensate"}]}
    assert [one["step"] for one in call("plan", plan=plan)["undo"]] == ["call", "charge"]


def test_what_ends_after_the_plan_is_noted_as_not_undone(store: MemoryExecutions, monkeypatch: pytest.MonkeyPatch) -> None:
    become(store, "rolling_back")
    moving(store, monkeypatch, [
        StepRecord("charge", (), "completed", finished_at=60), StepRecord("reserve", (0,), "completed", finished_at=10),
        StepRecord("undo reserve", (0,), "completed", finished_at=55),
    ])  # fmt: skip
    planned = {"undo": [{"step": "reserve", "iteration": [0]}], "results": [True], "steps": {}}
    with pytest.raises(RollbackIncomplete, match="charge"):
        call("finish", plan={"undo": {"charge": {}, "reserve": {}}}, decided="rollback", **planned)
    found = store.read(*KEY)
    assert found is not None and (found.undone, found.not_undone) == (("reserve[0]",), ("charge",))
    # Where the failure was to undo nothing, nothing is left either.
    assert call("finish", plan={"undo": {"charge": {}}}, decided="fail", undo=[], results=[], steps={})["not_undone"] == []
