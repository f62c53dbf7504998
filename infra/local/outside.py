"""What happens around state machines: streams, events, timers, and the journal that all of it is written to first."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from datetime import datetime
from typing import Any

from infra.local.delivery import Delivery, event
from infra.local.functions import ACCOUNT
from infra.local.journal import Journal
from infra.local.queues import Queues
from infra.local.runtime import Activity, Runtime, Write
from infra.local.schedules import Schedules
from infra.local.streams import Queued, Record, Streams, record

BATCH, SHARDS = 100, 4


class Outside:
    """Connects a runtime with its streams, deliveries and schedules, and with a journal where there is one."""

    def __init__(self, runtime: Runtime, journal: Journal | None) -> None:
        self.activity = Activity()
        self.streams = Streams(runtime.functions, self.activity, self._acknowledge)
        self.delivery = Delivery(runtime.functions, self.activity, self._acknowledge)
        self.schedules = Schedules(runtime.clock, runtime.region, self._fire)
        self.queues = Queues(runtime, self.activity)
        self.lost: list[str] = []
        self._runtime, self._journal = runtime, journal
        self._lock = threading.Lock()  # the order of records, and who gets them
        self._number = 0  # of the last record
        self._expected: set[tuple[str, str]] = set()  # table and function that were attached in an earlier life
        self._waiting: dict[tuple[str, str], list[Queued]] = defaultdict(list)

    def start(self) -> None:
        """Brings back what the journal has; from here on everything is written to it."""
        runtime = self._runtime
        runtime.delivery, runtime.queues = self.delivery, self.queues
        if self._journal is None:
            runtime.schedules = self.schedules
            return
        from infra.local.moto_patches.keeping import load

        schedules = load(self._journal, runtime.region)
        self._number = self._journal.number
        self._expected = set(self._journal.consumers())
        for row, target, body in self._journal.queued():
            if target.startswith("stream:"):
                _, table, function = target.split(":", 2)
                self._waiting[table, function].append(Queued(json.loads(body), row))
            else:
                self.delivery.invoke(target, body, row=row)
        self.lost = [name for name, _ in self._journal.kept("running")]
        for name in set(self._journal.unpacked()).difference(self.lost):
            self._journal.pack_history(name)
        runtime.journal, runtime.written, runtime.schedules = self._journal, self._written, self.schedules
        for schedule in schedules:
            self.schedules.returned(schedule)

    def attach(self, table: str, function: str, batch: int, shards: int) -> None:
        with self._lock:
            if not self.streams.attach(table, function, batch=batch, shards=shards):
                return
            if self._journal is not None and (table, function) not in self._expected:
                self._journal.keep("consumer", f"{table}:{function}", {})
            for queued in self._waiting.pop((table, function), ()):
                self.streams.put(table, function, queued)
            self._runtime.written = self._written

    def recovered(self, arn: str) -> None:
        """An execution of an earlier life needs no more care."""
        if arn in self.lost:
            self.lost.remove(arn)
            if self._journal is not None:
                self._journal.pack_history(arn)
                self._journal.drop("running", arn)

    def close(self) -> None:
        until = time.monotonic() + 5
        for part in (self.schedules, self.queues, self.streams, self.delivery):
            part.close(until)
        runtime = self._runtime
        runtime.written = runtime.journal = runtime.delivery = runtime.schedules = runtime.queues = None
        if self._journal is not None:
            self._journal.close()

    def _written(self, writes: list[Write]) -> None:
        """Called under the lock of the tables, so in the order of the writes."""
        with self._lock:
            attached = set(self.streams.consumers())
            everyone = attached | self._expected
            records: list[tuple[str, str, Record]] = []
            for write in writes:
                functions = [function for table, function in everyone if table == write.table]
                if functions:
                    self._number += 1
                    made = record(write, self._number, self._runtime.region, self._runtime.clock.now().timestamp())
                    records += [(write.table, function, made) for function in functions]
            rows = [0] * len(records)
            if self._journal is not None:
                targets = [(f"stream:{table}:{function}", json.dumps(made)) for table, function, made in records]
                rows = self._journal.write(writes, targets, self._number)
            for (table, function, made), row in zip(records, rows, strict=True):
                if (table, function) in attached:
                    self.streams.put(table, function, Queued(made, row))
                else:
                    self._waiting[table, function].append(Queued(made, row))

    def _acknowledge(self, rows: Any) -> None:
        if self._journal is not None:
            self._journal.acknowledge([row for row in rows if row])

    def _fire(self, schedule: Any, due: datetime) -> None:
        """Calls the target; then a one-off schedule goes, or is marked. A kill in between calls it again: at least once."""
        from infra.local.moto_patches.events import invoke_later

        target = schedule.target
        moment = self._runtime.clock.timestamp()
        given = target.get("Input") or json.dumps(event(
            "aws.scheduler", "Scheduled Event", "{}", region=self._runtime.region, at=moment, resources=[schedule.arn],
        ))  # fmt: skip
        # https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-schedule-context-attributes.html
        given = given.replace("<aws.scheduler.scheduled-time>", f"{due:%Y-%m-%dT%H:%M:%SZ}")
        given = given.replace("<aws.scheduler.schedule-arn>", schedule.arn)
        if ":lambda:" in target["Arn"]:
            invoke_later(target["Arn"], given)
        once = schedule.schedule_expression.startswith("at(")
        if once:
            schedule.fired = schedule.schedule_expression
        else:
            schedule.since = due.timestamp()  # what is made up for later comes after this
        if once and schedule.action_after_completion == "DELETE":
            from moto.scheduler.exceptions import ScheduleNotFound
            from moto.scheduler.models import scheduler_backends

            try:
                scheduler_backends[ACCOUNT][self._runtime.region].delete_schedule(schedule.group_name, schedule.name)
            except ScheduleNotFound:
                return
        elif self._journal is not None:
            self._journal.keep("schedule", f"{schedule.group_name}/{schedule.name}", vars(schedule))
