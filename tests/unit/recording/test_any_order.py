"""Whatever order notices come in, and however often: the execution ends as its latest run did."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aslant.executions.records import Execution, Run
from aslant.notices import read_notice
from aslant.recording import Recorder
from tests.examples import few
from tests.unit.recording.fakes import MACHINE, T0, FakeMachines, FakeReleases, FakeTimers, MemoryStore, arn
from tests.unit.recording.flow import RELEASE, history, notice

ENDS = ("SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED")
STATUS = {"SUCCEEDED": "completed", "FAILED": "failed", "TIMED_OUT": "timed_out", "ABORTED": "cancelled"}
PARENT = {"execution": "p1", "step": "call", "iteration": [], "attempt": 0}


def play(events: list[dict[str, Any]], runs: list[str], *, child: bool) -> tuple[MemoryStore, FakeTimers]:
    store, machines, timers = MemoryStore(), FakeMachines(), FakeTimers()
    for number, end in enumerate(runs, 1):
        name = arn("e1" if number == 1 else f"e1-r{number}")
        machines.histories[name] = history(end, error="HttpError", at=T0 + 60_000 * (number - 1))
    parent = arn("p1" if len(runs) == 1 else f"p1-r{len(runs)}")
    store.create(
        Execution("acme", "p1", "flow", "1.0.0", "running", 1, len(runs), MACHINE, parent, "ada", T0, T0), {},
        Run(len(runs), parent, MACHINE, "1.0.0", "start", "ada", T0),
    )
    if not child:
        # The service has started every run already, as it does before the engine.
        last = arn("e1" if len(runs) == 1 else f"e1-r{len(runs)}")
        store.create(
            Execution("acme", "e1", "flow", "1.0.0", "pending", 1, len(runs), MACHINE, last, "ada", T0, T0, sla_due=T0 + 60_000),
            {}, Run(len(runs), last, MACHINE, "1.0.0", "start", "ada", T0),
        )
        for number in range(1, len(runs)):
            store.put_run("acme", "e1", Run(number, "", MACHINE, "1.0.0", "start", "ada", T0))
    recorder = Recorder(store, machines, FakeReleases(RELEASE), timers, lambda: T0 + 1_000_000)
    for event in events:
        recorder.record(read_notice(event))
    return store, timers


@st.composite
def stories(draw: st.DrawFn) -> tuple[list[str], list[dict[str, Any]], bool]:
    """How each run ended, the notices of all of them in any order with repetitions, and whether it is a child."""
    runs = draw(st.lists(st.sampled_from(ENDS), min_size=1, max_size=3))
    child = draw(st.booleans())
    more = {"parent": PARENT} if child else {}
    every = [
        notice(status, number, at=T0 + 60_000 * (number - 1), **more)
        for number, end in enumerate(runs, 1) for status in ("RUNNING", end)
    ]
    repeated = draw(st.lists(st.sampled_from(range(len(every))), max_size=4))
    order = draw(st.permutations([*range(len(every)), *repeated]))
    return runs, [every[index] for index in order], child


@few(60)
@given(stories())
def test_any_order_ends_the_same(story: tuple[list[str], list[dict[str, Any]], bool]) -> None:
    runs, events, child = story
    store, timers = play(events, runs, child=child)
    end = store.executions["acme", "e1"]

    assert end.status == STATUS[runs[-1]]
    assert (end.run, end.finished_at) == (len(runs), T0 + 60_000 * (len(runs) - 1) + 5000)
    assert (end.error is None) == (runs[-1] == "SUCCEEDED")
    assert timers.timers == {}
    assert store.output("acme", "e1") == ({"ok": True} if runs[-1] == "SUCCEEDED" else store.output("acme", "e1"))
    status = {each.step: each.status for each in store.steps("acme", "e1")}
    last = len(runs)
    assert status["route"] == "completed"
    assert all(1 <= each.run <= last for each in store.steps("acme", "e1"))  # of the run in which it ended first, if that was told
    if runs[-1] == "SUCCEEDED":
        assert status["refuse"] == "skipped" and status["pay"] == "completed"
    if not child:
        assert end.usage["state_transitions"] == sum(4 if each == "SUCCEEDED" else 3 for each in runs)
    else:
        assert [each.id for each in store.children("acme", "p1")] == ["e1"]
        assert all(run.ended_at is not None for run in store.runs("acme", "e1") if run.number == last)
