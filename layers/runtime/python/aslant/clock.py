"""The time that executions go by. On AWS it is the real one; the local cloud's may run faster.

How long work may really take (the deadline of an attempt) goes by `time` instead; `pace` converts.
"""

from __future__ import annotations

import time
from collections.abc import Callable

_source: Callable[[], float] = time.time
_pace = 1.0


def now() -> float:
    """Epoch seconds."""
    return _source()


def pace() -> float:
    """How many of these seconds pass in a real one."""
    return _pace


def use(source: Callable[[], float] = time.time, pace: float = 1.0) -> None:
    """From now on the time comes from `source`, where `pace` seconds pass in a real one."""
    global _source, _pace
    _source, _pace = source, pace
