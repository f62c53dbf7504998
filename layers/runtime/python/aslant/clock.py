"""The time that executions go by. On AWS it is the real one; the local cloud's may run faster.

Limits of work that really happens (leases, deadlines of an attempt) go by `time` instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_source: Callable[[], float] = time.time


def now() -> float:
    """Epoch seconds."""
    return _source()


def use(source: Callable[[], float] = time.time) -> None:
    """From now on the time comes from `source`."""
    global _source
    _source = source
