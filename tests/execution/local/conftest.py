"""One local cloud for each test, on a clock that runs fifty times faster."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from infra.local.cloud import LocalCloud, Result

INVOKE = "arn:aws:states:::lambda:invoke"


@pytest.fixture
def cloud() -> Iterator[LocalCloud]:
    with LocalCloud(time_scale=50) as running:
        yield running


@pytest.fixture
def run(cloud: LocalCloud) -> Callable[..., Result]:
    """Run a machine of these states to its end."""

    def execute(states: dict[str, Any], input: Any = None, **top: Any) -> Result:
        arn = cloud.state_machine("machine", machine(states, **top))
        return cloud.start(arn, {} if input is None else input).wait(30)

    return execute


@pytest.fixture(name="machine")
def machine_fixture() -> Callable[..., dict[str, Any]]:
    return machine


@pytest.fixture(name="call")
def call_fixture() -> Callable[..., dict[str, Any]]:
    return call


@pytest.fixture(name="Recorder")
def recorder_fixture() -> type[Recorder]:
    return Recorder


def machine(states: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {"QueryLanguage": "JSONata", "StartAt": next(iter(states)), "States": states, **top}


class Recorder:
    """A handler that notes its events; `act` is called with each, its result returned."""

    def __init__(self, act: Callable[[Any], Any] | None = None) -> None:
        self.events: list[Any] = []
        self.most_at_once = 0
        self._running = 0
        self._lock = threading.Lock()
        self._act = act or (lambda event: event)

    def __call__(self, event: Any, context: Any) -> Any:
        with self._lock:
            self.events.append(event)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            return self._act(event)
        finally:
            with self._lock:
                self._running -= 1


def call(name: str, payload: Any = None, **fields: Any) -> dict[str, Any]:
    """A Task that invokes a function; its output is the function's result."""
    state = {
        "Type": "Task",
        "Resource": INVOKE,
        "Arguments": {"FunctionName": name, "Payload": {} if payload is None else payload},
        "Output": "{% $states.result.Payload %}",
        **fields,
    }
    return state if "Next" in state else {**state, "End": True}
