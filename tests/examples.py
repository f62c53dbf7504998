"""How many random examples the test of a property takes: few in `make test`, TIMES as many in `make fuzz`."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

TIMES = int(os.environ.get("TIMES", "1"))


def few(number: int, **more: Any) -> settings:
    return settings(max_examples=number * TIMES, deadline=None, **more)
