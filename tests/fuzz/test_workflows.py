"""A bounded sample of random workflows, run against the reference; `python -m tests.fuzz.workflows` runs more of them."""

from __future__ import annotations

import pytest

from tests.fuzz import workflow_runs
from tests.fuzz.workflow_cases import make
from tests.reference.interpreter import Interpreter
from translator.model.workflow import Step

SEED, CASES = 20_261, 9


def test_random_workflows_do_what_the_reference_says() -> None:
    assert workflow_runs.problems([make(SEED, number) for number in range(CASES)]) == {}


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a reference in which transforms give nothing."""
    known = Interpreter.step

    def wrong(self: Interpreter, step: Step, scope: object) -> object:
        ran = known(self, step, scope)  # type: ignore[arg-type]
        ran.output = None if step.type == "transform" else ran.output
        return ran

    monkeypatch.setattr(Interpreter, "step", wrong)
    assert workflow_runs.problems([make(SEED, number) for number in range(3)])


def test_a_seed_makes_the_same_case_again() -> None:
    assert make(3, 14) == make(3, 14)
    assert make(3, 14) != make(4, 14)
