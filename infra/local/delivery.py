"""Asynchronous invocations: what EventBridge, the scheduler and `InvocationType: Event` hand to functions.

Each is tried three times, as Lambda does it; what fails every time is kept as a dead letter. Order is not kept.
"""

from __future__ import annotations

import heapq
import json
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from infra.local.functions import ACCOUNT, Functions, UnknownFunction
from infra.local.runtime import Activity, join

Event = dict[str, Any]  # an event of EventBridge as its targets get it

ATTEMPTS = 3
_PAUSES = (0.2, 1.0)  # real seconds before the second and third attempt; Lambda waits one and two minutes
_WORKERS = 4
_NOTICE_LIMIT = 248 * 1024  # bytes of input and output in a notice


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An invocation that failed each time; `error` is the payload of the last one."""

    function: str
    payload: str
    error: str


@dataclass(order=True, slots=True)
class _Job:
    due: float  # time.monotonic()
    number: int
    function: str = field(compare=False)
    payload: str = field(compare=False)
    row: int = field(compare=False)
    attempt: int = field(compare=False, default=1)


class Delivery:
    """Queue and threads of asynchronous invocations. `acknowledge` is told the rows (of the journal) of what is over."""

    def __init__(self, functions: Functions, activity: Activity, acknowledge: Callable[[list[int]], None]) -> None:
        self.dead: list[DeadLetter] = []
        self._functions, self._activity, self._acknowledge = functions, activity, acknowledge
        self._jobs: list[_Job] = []
        self._unclaimed: dict[str, list[_Job]] = {}  # for functions that are not registered (yet)
        self._changed = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._number = 0
        self._closed = False

    def invoke(self, function: str, payload: str, *, row: int = 0) -> None:
        """Invokes a function (name or ARN) soon, with a JSON text; returns at once."""
        with self._changed:
            self._number += 1
            self._activity.add()
            self._put(_Job(time.monotonic(), self._number, function, payload, row))

    def registered(self, name: str) -> None:
        """A function is there now: what came for it earlier is delivered."""
        with self._changed:
            for job in self._unclaimed.pop(name, ()):
                self._activity.add()
                self._put(job)

    def close(self, until: float) -> None:
        """Ends all threads after the invocations that run, waiting until `until` (time.monotonic())."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        join(self._threads, until)

    def _put(self, job: _Job) -> None:
        heapq.heappush(self._jobs, job)
        if self._closed:
            return
        if not self._idle and len(self._threads) < _WORKERS:
            thread = threading.Thread(target=self._run, daemon=True, name="aslant-delivery")
            self._threads.append(thread)
            thread.start()
        self._changed.notify()

    def _run(self) -> None:
        while (job := self._take()) is not None:
            try:
                result = self._functions.invoke(job.function, job.payload)
            except UnknownFunction:
                self._set_aside(job)
                continue
            if result.error and job.attempt < ATTEMPTS:
                with self._changed:
                    job.due, job.attempt = time.monotonic() + _PAUSES[job.attempt - 1], job.attempt + 1
                    self._put(job)
                continue
            if result.error:
                self.dead.append(DeadLetter(job.function, job.payload, result.payload))
            self._acknowledge([job.row])
            self._activity.done()

    def _set_aside(self, job: _Job) -> None:
        with self._changed:
            try:
                self._functions.find(job.function)
            except UnknownFunction:
                self._unclaimed.setdefault(_name(job.function), []).append(job)
                self._activity.done()
            else:  # it was registered in this very moment
                self._put(job)

    def _take(self) -> _Job | None:
        with self._changed:
            self._idle += 1
            try:
                while not self._closed:
                    now = time.monotonic()
                    if self._jobs and self._jobs[0].due <= now:
                        return heapq.heappop(self._jobs)
                    self._changed.wait(self._jobs[0].due - now if self._jobs else None)
                return None
            finally:
                self._idle -= 1


def _name(function: str) -> str:
    parts = function.split(":")
    return parts[parts.index("function") + 1] if "function" in parts[:-1] else parts[0]


def event(source: str, detail_type: str, detail: Any, *, region: str, at: str, resources: list[str] | None = None) -> Event:
    """An event as EventBridge makes it. `at` is ISO 8601 in UTC."""
    return {
        "version": "0", "id": str(uuid.uuid4()), "detail-type": detail_type, "source": source, "account": ACCOUNT,
        "time": at[:19] + "Z", "region": region, "resources": resources or [], "detail": detail,
    }


def status_change(execution: Any, status: str, *, region: str, at: str) -> Event:
    """The notice of Step Functions that an execution (moto's) has a status now.

    Shape and limit of input and output: docs.aws.amazon.com/step-functions/latest/dg/eventbridge-integration.html.
    """
    given: str | None = json.dumps(execution.input_data)
    output = json.dumps(execution.output) if status == "SUCCEEDED" else None
    sizes = [len((text or "").encode("utf-8", "surrogatepass")) for text in (given, output)]
    keep_output, keep_input = sizes[1] <= _NOTICE_LIMIT, sum(sizes) <= _NOTICE_LIMIT
    detail = {
        "executionArn": execution.exec_arn, "stateMachineArn": execution.state_machine.arn, "name": execution.name,
        "status": status, "startDate": _millis(execution.start_date),
        "stopDate": None if status == "RUNNING" else _millis(execution.stop_date),
        "input": given if keep_input else None, "output": output if keep_output else None,
        "inputDetails": {"included": keep_input},
        "outputDetails": None if output is None else {"included": keep_output},
        "stateMachineVersionArn": None, "stateMachineAliasArn": None, "redriveCount": 0, "redriveDate": None,
        "redriveStatus": "NOT_REDRIVABLE", "redriveStatusReason": None,
        "error": None if status == "RUNNING" else execution.error, "cause": None if status == "RUNNING" else execution.cause,
    }
    return event("aws.states", "Step Functions Execution Status Change", detail, region=region, at=at,
                 resources=[execution.exec_arn])


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)
