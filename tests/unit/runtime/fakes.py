"""Ports in memory: as fast as a dictionary, and as strict as the real ones (the same tests run on both)."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from aslant import keys
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.records import Failure, StepRecord
from aslant.ports import StepKey


class MemorySteps:
    """Step records in a dictionary. `calls` are the names of the requests."""

    def __init__(self) -> None:
        self.records: dict[StepKey, StepRecord] = {}
        self.workflows: dict[StepKey, str] = {}
        self.least: dict[StepKey, int] = {}  # runs that records were set aside for
        self.calls: list[str] = []
        self._counts: dict[tuple[StepKey, int], int] = {}
        self._lock = threading.Lock()

    def begin(
        self, key: StepKey, *, type: str, run: int, owner: str, now: int, lease_until: int, workflow: str = "",
        began: int | None = None,
    ) -> tuple[bool, StepRecord]:
        with self._lock:
            self.calls.append("begin")
            before = self.records.get(key)
            if self.least.get(key, 0) > run:
                return False, before or StepRecord(key.step, key.iteration, "skipped", run=self.least[key])
            if before is not None:
                if before.status == "running" and before.owner == owner:
                    return True, before
                over = before.status in ("running", "failed") and (before.lease_until or 0) < now
                free = before.run <= run and not before.settled and (before.status == "skipped" or over)
                if not free:
                    return False, copy.deepcopy(before)
            began = now if began is None else min(began, now)
            counted = self._counts[key, run] = self._counts.get((key, run), 0) + 1
            self.workflows[key] = workflow
            base = before or StepRecord(key.step, key.iteration, "running", started_at=began)
            self.records[key] = replace(
                base, status="running", type=type, run=run, owner=owner, lease_until=lease_until, begun_at=began,
                attempts=counted, total_attempts=base.total_attempts + 1, error=None, finished_at=None, native=False,
            )
            return True, self.records[key]

    def finish(self, key: StepKey, began: StepRecord, *, now: int, output: Any, usage: Mapping[str, float]) -> StepRecord:
        with self._lock:
            self.calls.append("finish")
            here = self.records.get(key)
            if here is None or here.started_at != began.started_at:
                raise ConflictError("set aside")
            if here.status == "completed" or here.settled:
                return copy.deepcopy(here)
            self.records[key] = replace(
                here, status="completed", finished_at=now, owner=began.owner, lease_until=None, error=None,
                output=copy.deepcopy(output), usage=dict(usage),
            )
            return copy.deepcopy(self.records[key])

    def fail(self, key: StepKey, began: StepRecord, *, now: int, failure: Failure, usage: Mapping[str, float]) -> None:
        with self._lock:
            self.calls.append("fail")
            here = self.records.get(key)
            if here is not None and here.started_at == began.started_at and here.status == "running" \
                    and here.owner == began.owner:
                self.records[key] = replace(
                    here, status="failed", finished_at=now, lease_until=None, error=failure, usage=dict(usage)
                )

    def forget(self, key: StepKey, run: int = 0) -> None:
        """What setting a record aside for a run leaves."""
        with self._lock:
            self.records.pop(key, None)
            self.least[key] = run
            for counted in [each for each in self._counts if each[0] == key]:
                del self._counts[counted]

    def settle(self, key: StepKey) -> None:
        with self._lock:
            self.records[key] = replace(self.records[key], settled=True)

    def only(self) -> StepRecord:
        """The one record that there is."""
        (record,) = self.records.values()
        return record


class ForgetfulSteps(MemorySteps):
    """Records that are gone once the step has ended, so that a test may call the same step again."""

    def finish(self, key: StepKey, began: StepRecord, *, now: int, output: Any, usage: Mapping[str, float]) -> StepRecord:
        record = super().finish(key, began, now=now, output=output, usage=usage)
        self.forget(key)
        return record

    def fail(self, key: StepKey, began: StepRecord, *, now: int, failure: Failure, usage: Mapping[str, float]) -> None:
        self.forget(key)


class MemoryArtifacts:
    """Large values in a dictionary."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, tenant: str, execution: str, name: str, data: bytes) -> str:
        key = keys.artifact(tenant, execution, name)
        self.objects[key] = data
        return key

    def get(self, tenant: str, key: str, limit: int | None = None) -> bytes:
        if not key.startswith(f"{tenant}/") or key not in self.objects:
            raise NotFoundError("there is no such artifact")
        return self.objects[key]


def one_write_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes with a condition are atomic in moto's DynamoDB, also between threads."""
    from moto.dynamodb.responses import DynamoHandler

    lock, original = threading.RLock(), DynamoHandler.call_action

    def call_action(self: Any) -> Any:
        with lock:
            return original(self)

    monkeypatch.setattr(DynamoHandler, "call_action", call_action)
