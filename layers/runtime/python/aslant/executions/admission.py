"""Whether another execution may start now: how many a person starts in an hour, and how many go on at once.

A limit of `n` executions that run at once has `n` places in the store. A start takes one that is free by one conditional
write, so that those who come at once never get more than there are. Nobody has to give a place back: it is free when the
execution that took it does not run any more. What runs without a place (resumed, or a child of another) is counted in an
index, which may lag by some milliseconds; for each of those a place less is given.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from aslant.errors import RateLimited
from aslant.executions.store import ExecutionStore
from aslant.guards import Rates
from aslant.releases import Release

Priority = Literal["low", "normal", "high"]
PRIORITIES: tuple[Priority, ...] = ("low", "normal", "high")
_HOUR = 3600
_WAIT = 5.0  # seconds until a start that found no place may try again
_GRACE = 60.0  # seconds after which a place is free whose execution was never stored
_TRIES = 20  # times that a place is looked for again because somebody else took it
_SHARES = {"low": 0.5, "normal": 0.9, "high": 1.0}  # of a tenant's places, so that what is urgent finds one
_MACHINES = frozenset({"schedule", "event", "workflow", "webhook"})  # triggers that are nobody's start


@dataclass(frozen=True, slots=True)
class Place:
    """The execution that has taken a place, and when (epoch seconds)."""

    execution: str
    at: int


class Places(Protocol):
    """The places of limits, by their numbers from 0."""

    def taken(self, tenant: str, limit: str) -> Mapping[int, Place]:
        """Those that somebody has taken ever, by whom last."""

    def take(self, tenant: str, limit: str, number: int, before: Place | None, after: Place) -> bool:
        """Whether a place is now `after`'s; it is not when `before` is not the one who took it last."""


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
    places: Places
    store: ExecutionStore
    clock: Callable[[], float]

    def check(self, tenant: str, release: Release, *, id: str, user: str, trigger: str, priority: str) -> None:
        """Counts the start of an execution. Raises RateLimited with the seconds to wait; then it may not be started."""
        workflow, own = release["workflow"], release["settings"].get("concurrency", 0)
        places = math.ceil(self.limits.running * _SHARES.get(priority, 1.0))
        asked: list[tuple[str | None, int, str]] = []  # of which workflow, how many places, and what is said when there is none
        if own:
            asked.append((workflow, own, f"{own} executions of {workflow} are running already"))
        if places:
            asked.append((None, places, f"{places} executions are running already"))
        running = [(*one, self.store.running(tenant, workflow=one[0], most=one[1])) for one in asked]
        for _, most, full, ids in running:
            if len(ids) >= most:
                raise RateLimited(full, retry_after=_WAIT)
        if trigger not in _MACHINES:
            self._rate(tenant, f"start:user:{user}", self.limits.user_starts, f"{user} has")
        self._rate(tenant, "start", self.limits.tenant_starts, "this tenant has")
        for of, most, full, ids in running:
            if not self._take(tenant, "all" if of is None else f"workflow:{of}", most, frozenset(ids), id):
                raise RateLimited(full, retry_after=_WAIT)

    def _take(self, tenant: str, limit: str, most: int, running: frozenset[str], id: str) -> bool:
        for _ in range(_TRIES):
            taken = self.places.taken(tenant, limit)
            if any(one.execution == id for one in taken.values()):
                return True  # the same start again
            others = len(running - {one.execution for one in taken.values()})
            end = most
            if others or any(number >= most for number in taken):
                held = [number for number, one in taken.items() if self._holds(tenant, one, running)]
                # The highest one for which no more than there are can be held: those below it, and those that are beyond.
                end = max((
                    end for end in range(most - others + 1) if end + sum(number >= end for number in held) <= most - others
                ), default=0)  # fmt: skip
            for number in random.sample(range(end), end):
                before = taken.get(number)
                if before is not None and self._holds(tenant, before, running):
                    continue
                if self.places.take(tenant, limit, number, before, Place(id, int(self.clock()))):
                    return True
                break  # somebody else was faster: others may be taken by now as well
            else:
                return False
        return False

    def _holds(self, tenant: str, place: Place, running: frozenset[str]) -> bool:
        if place.execution in running:
            return True
        found = self.store.read(tenant, place.execution)
        return self.clock() - place.at < _GRACE if found is None else found.status == "running"

    def _rate(self, tenant: str, what: str, limit: int, who: str) -> None:
        now = self.clock()
        window = math.floor(now / _HOUR)
        if limit and not self.rates.take(tenant, what, window, _HOUR, limit):
            raise RateLimited(
                f"{who} started {limit} executions in this hour; more may be started in the next one",
                retry_after=max(1.0, (window + 1) * _HOUR - now),
            )
