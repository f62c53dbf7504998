"""Unit tests of handlers keep their step records in memory; those of adapters have AWS by moto."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from aslant import bootstrap
from aslant.claims import Claims
from tests.unit.moto_aws import moto_aws
from tests.unit.runtime.fakes import MemoryArtifacts, MemorySteps, one_write_at_a_time


@pytest.fixture(autouse=True)
def step_records(monkeypatch: pytest.MonkeyPatch) -> MemorySteps:
    """The step records of the test; handlers find them through `bootstrap.steps`."""
    store = MemorySteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: store)
    return store


@pytest.fixture(autouse=True)
def stored(monkeypatch: pytest.MonkeyPatch) -> MemoryArtifacts:
    """The large values of the test; handlers find them through `bootstrap.claims`."""
    store = MemoryArtifacts()
    monkeypatch.setattr(bootstrap, "claims", lambda settings, tenant: Claims(store, settings.bucket, tenant))
    return store


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS by moto, whose writes are atomic also between threads."""
    one_write_at_a_time(monkeypatch)
    with moto_aws(monkeypatch):
        yield
