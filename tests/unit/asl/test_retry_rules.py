"""Attempts that reactions add to a step's own: a state goes by the first rule that names an error, and no other after it."""

from __future__ import annotations

from typing import Any

import pytest

from aslant.error_names import ALL, NEVER_RETRIED
from translator.asl.retries import retry_rules
from translator.diagnostics import Findings
from translator.model.workflow import Retry


def attempts(rules: list[dict[str, Any]], error: str) -> int:
    """How often Step Functions tries a state that fails with `error` each time."""
    rule = next((one for one in rules if error in one["ErrorEquals"] or ALL in one["ErrorEquals"]), None)
    return 1 + (rule["MaxAttempts"] if rule is not None else 0)


def rules(own: Retry | None, *extra: Retry) -> list[dict[str, Any]]:
    return retry_rules(own, list(extra), Findings(), service=False)[0]


@pytest.mark.parametrize(("own", "extra", "expected"), [
    (None, [Retry(3, on=(ALL,))], {"A": 3, "B": 3}),
    (Retry(2, on=("A",)), [Retry(3, on=(ALL,))], {"A": 4, "B": 3}),
    (Retry(2, on=(ALL,)), [Retry(3, on=(ALL,))], {"A": 4, "B": 4}),
    (Retry(2, on=(ALL,)), [Retry(3, on=("A",))], {"A": 4, "B": 2}),
    (Retry(2, on=("A", "B")), [Retry(3, on=("A",))], {"A": 4, "B": 2, "C": 1}),
    (Retry(2, on=("A",)), [], {"A": 2, "B": 1}),
    (None, [Retry(3, on=("A",)), Retry(2, on=(ALL,))], {"A": 3, "B": 2}),
    (None, [Retry(1, on=("A",)), Retry(2, on=(ALL,))], {"A": 1, "B": 2}),
    (Retry(2, on=("A",)), [Retry(1, on=("A",)), Retry(2, on=(ALL,))], {"A": 2, "B": 2}),
    (None, [Retry(3, on=("A",)), Retry(9, on=("A", "B"))], {"A": 3, "B": 9}),
])
def test_the_attempts_of_a_step_and_of_its_reactions_add_up(own: Retry | None, extra: list[Retry], expected: dict[str, int]) -> None:
    made = rules(own, *extra)
    assert {name: attempts(made, name) for name in expected} == expected


@pytest.mark.parametrize("error", sorted(NEVER_RETRIED))
def test_what_is_never_retried_is_not_retried_by_a_reaction(error: str) -> None:
    for own in (None, Retry(3, on=(ALL,)), Retry(3, on=("A",))):
        assert attempts(rules(own, Retry(3, on=(ALL,))), error) == 1
        assert attempts(rules(own, Retry(3, on=(error,))), error) == 1


@pytest.mark.parametrize("own", [None, Retry(3, on=(ALL,)), Retry(3, on=("A",)), Retry(3)])
def test_a_rule_for_every_error_stands_alone_and_last(own: Retry | None) -> None:
    for extra in ([Retry(2, on=(ALL,))], [Retry(2, on=("A",)), Retry(2, on=(ALL,))], [Retry(2, on=("A",))]):
        made, _ = retry_rules(own, extra, Findings())
        for rule in made[:-1]:
            assert ALL not in rule["ErrorEquals"]
        assert made[-1]["ErrorEquals"] == [ALL] or all(ALL not in rule["ErrorEquals"] for rule in made)
        assert all(rule["ErrorEquals"] for rule in made)
