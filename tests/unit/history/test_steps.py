"""What became of steps, from histories and the facts of a release."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from aslant.history.native import native_records
from aslant.history.steps import SeenStep, StepHistory, blamed, culprit, error_of, message_of

START = datetime(2026, 1, 1, tzinfo=UTC)
STEPS: dict[str, Any] = {
    "a": {"type": "http", "hash": "", "after": []},
    "loop": {"type": "foreach", "hash": "", "after": ["a", "x", "y"], "children": ["x", "y"]},
    "x": {"type": "http", "hash": "", "after": ["a"], "loops": ["loop"]},
    "y": {"type": "wait", "hash": "", "after": ["a", "x"], "loops": ["loop"]},
    "z": {"type": "approval", "hash": "", "after": ["loop"], "accepts": ["ApprovalRejected"]},
    "clean": {"type": "http", "hash": "", "after": ["a", "loop", "z"], "last": True},
}
STATES: dict[str, Any] = {
    "a evaluate": {"step": "a", "role": "evaluate"}, "a": {"step": "a", "role": "step"},
    "loop": {"step": "loop", "role": "step"}, "x": {"step": "x", "role": "step"}, "x when": {"step": "x", "role": "condition"},
    "y": {"step": "y", "role": "step"}, "z": {"step": "z", "role": "step"}, "clean": {"step": "clean", "role": "step"},
    "limit": {"step": "", "role": "fork"}, "a asks": {"step": "a", "role": "condition"}, "x asks": {"step": "x", "role": "condition"},
}


def events(*rows: tuple[int, str] | tuple[int, str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Events from (previous id, type, details); ids count from 1, a second apart."""
    found = []
    for number, (before, kind, *details) in enumerate(rows, 1):
        event = {"id": number, "previousEventId": before, "type": kind, "timestamp": START + timedelta(seconds=number)}
        found.append(event | {"xEventDetails": details[0] if details else {}})
    return found


def of(*rows: Any) -> StepHistory:
    return StepHistory.of(STEPS, STATES, events(*rows))


def statuses(history: StepHistory) -> dict[tuple[str, tuple[int, ...]], str]:
    return {(one.step, one.iteration): one.status for one in history.ordered()}


def test_a_condition_that_fails_is_the_failure_of_its_step() -> None:
    why = {"error": "States.QueryEvaluationError", "cause": "An error occurred while executing the state 'x when'"}
    history = of(*LOOP[:11], (11, "EvaluationFailed", {**why, "state": "x when"}), (12, "ExecutionFailed", why))
    found = history.culprit("ExpressionError", why["cause"])
    assert found is not None and (found.step, found.iteration, found.status) == ("x", (1,), "failed")


LOOP = (
    (0, "ExecutionStarted"), (0, "TaskStateEntered", {"name": "a evaluate"}), (2, "TaskStateExited", {"name": "a evaluate"}),
    (3, "TaskStateEntered", {"name": "a"}), (4, "TaskStateExited", {"name": "a"}),
    (5, "MapStateEntered", {"name": "loop"}), (6, "MapStateStarted", {}),
    (7, "MapIterationStarted", {"name": "loop", "index": 0}), (7, "MapIterationStarted", {"name": "loop", "index": 1}),
    (8, "TaskStateEntered", {"name": "x"}), (9, "ChoiceStateEntered", {"name": "x when"}),
    (11, "ChoiceStateExited", {"name": "x when"}), (12, "WaitStateEntered", {"name": "y"}),
)  # fmt: skip


def test_a_loop_as_it_goes_on() -> None:
    history = of(*LOOP)
    assert statuses(history) == {
        ("a", ()): "completed", ("loop", ()): "running", ("x", (0,)): "running", ("y", (1,)): "running",
    }
    assert history.seen["a", ()].started == START + timedelta(seconds=2)
    assert history.seen["a", ()].attempts == 1
    history.feed(events(
        *LOOP, (10, "TaskStateExited", {"name": "x"}), (14, "WaitStateEntered", {"name": "y"}),
        (15, "WaitStateExited", {"name": "y"}), (13, "WaitStateExited", {"name": "y"}), (17, "MapStateExited", {"name": "loop"}),
    ))  # fmt: skip
    history.finish(completed=True, at=START)
    assert statuses(history) == {
        ("a", ()): "completed", ("loop", ()): "completed", ("x", (0,)): "completed", ("x", (1,)): "skipped",
        ("y", (0,)): "completed", ("y", (1,)): "completed", ("z", ()): "skipped", ("clean", ()): "skipped",
    }


