"""Which undos, in which order, with which values: decided from step records alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aslant import compensation
from aslant.executions.records import Failure, StepRecord


def record(step: str, at: int = 0, *iteration: int, status: Any = "completed", output: Any = None, **more: Any) -> StepRecord:
    return StepRecord(step, iteration, status, finished_at=at or None, output=output, **more)


def labels(undo: list[dict[str, Any]]) -> list[str]:
    return [compensation.label(one) for one in undo]


def test_the_newest_completion_is_undone_first_whatever_the_order_of_starting() -> None:
    records = [record("a", 30, started_at=1), record("b", 10, started_at=2), record("c", 20, started_at=3), record("d", 25)]
    assert labels(compensation.undos(records, {"a": {}, "b": {}, "c": {}})) == ["a", "c", "b"]


def test_each_iteration_is_undone_on_its_own() -> None:
    records = [record("s", 10, 0, 1), record("s", 12, 1, 0), record("s", 11, 0, 0)]
    assert labels(compensation.undos(records, {"s": {}})) == ["s[1][0]", "s[0][0]", "s[0][1]"]


@pytest.mark.parametrize("status", ["failed", "skipped", "running"])
def test_what_did_not_complete_is_not_undone(status: str) -> None:
    assert compensation.undos([record("a", 5, status=status)], {"a": {}}) == []


def test_a_failed_step_is_undone_where_it_says_so_and_a_skipped_one_never() -> None:
    records = [record("a", 5, status="failed"), record("b", 6, status="skipped")]
    assert labels(compensation.undos(records, {"a": {"failed": True}, "b": {"failed": True}})) == ["a"]


def test_what_was_undone_is_not_undone_again_and_a_failed_undo_is() -> None:
    records = [
        record("a", 1), record("b", 2), record("s", 3, 0), record("s", 4, 1),
        record("undo a", 9), record("undo b", 9, status="failed"), record("undo s", 9, 1),
    ]
    assert labels(compensation.undos(records, {"a": {}, "b": {}, "s": {}})) == ["s[0]", "b"]


@given(st.permutations([record("a", 4), record("b", 3), record("c", 3), record("d", 1), record("undo c", 9)]))
def test_the_order_does_not_hang_on_the_order_of_reading(records: list[StepRecord]) -> None:
    assert labels(compensation.undos(records, {"a": {}, "b": {}, "c": {}, "d": {}})) == ["a", "b", "d"]


RULES = {
    "steps": ["r1", "r2"],
    "rules": [{"errors": ["A"], "action": "rollback", "steps": ["r2"]}, {"errors": ["B"], "action": "fail"},
              {"errors": ["States.ALL"], "action": "compensate"}],
    "own": {
        "mine": [[{"errors": ["States.ALL"], "action": "fail"}]],
        "inner": [[{"errors": ["A"], "action": "fail"}], [{"errors": ["States.ALL"], "action": "rollback"}]],
    },
}


@pytest.mark.parametrize(("error", "step", "action", "steps"), [
    ("A", "x", "rollback", ("r2",)),           # the handler names the rollback steps that run
    ("B", "x", "fail", ()),                    # the first rule that has the error counts
    ("C", "x", "compensate", ()),
    ("C", "", "compensate", ()),               # a failure whose step nobody knows
    ("C", "mine", "fail", ()),                 # the step's own policy
    ("A", "inner", "rollback", ("r1", "r2")),  # the step around it fails as well, and has a policy of its own
])  # fmt: skip
def test_a_failure_is_looked_up_in_the_rules(error: str, step: str, action: str, steps: tuple[str, ...]) -> None:
    request = {"by": "failure", "error": {"error": error, "message": "", "step": step}}
    assert compensation.decide(request, RULES) == (action, steps)


@pytest.mark.parametrize("request_", [{}, {"by": "request"}, {"by": "parent", "action": "rollback"}])
def test_a_request_rolls_back_whatever_the_policy(request_: dict[str, str]) -> None:
    assert compensation.decide(request_, {"steps": ["r1"], "rules": []}) == ("rollback", ("r1",))


def test_a_request_may_ask_for_compensations_alone() -> None:
    assert compensation.decide({"action": "compensate"}, RULES) == ("compensate", ())


def test_what_a_rollback_that_broke_off_has_undone_is_told_in_its_order() -> None:
    records = [
        record("a", 1), record("b", 2), record("undo a", 9), record("undo b", 8, 1), record("undo c", 7, status="failed"),
    ]
    assert compensation.undone(records) == ("b[1]", "a")


def test_values_are_those_of_the_iteration() -> None:
    records = [
        record("top", 1, output={"id": 1}), record("mid", 2, 0, output="zero"), record("mid", 2, 1, output="one"),
        record("deep", 3, 1, 0, output={"e0": 5}), record("items each", 1, output={"e0": ["a", "b"]}),
        record("items inner", 1, 1, output={"e0": [1, 2, 3]}),
        record("bad", 4, status="failed", error=Failure("Oops", "why", "bad")),
    ]
    table = {
        "steps": {"top": 0, "mid": 1, "deep": 2, "bad": 0, "never": 0}, "wrapped": ["deep"],
        "loops": {"each": {"depth": 0, "batch": 0}, "inner": {"depth": 1, "batch": 2}},
    }
    assert compensation.values(records, table, [1, 0]) == {
        "output": {"top": {"id": 1}, "mid": "one", "deep": 5, "bad": None, "never": None},
        "status": {"top": "completed", "mid": "completed", "deep": "completed", "bad": "failed", "never": "skipped"},
        "error": {
            "top": None, "mid": None, "deep": None, "never": None, "bad": {"error": "Oops", "message": "why", "step": "bad"},
        },
        "index": {"each": 1, "inner": 0},
        "item": {"each": "b", "inner": [1, 2]},
    }


def test_only_true_is_a_success() -> None:
    undo: list[dict[str, Any]] = [
        {"step": "a", "iteration": []}, {"step": "b", "iteration": [2]}, {"step": "c", "iteration": []},
    ]
    made = compensation.outcome(undo, [True, {"status": "failed", "error": {}}], {"r": "failed", "s": "completed"})
    assert made == (("a",), ("b[2]", "c"), ("r",))
