"""How long an execution worked, and when it rested."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from aslant.executions.records import Execution, Transition
from aslant.executions.states import ACTIVE


def times(execution: Execution, transitions: Iterable[Transition], now: int) -> tuple[int, int]:
    """How long it has worked, and how long it was paused (milliseconds)."""
    spent: Counter[str] = Counter()
    since, before = execution.started_at, "running"
    for one in transitions:
        spent[before] += max(0, one.at - since)
        since, before = one.at, one.after
    spent[before] += max(0, now - since)
    return sum(spent[status] for status in ACTIVE), spent["paused"]


def rests_of(transitions: Iterable[Transition], now: int) -> tuple[tuple[int, int], ...]:
    """Since when and until when an execution did not run, in epoch microseconds."""
    moments = [(one.at * 1000, one.after in ACTIVE) for one in transitions]
    return tuple(
        (since, until) for (since, active), (until, _) in zip(moments, [*moments[1:], (now, False)], strict=True)
        if not active and until > since
    )


def idle(rests: Iterable[tuple[int, int]], busy: Iterable[tuple[int, int]], began: int, ended: int) -> int:
    """How much of the time from `began` to `ended` is in `rests` and in none of the times in `busy`."""
    total, ordered = 0, sorted(busy)
    for since, until in rests:
        here, until = max(since, began), min(until, ended)
        for start, end in ordered:
            if here < until:
                total += max(0, min(start, until) - here)
                here = max(here, end)
        total += max(0, until - here)
    return total
