from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from infra.local.clock import Clock, iso


def test_time_passes_faster():
    clock = Clock(1000)
    before = clock.now()
    time.sleep(0.01)
    assert clock.now() - before >= timedelta(seconds=10)


def test_real_seconds_of_a_wait():
    clock = Clock(60)
    assert clock.real(120) == 2
    assert clock.real(-5) == 0
    assert clock.real(99_999_999 * 60) == 30 * 86_400  # what a thread can wait for at most


def test_at_scale_one_it_is_the_real_time():
    assert abs((Clock().now() - datetime.now(UTC)).total_seconds()) < 1


@pytest.mark.parametrize("scale", [0, -1, float("nan"), 1e9])
def test_scales_that_make_no_sense(scale):
    with pytest.raises(ValueError):
        Clock(scale)


def test_moments_are_written_in_utc_with_milliseconds():
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=timezone(timedelta(hours=2)))
    assert iso(moment) == "2026-01-02T01:04:05.678Z"
