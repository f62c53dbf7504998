"""A bus and stores that fail, and a stream that sends batches again until they are taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from aslant import keys
from aslant.adapters.dynamo_steps import item_of, record_of
from aslant.adapters.execution_items import columns, key_of
from aslant.errors import NotFoundError, ServerError
from aslant.events import Event
from aslant.executions.records import Checkpoint, Execution, Failure, StepRecord
from functions.publish_events.logic import Publisher
from tests.mortal import Killed

STARTED = 1_790_000_000_000


class Bus:
    """`faults` gives, for each request, how it fails: None, "all", "before", "after" (killed), or the entries that fail."""

    def __init__(self, faults: Iterable[Any] = ()) -> None:
        self.taken: list[Event] = []
        self.requests: list[list[Event]] = []
        self._faults = iter(faults)

    def publish(self, events: Sequence[Event]) -> list[str]:
        assert 0 < len(events) <= 10
        self.requests.append(list(events))
        fault = next(self._faults, None)
        if fault == "before":
            raise Killed
        if fault == "all":
            raise ServerError("the bus is down")
        failed = set(fault) if isinstance(fault, tuple) else set()
        answers = ["ThrottlingException: slow down" if index in failed else "" for index in range(len(events))]
        self.taken += [event for event, answer in zip(events, answers, strict=True) if not answer]
        if fault == "after":
            raise Killed
        return answers


class Store:
    """What the publisher needs of the executions; `faults` as above, for each checkpoint that is written."""

    def __init__(self, policy: dict[str, Any] | None = None, faults: Iterable[Any] = ()) -> None:
        self.records: dict[tuple[str, str], dict[str, StepRecord]] = {}
        self.made: dict[tuple[str, str], dict[int, Checkpoint]] = {}
        self.policy = policy
        self.known = True
        self._faults = iter(faults)

    def read(self, tenant: str, id: str) -> Execution | None:
        if not self.known:
            return None
        return Execution(tenant, id, "orders", "1.0.0", "running", 1, 1, "m", "a", "ada", STARTED, STARTED)

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Any:
        if workflow != "orders":
            raise NotFoundError(workflow)
        return {"settings": {} if self.policy is None else {"checkpoint": self.policy}}

    def steps(self, tenant: str, id: str) -> tuple[StepRecord, ...]:
        return tuple(self.records.get((tenant, id), {}).values())

    def last_checkpoint(self, tenant: str, id: str) -> Checkpoint | None:
        made = self.made.get((tenant, id))
        return made[max(made)] if made else None

    def checkpoints(self, tenant: str, id: str) -> tuple[Checkpoint, ...]:
        return tuple(self.made.get((tenant, id), {}).values())

    def put_checkpoint(self, tenant: str, id: str, checkpoint: Checkpoint) -> bool:
        fault = next(self._faults, None)
        if fault == "before":
            raise Killed
        if fault == "all":
            raise ServerError("the table is busy")
        made = self.made.setdefault((tenant, id), {})
        fresh = checkpoint.number not in made
        made.setdefault(checkpoint.number, checkpoint)
        if fault == "after":
            raise Killed
        return fresh


class Life:
    """Executions that live: each change is a record of the stream, and what the store reads."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._numbers = itertools.count(1)
        self._time = itertools.count(STARTED * 1000, 1000)
        self._items: dict[tuple[str, str], Any] = {}

    def _record(self, item: dict[str, Any]) -> dict[str, Any]:
        place = item["pk"]["S"], item["sk"]["S"]
        before = self._items.get(place)
        self._items[place] = item
        return {"dynamodb": {
            "Keys": {name: item[name] for name in ("pk", "sk")}, "SequenceNumber": str(10**20 + next(self._numbers)),
            "ApproximateCreationDateTime": STARTED // 1000, "NewImage": item, **({"OldImage": before} if before else {}),
        }}  # fmt: skip

    def started(self, execution: str) -> dict[str, Any]:
        record = Execution("acme", execution, "orders", "1.0.0", "running", 1, 1, "m", "a", "ada", STARTED, STARTED)
        return self._record({**columns(record), **key_of(keys.execution("acme", execution))})

    def step(self, execution: str, step: str, status: str, type: str = "http") -> dict[str, Any]:
        mine = self.store.records.setdefault(("acme", execution), {})
        now = next(self._time)
        before = mine.get(step)
        if status == "running":
            attempts = before.attempts + 1 if before else 1
            record = StepRecord(step, (), "running", type, 1, attempts, attempts, now, now)
        else:
            assert before is not None
            error = Failure("NetworkError", "no route") if status == "failed" else None
            record = replace(before, status=status, finished_at=now, error=error, output={"of": step})  # type: ignore[arg-type]
        item = item_of("acme", execution, "orders", record, now=now)
        mine[step] = record_of(item)
        return self._record(item)

    def whole(self, execution: str, steps: int = 3) -> list[dict[str, Any]]:
        """The records of an execution of some steps, the first of which fails once."""
        records = [self.started(execution), self.step(execution, "s0", "running"), self.step(execution, "s0", "failed")]
        for index in range(steps):
            records += [self.step(execution, f"s{index}", "running"), self.step(execution, f"s{index}", "completed")]
        return records


def deliver(records: Sequence[dict[str, Any]], bus: Bus, store: Store, *, batch: int = 100, lives: int = 200) -> int:
    """Sends records as Lambda's mapping does, until all are taken; gives how many calls that took."""
    position = 0
    for calls in range(1, lives + 1):
        part = list(records[position : position + batch])
        publisher = Publisher(bus, store, store, lambda: 60.0, lambda seconds: None)  # type: ignore[arg-type]
        try:
            failed = publisher.work(part)
        except Killed:
            continue
        numbers = [record["dynamodb"]["SequenceNumber"] for record in part]
        position += len(part) if failed is None else numbers.index(failed)
        if position == len(records):
            return calls
    raise AssertionError("the shard stands still")


@pytest.fixture
def kit() -> Any:
    """The names above, for tests."""

    class Kit:
        Bus: Callable[..., Any]

    found: Any = Kit()
    found.Bus, found.Store, found.Life, found.Killed, found.deliver = Bus, Store, Life, Killed, staticmethod(deliver)
    return found
