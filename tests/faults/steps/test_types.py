"""Every type of step, killed between what it does and its record, and throttled by whom it asks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import errors, skills
from aslant.step_types import STEP_TYPES
from tests.faults.steps.outside import CASES, OUTSIDE, Outside, put_in_place
from tests.faults.steps.support import Context, Killed
from tests.unit.runtime.fakes import MemorySteps


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[Outside]:
    yield put_in_place(monkeypatch)
    skills.unregister("away")


def _called(kind: str, **more: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    handler = importlib.import_module(f"functions.steps.{kind}.handler").handler
    return handler, {"step": "s", "type": kind, "execution": {"id": "e1", "tenant": "acme", "workflow": "w", "run": 1},
                     "config": CASES[kind], **more}


def test_no_type_is_left_out() -> None:
    # An approval has no record: tests of approvals ask, kill and answer it.
    assert {*CASES, "approval"} == {name for name, kind in STEP_TYPES.items() if kind.model is not None}


@pytest.mark.parametrize("kind", CASES)
def test_killed_between_the_effect_and_its_record(kind: str, outside: Outside, use: Callable[..., None]) -> None:
    deaths = [Killed()]

    def before(name: str) -> None:
        if name == "finish" and deaths:
            raise deaths.pop()

    use(MemorySteps(), before=before)
    handler, event = _called(kind)
    with pytest.raises(Killed):
        handler(event, Context(0.6))
    second = handler(event, Context(20))["output"]
    assert handler(event, Context(20))["output"] == second, "what is recorded is not done again"
    if kind in OUTSIDE:
        assert len(outside.asked) == 2 and outside.asked[0] == outside.asked[1], "the other side can tell that it is the same"
    else:
        assert outside.asked == []


@pytest.mark.parametrize("kind", OUTSIDE)
def test_throttled(kind: str, outside: Outside, use: Callable[..., None]) -> None:
    """Whoever is asked says: too often. The machine gets a class that it retries, after the delay that was asked for."""
    store = MemorySteps()
    use(store)
    handler, event = _called(kind, retry={"max_attempts": 3, "delays": [1, 2], "on": []})
    outside.fails = [errors.RateLimited("too often", retry_after=2)]
    with pytest.raises(errors.StepError, match="too often") as caught:
        handler(event, Context(20))
    assert type(caught.value).__name__.startswith("Retry."), type(caught.value)
    (record,) = store.records.values()
    assert (record.status, record.error.error) == ("failed", "RateLimited")
    assert "output" in handler(event, Context(20)) and len(outside.asked) == 2
    assert outside.asked[0] == outside.asked[1]
