"""SQS queues that call functions, as Lambda's event source mapping does it, with dead-letter queues.

moto holds the messages and counts how often each was received; the journal has them too, so that they outlive the process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from infra.local.functions import ACCOUNT, UnknownFunction
from infra.local.runtime import Activity, Runtime, join

BATCH = 10
_PAUSE, _LONGEST_PAUSE = 0.2, 2.0  # real seconds before a message that failed is tried again; on AWS the visibility timeout
_VISIBILITY = 900  # seconds that a message in a function's hands is hidden from others
_KIND = "message"  # in the journal


class Queues:
    """Threads that carry messages to functions. Messages of other queues stay where they are."""

    def __init__(self, runtime: Runtime, activity: Activity) -> None:
        self._runtime, self._activity = runtime, activity
        self._changed = threading.Condition()
        self._pending: dict[str, int] = {}  # messages of each attached queue that the activity counts
        self._threads: list[threading.Thread] = []
        self._kept: set[str] = set()        # queues whose messages the journal has
        self._closed = False

    def keep(self, *names: str) -> None:
        """From now on the journal has the messages of these queues; those that it has already are put back."""
        from moto.sqs.models import Message

        self._kept |= {*names}
        journal = self._runtime.journal
        for key, body in journal.kept(_KIND) if journal is not None else ():
            name, _, id = key.partition("/")
            queue = self._backend.queues.get(name)
            if queue is not None and name in names and all(one.id != id for one in queue._messages):
                message: Any = Message(id, body, {})
                message.mark_sent()
                queue.add_message(message)

    def attach(self, name: str, function: str) -> None:
        """Calls a function with the queue's messages, those that are there first; does nothing when it does already."""
        with self._changed:
            if name in self._pending or self._closed:
                return
            self._pending[name] = 0
            self._count(name)
            thread = threading.Thread(target=self._run, args=(name, function), daemon=True, name="aslant-queue")
            self._threads.append(thread)
        thread.start()

    def added(self, name: str, message: Any) -> None:
        """A message came to a queue, by a sender or since it failed too often in another one."""
        journal = self._runtime.journal
        if name in self._kept and journal is not None:
            journal.keep(_KIND, f"{name}/{message.id}", message.body)
            for other in self._kept - {name}:
                journal.drop(_KIND, f"{other}/{message.id}")
        with self._changed:
            if name in self._pending:
                self._pending[name] += 1
                self._activity.add()
                self._changed.notify_all()

    def deleted(self, name: str, ids: Sequence[str]) -> None:
        journal = self._runtime.journal
        if name in self._kept and journal is not None:
            for id in ids:
                journal.drop(_KIND, f"{name}/{id}")

    def close(self, until: float) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        join(self._threads, until)

    @property
    def _backend(self) -> Any:
        from moto.sqs.models import sqs_backends

        return sqs_backends[ACCOUNT][self._runtime.region]

    def _count(self, name: str) -> int:
        """Messages that are left; the activity is told what has gone. Called under the lock."""
        queue = self._backend.queues.get(name)
        left = len(queue._messages) if queue is not None else 0
        self._activity.add(left - self._pending[name])
        self._pending[name] = left
        return left

    def _run(self, name: str, function: str) -> None:
        pause = _PAUSE
        while not self._closed:
            backend = self._backend
            received = backend.receive_message(name, BATCH, 0, _VISIBILITY)  # what failed too often leaves the queue here
            with self._changed:
                left = self._count(name)
                if not received:
                    if not left:
                        self._changed.wait_for(lambda: self._closed or self._pending[name])
                    else:
                        self._changed.wait(pause)
                    continue
            failed = self._send(name, function, received)
            for message in received:
                if message.id not in failed:
                    backend.delete_message(name, message.receipt_handle)
            if not failed:
                pause = _PAUSE
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._closed, pause)
            pause = min(pause * 2, _LONGEST_PAUSE)
            for message in received:
                if message.id in failed:
                    backend.change_message_visibility(name, message.receipt_handle, 0)

    def _send(self, name: str, function: str, received: Sequence[Any]) -> set[str]:
        """The ids of the messages that failed."""
        everything = {message.id for message in received}
        records = [record(name, message, self._runtime.region) for message in received]
        try:
            result = self._runtime.functions.invoke(function, json.dumps({"Records": records}))
        except UnknownFunction:
            return everything
        return everything if result.error else failures(everything, json.loads(result.payload))


def record(queue: str, message: Any, region: str) -> dict[str, Any]:
    """A message as Lambda hands it to a function (docs.aws.amazon.com/lambda/latest/dg/with-sqs.html)."""
    return {
        "messageId": message.id, "receiptHandle": message.receipt_handle, "body": message.body,
        "attributes": {
            "ApproximateReceiveCount": str(message.approximate_receive_count), "SenderId": message.sender_id,
            "SentTimestamp": str(message.sent_timestamp),
            "ApproximateFirstReceiveTimestamp": str(message.approximate_first_receive_timestamp),
        },
        "messageAttributes": {}, "md5OfBody": message.body_md5, "eventSource": "aws:sqs",
        "eventSourceARN": f"arn:aws:sqs:{region}:{ACCOUNT}:{queue}", "awsRegion": region,
    }  # fmt: skip


def failures(ids: set[str], answer: Any) -> set[str]:
    """Which messages an answer of a function says have failed; one that is none says all.

    https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
    """
    named = (answer.get("batchItemFailures") if isinstance(answer, Mapping) else None) or []
    found = {str(one.get("itemIdentifier")) if isinstance(one, Mapping) else "" for one in named}
    return ids if found - ids else found
