"""Waiting points of branches for each other, which are kept outside of the state machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class GateKey:
    """A waiting point of one run: `machine` is the ARN of the state machine's execution."""

    tenant: str
    execution: str
    machine: str
    gate: str
    iteration: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Came:
    """How many have come to a waiting point, and the token of who waits there."""

    count: int
    token: str | None = None


@dataclass(frozen=True, slots=True)
class Pool:
    """Waiting points of which only so many have their turn at once; `queued` are (priority, name), the next one last."""

    turns: frozenset[str] = frozenset()
    queued: tuple[tuple[float, str], ...] = ()
    over: frozenset[str] = frozenset()


def turned(
    pool: Pool, limit: int, *, asks: tuple[float, str] | None = None, gives: str | None = None
) -> tuple[Pool, tuple[str, ...]]:
    """The pool after one asks for its turn or ends it, and those that are to be told that it is theirs.

    Whoever asks or ends again changes nothing, and what may not have been told is told again. A turn that is over does not
    come again.
    """
    told: set[str] = set()
    if gives is not None:
        if gives in pool.over:
            told |= pool.turns
        pool = replace(pool, turns=pool.turns - {gives}, over=pool.over | {gives})
    if asks is not None and asks[1] not in pool.over:
        if asks[1] in pool.turns:
            told.add(asks[1])
        elif asks[1] not in {name for _, name in pool.queued}:
            # Of equal ones the one that asked first is next.
            pool = replace(pool, queued=tuple(sorted((asks, *pool.queued), key=lambda one: one[0])))
    while len(pool.turns) < limit and pool.queued:
        name = pool.queued[-1][1]
        told.add(name)
        pool = replace(pool, turns=pool.turns | {name}, queued=pool.queued[:-1])
    return pool, tuple(sorted(told))


class Gates(Protocol):
    """Waiting points of branches for each other. `now` is epoch seconds."""

    def signal(self, key: GateKey, *, by: str, values: Mapping[str, Json], now: int) -> Came:
        """Notes that `by` has come; any number of times is once."""

    def wait(self, key: GateKey, *, need: int, token: str, now: int) -> Came:
        """Who is there. Unless all are, the token is kept for whoever comes last, in the place of an earlier one."""

    def values(self, key: GateKey) -> dict[str, Json]:
        """What the signals have brought, by name."""

    def turn(
        self, key: GateKey, *, limit: int, asks: tuple[float, str] | None = None, gives: str | None = None, now: int
    ) -> tuple[str, ...]:
        """`turned` for the pool that `key` names, as one write. Raises RateLimited when others are always faster."""
