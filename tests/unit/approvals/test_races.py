"""Everything that can end a request at the same moment, just before and after its time is over."""

from __future__ import annotations

import random
import threading
import time as real
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aslant.approvals.service import Approvals
from aslant.configs.approval import ApprovalConfig
from aslant.errors import ApprovalClosed
from tests.unit.approvals.conftest import NOW, REF, Machine, Sealed, Time, Timers, person

ROUNDS = 150
LIMIT = 100  # seconds


class Store:
    """Requests in memory, changed under their revision as the table does it; every call takes a moment, or none."""

    def __init__(self, chance: random.Random) -> None:
        self.items: dict[str, dict[str, Any]] = {}
        self.lock, self.chance = threading.Lock(), chance

    def _moment(self) -> None:
        real.sleep(self.chance.choice((0, 0, 0.0002, 0.0005)))

    def create(self, item: Mapping[str, Any]) -> dict[str, Any] | None:
        with self.lock:
            found = self.items.setdefault(item["approval_id"], {**item, "revision": 1})
            return None if found["revision"] == 1 else dict(found)

    def read(self, tenant: str, approval_id: str) -> dict[str, Any] | None:
        self._moment()
        with self.lock:
            return dict(self.items[approval_id])

    def change(self, item: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any] | None:
        self._moment()
        with self.lock:
            found = self.items[item["approval_id"]]
            if found["revision"] != item.get("revision", 1):
                return None
            found |= {**changes, "revision": found["revision"] + 1}
            return dict(found)

    def of_execution(self, tenant: str, execution: str) -> list[dict[str, Any]]:
        with self.lock:
            return [dict(item) for item in self.items.values() if item["execution"] == execution]

    def waiting(self, tenant: str, after: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
        raise AssertionError("nobody lists anything here")


class Clock:
    """Shows the time just before the end `reads` times, and the end from then on."""

    def __init__(self, reads: int) -> None:
        self.left = reads

    def __call__(self) -> float:
        self.left -= 1
        return self.now

    @property
    def now(self) -> float:
        return NOW + LIMIT - 0.1 if self.left >= 0 else NOW + LIMIT


class Waiting(Machine):
    """A machine that takes one answer, and none once its time is over."""

    def __init__(self, clock: Clock | Time) -> None:
        super().__init__()
        self.clock, self.lock = clock, threading.Lock()

    def answer(self, *call: Any) -> None:
        with self.lock:
            if self.clock.now >= NOW + LIMIT or self.calls:
                raise ApprovalClosed("nobody waits")
            self.calls.append(call)


@pytest.mark.parametrize("goes_on", [True, False])
def test_approve_reject_the_timer_and_the_end_of_the_execution_agree_on_one_outcome(goes_on: bool) -> None:
    chance, outcomes = random.Random(7), Counter[str]()
    with ThreadPoolExecutor(4) as pool:
        for _ in range(ROUNDS):
            clock = Clock(1000)
            machine = Waiting(clock)
            approvals = Approvals(Store(chance), machine, Sealed(), Timers(), lambda tenant, execution: goes_on, clock)
            asked = approvals.request(
                ApprovalConfig(timeout=LIMIT), tenant="acme", ref=REF, token="t", workflow="w", requester="", entered=float(NOW)
            )
            outcomes[_raced(approvals, machine, clock, asked.item["approval_id"], goes_on, chance.randint(0, 8), pool)] += 1
    assert min(outcomes[status] for status in ("approved", "rejected", "expired")) > 0, outcomes


def _raced(
    approvals: Approvals, machine: Waiting, clock: Clock, id: str, goes_on: bool, reads: int, pool: ThreadPoolExecutor
) -> str:
    clock.left = reads
    gate = threading.Barrier(4)

    def decide(decision: Any, who: str) -> str:
        gate.wait(10)
        try:
            made = approvals.decide("acme", id, decision, by=person(who))
        except ApprovalClosed as error:
            return str(error)
        return "approved" if made["approved"] else "rejected"

    def wake() -> None:
        gate.wait(10)
        approvals.wake("acme", id, lambda item, kind: None)

    def end() -> None:
        gate.wait(10)
        if not goes_on and (machine.calls or clock.now >= NOW + LIMIT):  # by an answer, or without one
            approvals.cancel("acme", REF.execution)

    said = [pool.submit(decide, "approve", "ann"), pool.submit(decide, "reject", "bob")]
    rest = [pool.submit(wake), pool.submit(end)]
    told = [one.result(20) for one in said]
    assert [one.result(20) for one in rest] == [None, None]
    clock.left = -1
    approvals.wake("acme", id, lambda item, kind: None)  # the timer, for what got lost on the way
    status = str(approvals.read("acme", id)["status"])
    answers = {"success": "approved", "failure": "rejected"}
    assert [answers[call[0]] for call in machine.calls] == ([] if status == "expired" else [status])
    for text in told:  # whoever is told of a success has decided; the others are told what did
        assert text == status or (text not in answers.values() and ("expired" in text or "already" in text)), (text, status)
    with pytest.raises(ApprovalClosed) as late:
        approvals.decide("acme", id, "approve", by=person("eve"))
    assert ("expired" if status == "expired" else f"was {status} by") in str(late.value)
    return status


def test_an_answer_that_the_machine_was_faster_than_is_told_as_late(approvals: Any, ask: Any, time: Time, paused: set[str]) -> None:
    paused.add(REF.execution)  # it goes on, by what is written for nobody answering
    id = ask(timeout=100)
    machine = Waiting(time)
    object.__setattr__(approvals, "callbacks", machine)

    def answer(*call: Any) -> None:
        time.now = NOW + LIMIT  # while the answer is on its way
        Waiting.answer(machine, *call)

    machine.answer = answer  # type: ignore[method-assign]
    time.now = NOW + 99.9
    for _ in range(2):
        with pytest.raises(ApprovalClosed, match="expired at"):
            approvals.decide("acme", id, "approve", by=person("ann"))
    assert approvals.read("acme", id)["status"] == "expired" and approvals.answered("acme", REF.execution) == {}


def test_what_ended_with_its_time_is_not_told_as_cancelled(approvals: Any, ask: Any, time: Time) -> None:
    id = ask(timeout=100)
    time.now = NOW + 99  # the machine's clock is a little ahead
    approvals.cancel("acme", REF.execution)
    with pytest.raises(ApprovalClosed, match="expired at"):
        approvals.decide("acme", id, "approve", by=person("ann"))
    approvals.set_aside("acme", REF.execution, run=2, chosen=lambda step, iteration, at: True)
    with pytest.raises(ApprovalClosed, match="asked anew"):
        approvals.decide("acme", id, "approve", by=person("ann"))
