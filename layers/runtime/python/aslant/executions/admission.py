"""Whether another execution may start now: how many a person starts in an hour, and how many go on at once.

What runs is counted in an index that lags by some milliseconds, so that starts in the same moment may exceed a limit by
what starts together. Both counts stop at the limit: they cost the same however many executions are stored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from aslant.errors import RateLimited
from aslant.executions.store import ExecutionStore
from aslant.guards import Rates
from aslant.releases import Release

Priority = Literal["low", "normal", "high"]
PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high")
_HOUR = 3600
_WAIT = 5.0  # seconds until a start that found no place may try again
_SHARES = {"low": 0.5, "normal": 0.9, "high": 1.0}  # of a tenant's places, so that what is urgent finds one
_MACHINES = frozenset({"schedule", "event", "workflow", "webhook"})  # triggers that are nobody's start


@dataclass(frozen=True, slots=True)
class Limits:
    """0 is no limit. Starts of a person and of a whole tenant in an hour, running executions of a tenant."""

    user_starts: int = 0
    tenant_starts: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Admission:
    """`clock` gives epoch seconds. A workflow's own limit is `settings.concurrency` of its release."""

    limits: Limits
    rates: Rates
    store: ExecutionStore
    clock: Callable[[], float]

    def check(self, tenant: str, release: Release, *, user: str, trigger: str, priority: str) -> None:
        """Counts a start. Raises RateLimited with the seconds to wait; then nothing may be started."""
        workflow, own = release["workflow"], release["settings"].get("concurrency", 0)
        if own and self.store.count(tenant, status="running", workflow=workflow, most=own) >= own:
            raise RateLimited(f"{own} executions of {workflow} are running already", retry_after=_WAIT)
        places = math.ceil(self.limits.running * _SHARES.get(priority, 1.0))
        if places and self.store.count(tenant, status="running", workflow=None, most=places) >= places:
            raise RateLimited(f"{places} executions are running already", retry_after=_WAIT)
        if trigger not in _MACHINES:
            self._rate(tenant, f"start:user:{user}", self.limits.user_starts, f"{user} has")
        self._rate(tenant, "start", self.limits.tenant_starts, "this tenant has")

    def _rate(self, tenant: str, what: str, limit: int, who: str) -> None:
        now = self.clock()
        window = math.floor(now / _HOUR)
        if limit and not self.rates.take(tenant, what, window, _HOUR, limit):
            raise RateLimited(
                f"{who} started {limit} executions in this hour; more may be started in the next one",
                retry_after=max(1.0, (window + 1) * _HOUR - now),
            )
