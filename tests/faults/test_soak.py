"""A small soak: everything goes wrong at once, more often than in `python -m tests.bench.soak`."""

from __future__ import annotations

from tests.bench.soak import Chances, soak


def test_nothing_is_lost_or_repeated_while_everything_goes_wrong() -> None:
    chances = Chances(kill=0.06, throttle=0.02, again=0.5, late=0.5, publisher=0.1, pause=1)
    report = soak(2, 11, chances=chances, at_once=2, limit=150)
    assert report.problems == ()
    assert report.repeated == report.explained
    assert sum(report.faults.values()) > 8, "hardly anything went wrong"
