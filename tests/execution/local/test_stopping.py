"""A stop at any moment: nothing goes on with what the skipped parts of a state left undone, and nothing is said of it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Container, Iterator
from typing import Any

import pytest

from infra.local.cloud import ExecutionHandle, LocalCloud

_INSIDE = {"B", "C", "D", "E", "Loop", "Item"}


def _branches(call: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """All kinds of states in two branches, each with the fields whose evaluation a stop can hit, and a state after."""
    number = {"number": "{% $n + $states.context.Map.Item.Value %}"}
    loop = {"Type": "Map", "Items": "{% [1..3] %}", "ItemSelector": {"item": "{% $states.context.Map.Item.Value %}"},
        "ItemProcessor": {"StartAt": "Item", "States": {"Item": call("count", number)}},
        "Assign": {"done": "{% $states.result %}"}, "End": True}
    branch = {
        "B": {"Type": "Pass", "Assign": {"m": "{% $n * 2 %}"}, "Output": {"n": "{% $n %}"}, "Next": "C"},
        "C": {"Type": "Choice", "Choices": [{"Condition": "{% $n > 5 %}", "Next": "E"}], "Default": "D"},
        "D": call("count", {"number": "{% $m %}"}, Catch=[{"ErrorEquals": ["States.ALL"], "Next": "E"}], Next="E"),
        "E": {"Type": "Wait", "Seconds": "{% $m * 0 %}", "End": True},
    }
    return {
        "Both": {"Type": "Parallel", "Arguments": {"n": "{% $n %}"}, "Next": "Z", "Branches": [
            {"StartAt": "B", "States": branch}, {"StartAt": "Loop", "States": {"Loop": loop}}]},
        "Z": call("count", {"number": "{% $n %}"}, Assign={"last": "{% $states.result.Payload %}"}),
    }


class _Switch:
    """Calls `target` at the `at`-th time that moto asks, in one of `states`, whether an environment runs."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, states: Container[str]) -> None:
        from moto.stepfunctions.parser.asl.eval.environment import Environment

        asked, lock = Environment.is_running, threading.Lock()
        self.calls, self.at = 0, -1
        self.target: Callable[[], object] = lambda: None

        def is_running(env: Any) -> bool:
            answer = asked(env)
            state = env.states.context_object.context_object_data.get("State", {}).get("Name")
            if answer and state in states:
                with lock:
                    self.calls += 1
                    now = self.calls == self.at
                if now:
                    self.target()  # after the answer was given: what follows believes it
            return answer

        monkeypatch.setattr(Environment, "is_running", is_running)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is logged, and what ends a thread."""
    texts: list[str] = []
    handler = logging.Handler(logging.WARNING)
    monkeypatch.setattr(handler, "emit", lambda record: texts.append(record.getMessage()))
    monkeypatch.setattr(threading, "excepthook", lambda args: texts.append(repr(args.exc_value)))
    logging.getLogger().addHandler(handler)
    yield texts
    logging.getLogger().removeHandler(handler)


def test_an_execution_stops_at_every_point_without_an_error_or_a_word(
    cloud: LocalCloud, call: Callable[..., dict[str, Any]], machine: Callable[..., dict[str, Any]], Recorder: Any,
    monkeypatch: pytest.MonkeyPatch, told: list[str],
) -> None:
    count = Recorder(lambda event: event["number"])
    cloud.function("count", count)
    states = {**_branches(call), "A": {"Type": "Pass", "Assign": {"n": 1}, "Next": "Both"}}
    arn = cloud.state_machine("machine", {**machine(states), "StartAt": "A"})
    switch = _Switch(monkeypatch, {"A", "Both", *_INSIDE, "Z"})
    assert cloud.start(arn, {}).wait(30).output == 1
    whole, statuses, events = switch.calls, [], []

    def stop(execution: Any) -> None:
        execution.exec_worker.env.set_stop(stop_date=None, cause="enough", error="Stop")

    for at in range(1, whole + 1, 2):
        switch.calls = 0
        running = _start(cloud, arn, switch, at, stop)
        statuses.append(running.wait(30).status)
        events += [event["type"] for event in running.events()]
    assert told == []
    assert statuses.count("ABORTED") > len(statuses) / 2 > 30
    assert not {kind for kind in events if kind.endswith("Failed")}
    assert {event["number"] for event in count.events} == {1, 2, 3, 4}


def _start(
    cloud: LocalCloud, arn: str, switch: _Switch, at: int, act: Callable[[Any], object]
) -> ExecutionHandle:
    """Start an execution that `act` gets at the switch's time."""
    known: list[Any] = []
    there = threading.Event()

    def target() -> None:
        there.wait(10)
        act(known[0])

    switch.target, switch.at = target, at
    running = cloud.start(arn, {})
    known.append(cloud._runtime.executions[running.arn])
    there.set()
    return running


def test_branches_beside_a_failed_one_stop_at_every_point_without_an_error_or_a_word(
    cloud: LocalCloud, call: Callable[..., dict[str, Any]], machine: Callable[..., dict[str, Any]], Recorder: Any,
    monkeypatch: pytest.MonkeyPatch, told: list[str],
) -> None:
    gate = threading.Event()
    count = Recorder(lambda event: event["number"])
    cloud.function("count", count)
    cloud.function("gate", lambda event, context: gate.wait(20))
    states = {**_branches(call), "A": {"Type": "Pass", "Assign": {"n": 1}, "Next": "Both"}}
    states["Both"]["Branches"].append({"StartAt": "Gate", "States": {
        "Gate": call("gate", Next="Boom"), "Boom": {"Type": "Fail", "Error": "Boom"}}})
    states["Both"]["Catch"] = [{"ErrorEquals": ["Boom"], "Next": "Z"}]
    arn = cloud.state_machine("machine", {**machine(states), "StartAt": "A"})
    switch = _Switch(monkeypatch, _INSIDE)
    gate.set()

    def let_it_fail(execution: Any) -> None:
        gate.set()
        cloud._runtime.finished[execution.exec_arn].wait(0.3)  # in vain if moto asks while it holds a lock

    outputs = [cloud.start(arn, {}).wait(30).output]
    for at in range(1, 130, 3):
        gate.clear()
        switch.calls = 0
        running = _start(cloud, arn, switch, at, let_it_fail)
        if not gate.wait(0.5):
            gate.set()  # the other branches were through before
        outputs.append(running.wait(30).output)
    assert told == []
    assert outputs == [1] * len(outputs)
    assert {event["number"] for event in count.events} == {1, 2, 3, 4}
