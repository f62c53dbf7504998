"""How much variables may hold: 256 KiB in one Assign, 10 MiB in all, as AWS documents it for workflow variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from infra.local.cloud import Result

KIB = 1024


def text(size: int, char: str = "x") -> str:
    """An expression for a text of which the JSON has `size` bytes, the quotes among them."""
    return f"{{% $pad('', {(size - 2) // len(char.encode())}, '{char}') %}}"


def assign(size: int, char: str = "x", **more: Any) -> dict[str, Any]:
    return {"Type": "Pass", "Assign": {"v": text(size, char), **more}, "Output": {}, "End": True}


@pytest.mark.parametrize(("state", "fits"), [
    (assign(256 * KIB), True), (assign(256 * KIB + 1), False),
    (assign(256 * KIB, w=1), False), (assign(128 * KIB, w=text(128 * KIB)), True),
    (assign(128 * KIB, w=text(128 * KIB + 1)), False), (assign(256 * KIB + 4, "é"), False),
])
def test_one_assign_sets_256_kib_at_most(state: dict[str, Any], fits: bool, run: Callable[..., Result]) -> None:
    result = run({"Big": state})
    assert result.status == ("SUCCEEDED" if fits else "FAILED")
    if not fits:
        assert result.error == "States.DataLimitExceeded"
        assert "'Big'" in str(result.cause) and "262,144" in str(result.cause)


def filled(count: int, last: dict[str, Any]) -> dict[str, Any]:
    """States that set `count` variables of 256 KiB each, and then `last`."""
    states: dict[str, Any] = {}
    for number in range(count):
        states[f"Set{number}"] = {"Type": "Pass", "Assign": {f"v{number}": text(256 * KIB)}, "Output": {},
            "Next": f"Set{number + 1}" if number < count - 1 else "Last"}
    return {**states, "Last": {**last, "End": True}}


def test_all_variables_together_hold_10_mib_at_most(run: Callable[..., Result]) -> None:
    again = {"Type": "Pass", "Assign": {"v0": text(256 * KIB, "y")}, "Output": {}}  # in place of what was there
    assert run(filled(40, again)).status == "SUCCEEDED"
    result = run(filled(40, {"Type": "Pass", "Assign": {"more": 1}, "Output": {}}))
    assert (result.status, result.error) == ("FAILED", "States.DataLimitExceeded")
    assert "10,485,760" in str(result.cause)


def test_inside_of_a_branch_the_outer_variables_count_too(run: Callable[..., Result]) -> None:
    inner = {"StartAt": "In", "States": {"In": {"Type": "Pass", "Assign": {"w": 1}, "Output": {}, "End": True}}}
    result = run(filled(40, {"Type": "Parallel", "Branches": [inner], "Output": {}}))
    assert (result.status, result.error) == ("FAILED", "States.DataLimitExceeded")


@pytest.mark.parametrize(("names", "status"), [(["States.ALL"], "FAILED"), (["States.DataLimitExceeded"], "SUCCEEDED")])
def test_only_its_own_name_catches_it(names: list[str], status: str, run: Callable[..., Result], cloud: Any) -> None:
    cloud.function("echo", lambda event, context: event)
    task = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Arguments": {"FunctionName": "echo", "Payload": {}},
        "Assign": {"v": text(256 * KIB + 1)}, "Output": {}, "Next": "Done",
        "Catch": [{"ErrorEquals": names, "Next": "Done"}]}
    assert run({"Task": task, "Done": {"Type": "Succeed", "Output": {}}}).status == status
