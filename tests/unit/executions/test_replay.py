"""What a run's history says for the next run."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant.executions.records import Execution, Failure
from aslant.executions.replay import entered, fitting, passed, place_named
from aslant.history.timeline import Timeline
from aslant.values import size
from tests.unit.executions.memory import T0, facts, release

START = datetime.fromtimestamp(T0 / 1000, UTC)
EXECUTION = Execution("acme", "x", "flow", "1", "failed", 1, 1, "m", "a", "ann", T0, T0)


def history(*rows: tuple[Any, ...]) -> Timeline:
    """A timeline of (id, previous id, type, details); event n happens n seconds after the start."""
    return Timeline.from_events([
        {
            "id": id, "previousEventId": previous, "type": kind, "timestamp": START + timedelta(seconds=id),
            "someEventDetails": details[0] if details else {},
        }
        for id, previous, kind, *details in rows
    ])  # fmt: skip


def task(first: int, previous: int, name: str, *, error: str = "") -> list[tuple[Any, ...]]:
    """A Task state that succeeds, or fails and is left by its Catch; five events."""
    return [
        (first, previous, "TaskStateEntered", {"name": name}), (first + 1, first, "TaskScheduled"),
        (first + 2, first + 1, "TaskStarted"),
        (first + 3, first + 2, "TaskFailed", {"error": error, "cause": "c"}) if error else (first + 3, first + 2, "TaskSucceeded"),
        (first + 4, first + 3, "TaskStateExited", {"name": name}),
    ]  # fmt: skip


FLOW = release({"a": facts(), "b": facts(), "w": facts("wait"), "p": facts("parallel", children=["a"])})
FLOW["states"] |= {"a failed": {"step": "a", "role": "failed"}, "guard": {"step": "", "role": "guard"}}


def test_a_failure_that_its_own_catch_took_is_passed():
    rows = [(1, 0, "ExecutionStarted"), *task(2, 1, "a", error="E"), *task(7, 6, "b", error="F")]
    stopped = [*rows, (12, 11, "ExecutionAborted")]
    assert passed(history(*stopped), FLOW, None) == {("a", ()), ("b", ())}
    failed = [*rows[:-1], (11, 10, "ExecutionFailed", {"error": "F"})]
    assert passed(history(*failed), FLOW, Failure("F", "", "b")) == {("a", ())}
    assert passed(history(*failed), FLOW, None) == {("a", ())}


def test_a_failure_that_only_led_to_the_end_is_not():
    """The Catch leads to a state that ends the machine with the same error."""
    rows = [
        (1, 0, "ExecutionStarted"), *task(2, 1, "a", error="E"), (7, 6, "FailStateEntered", {"name": "a failed"}),
        (8, 7, "ExecutionFailed", {"error": "E"}),
    ]  # fmt: skip
    assert passed(history(*rows), FLOW, Failure("E", "", "a")) == set()
    assert passed(history(*rows), FLOW, Failure("E")) == set()


def parallel(*, fail: bool) -> Timeline:
    """`a` fails inside of a guard that takes it; what follows succeeds, or the execution fails for it."""
    rows: list[tuple[Any, ...]] = [
        (1, 0, "ExecutionStarted"), (2, 1, "ParallelStateEntered", {"name": "guard"}), (3, 2, "ParallelStateStarted"),
        *task(4, 3, "a", error="E")[:-1], (8, 7, "ParallelStateFailed", {"error": "E"}),
        (9, 8, "ParallelStateExited", {"name": "guard"}), *task(10, 9, "b"),
    ]  # fmt: skip
    rows.append((15, 14, "ExecutionFailed", {"error": "E"}) if fail else (15, 14, "ExecutionAborted"))
    return history(*rows)


def test_a_failure_inside_of_what_took_it():
    assert passed(parallel(fail=False), FLOW, None) == {("a", ())}
    assert passed(parallel(fail=True), FLOW, Failure("E", "", "a")) == set()


def test_a_failed_execution_with_nothing_caught():
    rows = [(1, 0, "ExecutionStarted"), *task(2, 1, "a", error="E")[:-1], (6, 5, "ExecutionFailed", {"error": "E"})]
    assert passed(history(*rows), FLOW, Failure("E", "", "a")) == set()


def test_iterations_are_told_apart():
    flow = release({"each": facts("foreach", children=["a"]), "a": facts(loops=["each"])})
    rows: list[tuple[Any, ...]] = [
        (1, 0, "ExecutionStarted"), (2, 1, "MapStateEntered", {"name": "each"}), (3, 2, "MapStateStarted"),
        (4, 3, "MapIterationStarted", {"name": "each", "index": 0}), *task(5, 4, "a"),
        (10, 9, "MapIterationSucceeded"), (11, 3, "MapIterationStarted", {"name": "each", "index": 1}),
        *task(12, 11, "a", error="E"), (17, 16, "ExecutionAborted"),
    ]  # fmt: skip
    assert passed(history(*rows), flow, None) == {("a", (1,))}


def test_when_waits_began():
    rows = [
        (1, 0, "ExecutionStarted"), (2, 1, "WaitStateEntered", {"name": "w"}), (3, 2, "WaitStateExited", {"name": "w"}),
        *task(4, 3, "b"), (9, 8, "WaitStateEntered", {"name": "w"}), (10, 9, "ExecutionAborted"),
    ]  # fmt: skip
    assert entered(history(*rows), FLOW, EXECUTION) == ({"x/w": T0 + 2000}, {"x/w"}, set())
    assert entered(history(*rows[:3]), FLOW, replace(EXECUTION, id="y")) == ({"y/w": T0 + 2000}, set(), set())
    ask = release({"b": facts("approval")})
    assert entered(history(*rows), ask, EXECUTION) == ({"x/b": T0 + 4000}, set(), set())


def test_an_approval_that_was_retried_has_the_deadline_of_its_latest_attempt():
    rows = [
        (1, 0, "ExecutionStarted"), *task(2, 1, "b", error="ApprovalRejected")[:-1], (6, 5, "TaskScheduled"),
        (7, 6, "TaskStarted"), (8, 7, "ExecutionAborted"),
    ]  # fmt: skip
    ask = release({"b": facts("approval")})
    assert entered(history(*rows), ask, EXECUTION) == ({"x/b": T0 + 6000}, {"x/b"}, {"x/b"})


def escalated(*after: tuple[Any, ...]) -> Timeline:
    """`a` fails, and somebody is asked what to do; `after` follows event 11."""
    return history((1, 0, "ExecutionStarted"), *task(2, 1, "a", error="E"), *task(7, 6, "a ask")[: 5 if after else 3], *after)


ESCALATING = release({"a": facts(), "b": facts()})
ESCALATING["states"] |= {
    "a ask": {"step": "a", "role": "escalation"}, "a answer": {"step": "a", "role": "escalation"},
    "a failed": {"step": "a", "role": "failed"},
}  # fmt: skip


def answer(next: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return [(12, 11, "ChoiceStateEntered", {"name": "a answer"}), (13, 12, "ChoiceStateExited", {"name": "a answer"}), *next]


@pytest.mark.parametrize(("after", "expected"), [
    ([], set()),
    (answer(task(14, 13, "a")), set()),
    (answer(task(14, 13, "b")), {("a", ())}),
    (answer([(14, 13, "FailStateEntered", {"name": "a failed"}), (15, 14, "ExecutionFailed", {"error": "E"})]), set()),
    (answer([*task(14, 13, "a", error="E"), *task(19, 18, "b")]), {("a", ())}),
])  # fmt: skip
def test_what_somebody_decided_about_a_failure(after, expected):
    assert passed(escalated(*after), ESCALATING, None) == expected


def test_the_deadline_of_an_open_question():
    assert entered(escalated(), ESCALATING, EXECUTION) == ({"x/a escalated#1": T0 + 7000}, {"x/a escalated#1"}, set())
    assert entered(escalated(*answer([])), ESCALATING, EXECUTION) == ({}, set(), set())


def test_each_question_about_a_step_has_a_deadline_of_its_own():
    again = [*task(14, 13, "a", error="E"), *task(19, 18, "a ask")[:3]]
    second = {"x/a escalated#2": T0 + 19_000}
    assert entered(escalated(*answer(again)), ESCALATING, EXECUTION) == (second, set(second), set())


@pytest.mark.parametrize(("name", "place"), [
    ("a", ("a", ())), ("a[2][10]", ("a", (2, 10))), ("a!escalated[1]", ("a", (1,))), ("a escalated[1]#3", ("a", (1,))),
    ("a#b", ("a#b", ())), ("a escalated#12", ("a", ())),
])  # fmt: skip
def test_the_name_of_a_deadline_says_what_it_is_about(name, place):
    assert place_named(name) == place


@given(st.dictionaries(st.text(max_size=12), st.integers(0, 10**13), max_size=40), st.integers(-5, 400))
def test_what_fits_is_pending_first_then_the_latest(times, room):
    pending = {name for name in times if len(name) % 3 == 0}
    kept = fitting(times, pending, room)
    assert size(kept) <= max(room, 2)
    left = {name: at for name, at in times.items() if name not in kept}
    assert kept | left == times
    if left and kept:
        worst = min(kept, key=lambda name: (name in pending, times[name]))
        assert all((name in pending, times[name]) <= (worst in pending, times[worst]) for name in left)


@pytest.mark.parametrize("count", [10, 5000])
def test_a_hundred_kilobytes_at_most(count):
    times = {f"x/a step with a name[{number}]": T0 + number for number in range(count)}
    kept = fitting(times, set(), 10**9)
    assert size(kept) <= 100_000
    assert len(kept) == count or size(kept) > 99_000
