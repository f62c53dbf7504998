"""A sample of `python -m tests.fuzz.executions`: random workflows under random control, while processes die."""

from __future__ import annotations

import pytest

from tests.fuzz.executions import round_


@pytest.mark.parametrize("seed", [8])
def test_whatever_is_done_to_executions_they_end_right(seed: int) -> None:
    world, _ = round_(seed, flows=1, each=2, chaos=2, limit=120)
    assert world.problems == []
    assert sum(world.effects.values()) > 3
    assert sum(world.counted.values()) > 10, "hardly anything happened"
