from __future__ import annotations

import pytest

from aslant.recording import Recorder
from tests.unit.recording.fakes import T0, FakeMachines, FakeReleases, FakeTimers, MemoryStore
from tests.unit.recording.flow import RELEASE


@pytest.fixture
def store() -> MemoryStore:
    return MemoryStore()


@pytest.fixture
def machines() -> FakeMachines:
    return FakeMachines()


@pytest.fixture
def timers() -> FakeTimers:
    return FakeTimers()


@pytest.fixture
def recorder(store: MemoryStore, machines: FakeMachines, timers: FakeTimers) -> Recorder:
    return Recorder(store, machines, FakeReleases(RELEASE), timers, lambda: T0 + 10_000)
