"""EventBridge Scheduler: schedules that are due call their target, at the clock of the cloud."""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aslant.errors import ValidationError
from aslant.schedules import moments, read
from infra.local.clock import Clock
from infra.local.functions import ACCOUNT


def next_time(expression: str, zone: str, after: datetime) -> datetime | None:
    """When a schedule is due next, or None for never. `at(...)` is that moment, also when it has passed."""
    try:
        schedule = read(expression, zone or "UTC")
    except ValidationError:
        return None
    if schedule.kind == "at":
        return next(moments(schedule, datetime.min.replace(tzinfo=UTC)), None)
    return next(moments(schedule, after), None)


def last_time(expression: str, zone: str, after: float, until: datetime) -> datetime | None:
    """The last moment of a schedule between two (`after` is epoch seconds), or None."""
    found, moment = None, next_time(expression, zone, datetime.fromtimestamp(after, UTC))
    while moment is not None and moment <= until:
        found, moment = moment, next_time(expression, zone, moment)
    return found


@dataclass(order=True, slots=True)
class _Due:
    at: datetime
    number: int
    schedule: Any = field(compare=False)  # moto's Schedule
    expression: str = field(compare=False)


class Schedules:
    """Waits for the next schedule and fires it: `fire` is called with moto's Schedule and the moment it was due.

    Of the moments that passed while nothing ran here the last one is fired when the cloud comes back, if it is no older than
    the schedule's retry policy lets a call become. Windows of time are not used: a call comes at once.
    """

    def __init__(self, clock: Clock, region: str, fire: Callable[[Any, datetime], None]) -> None:
        self._clock, self._region, self._fire = clock, region, fire
        self._due: list[_Due] = []
        self._number = 0
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def changed(self, schedule: Any) -> None:
        """A schedule is new or was changed."""
        self._wait_for(schedule, self._clock.now())

    def returned(self, schedule: Any) -> None:
        """A schedule of an earlier life is back."""
        now = self._clock.now()
        age = (schedule.target.get("RetryPolicy") or {}).get("MaximumEventAgeInSeconds", 86_400)
        after = max(float(getattr(schedule, "since", 0.0)), now.timestamp() - age)
        missed = None
        if schedule.state == "ENABLED" and not schedule.schedule_expression.startswith("at("):
            missed = last_time(schedule.schedule_expression, schedule.schedule_expression_timezone, after, now)
        if missed is not None:
            self._fire(schedule, missed)
        self.changed(schedule)

    def _wait_for(self, schedule: Any, after: datetime) -> None:
        at = next_time(schedule.schedule_expression, schedule.schedule_expression_timezone, after)
        if at is None:
            return
        with self._changed:
            self._number += 1
            schedule.armed = self._number  # of several entries for one schedule the latest counts
            heapq.heappush(self._due, _Due(at, self._number, schedule, schedule.schedule_expression))
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, daemon=True, name="aslant-schedules")
                self._thread.start()
            self._changed.notify_all()

    def close(self, until: float) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                wait = self._clock.real((self._due[0].at - self._clock.now()).total_seconds()) if self._due else None
                if wait is None or wait > 0:
                    self._changed.wait(wait)
                    continue
                entry = heapq.heappop(self._due)
            if self._counts(entry):
                self._fire(entry.schedule, entry.at)
                if not entry.expression.startswith("at("):
                    self._wait_for(entry.schedule, entry.at)

    def _counts(self, entry: _Due) -> bool:
        """Whether the schedule is still there as it was, and has not been fired at this moment."""
        schedule = entry.schedule
        group = _groups(self._region).get(schedule.group_name)
        if group is None or group.schedules.get(schedule.name) is not schedule or schedule.state != "ENABLED":
            return False
        return bool(schedule.armed == entry.number and getattr(schedule, "fired", "") != entry.expression)


def _groups(region: str) -> dict[str, Any]:
    from moto.scheduler.models import scheduler_backends

    groups: dict[str, Any] = scheduler_backends[ACCOUNT][region].schedule_groups
    return groups