def test_a_condition_that_a_function_evaluates_does_not_begin_its_step() -> None:
    rows = [
        (0, "ExecutionStarted"), (0, "TaskStateEntered", {"name": "a asks"}), (2, "TaskStateExited", {"name": "a asks"}),
        (3, "ChoiceStateEntered", {"name": "x when"}), (4, "ChoiceStateExited", {"name": "x when"}),
        (5, "MapStateEntered", {"name": "loop"}), (6, "MapStateStarted", {}),
    ]  # fmt: skip
    assert statuses(of(*rows[:5])) == {}
    history = of(*rows)
    assert statuses(history) == {("a", ()): "skipped", ("loop", ()): "running"}
    assert [one.status for one in native_records(history, run=1, known=(), at=7) if one.step == "a"] == ["skipped"]
    failing = of(*rows[:2], (2, "TaskFailed", {"error": "ExpressionError", "cause": "why"}), (3, "TaskStateExited", {"name": "a asks"}))
    assert (failing.seen["a", ()].status, failing.seen["a", ()].error) == ("failed", "ExpressionError")


def test_iterations_that_come_to_no_step_are_known() -> None:
    history = of(
        *LOOP[:9], (8, "ChoiceStateEntered", {"name": "x when"}), (10, "ChoiceStateExited", {"name": "x when"}),
        (9, "TaskStateEntered", {"name": "x asks"}), (12, "TaskStateExited", {"name": "x asks"}),
        (13, "MapStateExited", {"name": "loop"}),
    )  # fmt: skip
    history.finish(completed=True, at=START)
    assert {place: status for place, status in statuses(history).items() if place[1]} == {
        (step, (index,)): "skipped" for step in "xy" for index in (0, 1)
    }


def test_a_map_that_only_limits_how_many_branches_run_is_no_loop() -> None:
    history = of(
        (0, "ExecutionStarted"), (0, "MapStateEntered", {"name": "limit"}), (2, "MapStateStarted", {}),
        (3, "MapIterationStarted", {"name": "limit", "index": 1}), (4, "TaskStateEntered", {"name": "a"}),
    )  # fmt: skip
    assert statuses(history) == {("a", ()): "running"}


def test_what_runs_at_the_end_says_nothing_about_what_came_before() -> None:
    history = of(
        (0, "ExecutionStarted"), (0, "TaskStateEntered", {"name": "a"}), (2, "TaskFailed", {"error": "E"}),
        (3, "TaskStateExited", {"name": "a"}), (4, "TaskStateEntered", {"name": "clean"}),
        (5, "TaskStateExited", {"name": "clean"}), (6, "ExecutionFailed", {"error": "E", "cause": "why"}),
    )  # fmt: skip
    history.finish(completed=False, at=START)
    assert {place: status for place, status in statuses(history).items() if status != "not_started"} == {
        ("a", ()): "failed", ("clean", ()): "completed",
    }
    assert (history.error, history.cause, history.transitions) == ("E", "why", 2)


def test_a_no_that_is_an_answer_completes_its_step() -> None:
    rejected = json.dumps({"approved": False, "by": "ada", "comment": "not now"})
    history = of(
        (0, "ExecutionStarted"), (0, "TaskStateEntered", {"name": "z"}),
        (2, "TaskFailed", {"error": "ApprovalRejected", "cause": rejected}), (3, "TaskStateExited", {"name": "z"}),
    )  # fmt: skip
    assert history.seen["z", ()].status == "completed" and history.seen["z", ()].error == ""
    assert message_of(rejected) == "rejected by ada: not now"


def test_retries_are_transitions_and_are_seen() -> None:
    rows = [
        (0, "ExecutionStarted"), (0, "TaskStateEntered", {"name": "a"}), (2, "TaskScheduled", {}),
        (3, "TaskFailed", {"error": "E"}), (4, "TaskScheduled", {}),
    ]  # fmt: skip
    assert of(*rows[:4]).seen["a", ()].retrying
    history = of(*rows)
    assert (history.seen["a", ()].attempts, history.seen["a", ()].retrying, history.transitions) == (2, True, 2)
    history = of(*rows, (5, "TaskSucceeded", {}), (6, "TaskStateExited", {"name": "a"}))
    assert (history.seen["a", ()].status, history.seen["a", ()].retrying) == ("completed", False)


@pytest.mark.parametrize(("error", "cause", "name"), [
    ("HttpError", "{}", "HttpError"), ("States.QueryEvaluationError", "", "ExpressionError"), (None, None, ""),
    ("States.TaskFailed", json.dumps({"ExecutionArn": "arn", "Error": "Mine", "Cause": "x"}), "Mine"),
    ("States.TaskFailed", json.dumps({"ExecutionArn": "arn", "Error": "States.QueryEvaluationError"}), "ExpressionError"),
    ("States.TaskFailed", json.dumps({"ExecutionArn": "arn", "Status": "TIMED_OUT"}), "States.Timeout"),
    ("States.TaskFailed", json.dumps({"ExecutionArn": "arn", "Status": "ABORTED"}), "Cancelled"),
    ("States.TaskFailed", json.dumps({"ExecutionArn": "arn", "Status": "FAILED"}), "States.TaskFailed"),
    ("States.TaskFailed", json.dumps({"Error": "Mine"}), "States.TaskFailed"), ("States.TaskFailed", "[", "States.TaskFailed"),
    ("States.TaskFailed", "[" * 100_000, "States.TaskFailed"),
])  # fmt: skip
def test_names_of_errors(error: str | None, cause: str | None, name: str) -> None:
    assert error_of(error, cause) == name


