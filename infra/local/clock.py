"""The clock of the local cloud: real time, or time that runs a number of times faster."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_LONGEST = 30 * 86_400.0  # seconds; longer waits are waited for in turns (threads refuse huge timeouts)


class Clock:
    """Time since the clock was made runs `scale` times as fast as the real one; order is the same.

    Everything that waits inside a state machine asks this clock, so a wait of a minute and a timestamp a minute
    ahead are reached at the same instant. Seconds are those of the state machine unless a name says `real`.
    `not_before`: the time that an earlier clock had come to.
    """

    def __init__(self, scale: float = 1.0, not_before: datetime | None = None) -> None:
        if not 0 < scale <= 1_000_000:
            raise ValueError(f"time scale must be above 0 and at most 1,000,000, not {scale}")
        self.scale = scale
        self._started = max(datetime.now(UTC), not_before or datetime.now(UTC))
        self._started_real = time.monotonic()

    def now(self) -> datetime:
        """The clock's time, with its zone (UTC)."""
        return self._started + timedelta(seconds=(time.monotonic() - self._started_real) * self.scale)

    def timestamp(self) -> str:
        """The clock's time as Step Functions writes it: ISO 8601 in UTC with milliseconds and `Z`."""
        return iso(self.now())

    def millis(self) -> int:
        """Milliseconds since 1970, as JSONata's `$millis()`."""
        return round(self.now().timestamp() * 1000)

    def real(self, seconds: float) -> float:
        """Real seconds that `seconds` of this clock take; never negative, at most thirty days."""
        return min(max(0.0, seconds / self.scale), _LONGEST)

    def sleep(self, seconds: float) -> None:
        """Sleep for `seconds` of this clock."""
        time.sleep(self.real(seconds))


def iso(moment: datetime) -> str:
    """`moment` as ISO 8601 in UTC with milliseconds and `Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
