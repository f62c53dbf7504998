"""Unit tests of handlers keep their step records in memory."""

from __future__ import annotations

import pytest

from aslant import bootstrap
from tests.unit.runtime.fakes import MemorySteps


@pytest.fixture(autouse=True)
def step_records(monkeypatch: pytest.MonkeyPatch) -> MemorySteps:
    """The step records of the test; handlers find them through `bootstrap.steps`."""
    store = MemorySteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: store)
    return store