def test_the_guilty_one() -> None:
    def failed(step: str, type: str, error: str, message: str) -> SeenStep:
        return SeenStep(step, type, error=error, message=message)

    inner, outer = failed("x", "http", "E", "m"), failed("loop", "foreach", "E", "m")
    other, late = failed("y", "http", "E", "n"), failed("z", "http", "F", "m")
    assert culprit([inner, outer], "E", "m") is inner
    assert culprit([inner, other, late], "E", "m") is inner
    assert culprit([inner, other, late], "E", "?") is other
    assert culprit([inner, other, late], "G", "?") is late
    assert culprit([outer], "E", "m") is outer
    assert culprit([], "E", "m") is None
    first, second = SeenStep("x", "http", (0,), error="E", message="m"), SeenStep("x", "http", (1,), error="E", message="m")
    assert culprit([first, second], "E", "m") is first  # of a loop's iterations


def test_a_loop_inside_of_what_takes_its_failure_failed_with_what_is_inside_of_it() -> None:
    steps: Any = {
        "each": {"type": "foreach", "hash": "", "after": ["get"], "children": ["get"]},
        "get": {"type": "skill", "hash": "", "after": [], "loops": ["each"]},
    }
    states: Any = {name: {"step": name, "role": "step"} for name in steps}
    failed = {"error": "E", "cause": json.dumps({"errorMessage": "step get[1]: no"})}
    history = StepHistory.of(steps, states, events(
        (0, "ExecutionStarted"), (0, "ParallelStateEntered", {"name": "guard"}), (2, "ParallelStateStarted"),
        (3, "MapStateEntered", {"name": "each"}), (4, "MapStateStarted"), (5, "MapIterationStarted", {"name": "each", "index": 1}),
        (6, "TaskStateEntered", {"name": "get"}), (7, "TaskScheduled"), (8, "TaskFailed", failed),
        (9, "MapIterationFailed", {"name": "each", "index": 1}), (9, "MapStateFailed"), (11, "ParallelStateFailed"),
        (12, "ParallelStateExited", {"name": "guard", "output": "{}"}),
    ))
    found = {seen.step: (seen.status, seen.error, seen.message) for seen in history.ordered()}
    assert found == {"get": ("failed", "E", "step get[1]: no"), "each": ("failed", "E", "step get[1]: no")}


def test_of_several_failures_the_first_is_told_and_the_others_are_named() -> None:
    collected = [{"error": "E", "message": "of x", "step": "x"}, {"error": "E", "message": "of y", "step": "y"}]
    cause = json.dumps(collected)
    child = json.dumps({"ExecutionArn": "arn", "Error": "E", "Cause": cause})
    assert message_of(cause) == message_of(child) == "of x (y failed too)"
    assert (blamed(cause), blamed("no list"), blamed("[1]")) == ("x", "", "")
    assert message_of(cause[:-20]) == "of x" and blamed(cause[:-20]) == "x"  # causes have a limit and are cut off
    first, second = SeenStep("x", "skill", error="E", message="of x"), SeenStep("y", "skill", error="E", message="of y")
    assert culprit([first, second], "E", message_of(cause), blamed(cause)) is first
    # All branches ended, and the state itself succeeded with what they came to.
    output = json.dumps([{"failed": collected[1]}, {"failed": None}, {"failed": collected[0]}])
    history = StepHistory({"p": {"type": "parallel", "hash": "", "after": []}}, {"p": {"step": "p", "role": "step"}})
    history.feed(events(
        (0, "ExecutionStarted"), (0, "ParallelStateEntered", {"name": "p"}),
        (2, "ParallelStateExited", {"name": "p", "output": output}),
    ))
    (found,) = history.ordered()
    assert (found.status, found.error, found.message) == ("failed", "E", "of y (x failed too)")


def test_records_of_what_ended() -> None:
    history = of(*LOOP)
    history.finish(completed=False, at=START + timedelta(seconds=99))
    found = {record.label: record for record in native_records(history, run=3, known={("a", ())}, at=7)}
    # The loop and the wait were interrupted; the functions of `a` and `x` tell of their own.
    assert {label: (each.status, each.finished_at) for label, each in found.items()} == dict.fromkeys(
        ("loop", "y[1]"), ("running", None)
    )
    (record,) = [each for each in native_records(history, run=3, known=(), at=7) if each.label == "a"]
    micros = round(START.timestamp() * 1_000_000)
    assert (record.step, record.run, record.native, record.status) == ("a", 3, True, "completed")
    assert (record.started_at, record.finished_at) == (micros + 2_000_000, micros + 5_000_000)
