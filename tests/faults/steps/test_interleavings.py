"""Copies of a step in any order of their calls, crashes and lease ends, on a clock of their own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from aslant.errors import StepInProgress
from aslant.executions.records import Failure, StepRecord
from aslant.leases import Clock, Lease
from tests.examples import few
from tests.faults.steps.support import KEY
from tests.unit.runtime.fakes import MemorySteps

LIMIT = 10.0        # seconds of an attempt
LOCKED = 12.0       # seconds after which a step is free again, whatever became of who had it
STEP = 1_000_000    # microseconds


class Waits(BaseException):
    """The copy would sleep here: it is asked again later."""


@dataclass
class Copy:
    name: str
    lease: Lease
    began: StepRecord | None = None
    result: str | None = None


@dataclass
class World:
    store: MemorySteps = field(default_factory=MemorySteps)
    now: int = 10**9
    copies: dict[int, Copy] = field(default_factory=dict)
    effects: list[tuple[str, int]] = field(default_factory=list)   # which copy, in which attempt of all
    completions: list[Any] = field(default_factory=list)
    born: int = 0
    begins: list[tuple[int, bool]] = field(default_factory=list)

    def copy(self, place: int) -> Copy:
        if place not in self.copies:
            self.born += 1
            name = f"copy {self.born}"

            def sleep(seconds: float) -> None:
                raise Waits

            lease = Lease(self.store, KEY, "test", 1, "w", LIMIT, LIMIT + 5, clock=Clock(lambda: self.now, sleep), owner=name)
            self.copies[place] = Copy(name, lease)
        return self.copies[place]

    def act(self, place: int, what: str) -> None:
        copy = self.copy(place)
        if what == "crash":
            del self.copies[place]
        elif what == "step" and copy.began is None:
            self._begin(place, copy)
        elif what == "step" and copy.result is None:
            copy.result = f"{copy.name}'s"
            self.effects.append((copy.name, copy.began.total_attempts))
        elif what == "step":
            self._finish(place, copy)
        elif what == "fail" and copy.began is not None and copy.result is None:
            copy.lease.fail(copy.began, Failure("X"), {})
            del self.copies[place]

    def _begin(self, place: int, copy: Copy) -> None:
        before = self.store.records.get(KEY)
        try:
            record = copy.lease.begin()
        except Waits:
            assert before is not None and before.status == "running"
            assert self.now <= before.begun_at + LOCKED * 1e6, "locked longer than its lease"
            return
        except StepInProgress:
            assert before is not None and before.status == "running"
            del self.copies[place]
            return
        if record.status == "completed":
            assert record.output == self.completions[0]
            del self.copies[place]
            return
        assert before is None or before.status == "failed" or self.now > (before.lease_until or 0)
        copy.began = record

    def _finish(self, place: int, copy: Copy) -> None:
        before = self.store.records[KEY]
        record = copy.lease.finish(copy.began, copy.result, {})
        if before.status != "completed":
            self.completions.append(copy.result)
        assert record.status == "completed" and record.output == self.completions[0]
        del self.copies[place]


MOVES = st.one_of(
    st.tuples(st.integers(0, 2), st.sampled_from(["step", "step", "step", "step", "crash", "fail"])),
    st.tuples(st.just(-1), st.sampled_from(["1", "3", "13"])),
)


@few(100)
@given(st.lists(MOVES, max_size=40))
def test_any_interleaving(moves: list[tuple[int, str]]) -> None:
    world = World()
    for place, what in moves:
        if place < 0:
            world.now += int(what) * STEP
        else:
            world.now += 1
            world.act(place, what)
        assert len(world.completions) <= 1
        record = world.store.records.get(KEY)
        if world.completions:
            assert record is not None and record.status == "completed" and record.output == world.completions[0]
    leases = [attempt for _, attempt in world.effects]
    assert len(set(leases)) == len(leases), "two side effects under one lease"
    # Whoever comes when nobody is left gets it done, at the latest when the last lease is over.
    world.copies.clear()
    world.now += round((LOCKED + 1) * STEP)
    for _ in range(3):
        if 0 in world.copies or _ == 0:
            world.act(0, "step")
    assert world.store.records[KEY].status == "completed" and len(world.completions) == 1
