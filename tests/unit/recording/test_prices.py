"""Prices of calls and tokens."""

from __future__ import annotations

import pytest

from aslant.executions.records import StepRecord
from aslant.prices import cost, model_usd, step_cost, totals
from aslant.settings import MODEL_ALIASES


@pytest.mark.parametrize(("model", "usd"), [
    ("anthropic.claude-sonnet-4-5-20250929-v1:0", 3 + 15), ("global.anthropic.claude-haiku-4-5-20251001-v1:0", 1 + 5),
    ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 1.1 * 6), ("us.anthropic.claude-opus-4-1-20250805-v1:0", 15 + 75),
    ("offline", 0),
])  # fmt: skip
def test_a_million_tokens_each_way(model: str, usd: float) -> None:
    assert model_usd(model, 1_000_000, 1_000_000) == pytest.approx(usd)


def test_every_alias_has_a_price_and_an_unknown_model_has_none() -> None:
    assert all(model_usd(model, 1, 1) is not None for model in MODEL_ALIASES.values())
    assert model_usd("amazon.nova-pro-v1:0", 1, 1) is None


def step(type: str, **usage: float) -> StepRecord:
    return StepRecord("s", (), "completed", type=type, total_attempts=2, usage=usage)


def test_what_a_step_costs() -> None:
    # half a GB for ten seconds, and two requests
    assert step_cost(step("http", billed_ms=10_000, memory_mb=512)).usd == pytest.approx(5 * 0.0000133334 + 2 * 0.0000002)
    assert step_cost(step("email", calls=3)).parts == pytest.approx({"messages": 0.0003})
    assert step_cost(step("agent", tokens_in=5, tokens_out=5, cost_usd=0.25)).parts == {"models": 0.25}
    assert step_cost(StepRecord("s", (), "completed", type="choice", native=True)).usd == 0


def test_totals_are_sums_without_what_is_no_amount() -> None:
    steps = [step("http", billed_ms=10, memory_mb=512, retries=1), step("agent", billed_ms=5, tokens_in=7, cost_usd=0.5)]
    found = totals(steps, 3)
    assert {name: found[name] for name in ("lambda_ms", "retries", "tokens_in", "state_transitions")} == {
        "lambda_ms": 15, "retries": 1, "tokens_in": 7, "state_transitions": 3,
    }
    assert "memory_mb" not in found and "billed_ms" not in found
    assert found["cost_usd"] == pytest.approx(cost(steps, 3).usd, abs=1e-9)
    assert cost(steps, 3).parts["transitions"] == pytest.approx(0.000075)
