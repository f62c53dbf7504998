"""Table streams: what is written to a table goes to functions, as Lambda's event source mapping does it.

Records of one partition key come in order and one batch after the other; different ones may overlap (shards). A batch that
fails is sent again until it succeeds; with `batchItemFailures` only from the first failed record on. A record may come
more than once, none is left out.
"""

from __future__ import annotations

import json
import threading
import time
import uuid
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from infra.local.functions import ACCOUNT, Functions, UnknownFunction
from infra.local.runtime import Activity, Write

Record = dict[str, Any]  # a record of a DynamoDB stream as Lambda gets it

_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # real seconds before a failed batch is sent again
_BASE = 10**20  # sequence numbers of DynamoDB have 21 to 40 digits; of one length, they sort as texts too


def sequence(number: int) -> str:
    """The sequence number of the stream's record `number`."""
    return str(_BASE + number)


def record(write: Write, number: int, region: str, at: float) -> Record:
    """The stream's record of a write. `at` is epoch seconds."""
    name = "INSERT" if write.before is None else "REMOVE" if write.after is None else "MODIFY"
    images = {"NewImage": write.after, "OldImage": write.before}
    data: dict[str, Any] = {
        "ApproximateCreationDateTime": int(at), "Keys": write.key,
        **{image: item for image, item in images.items() if item is not None},
        "SequenceNumber": sequence(number), "StreamViewType": "NEW_AND_OLD_IMAGES",
    }
    data["SizeBytes"] = len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))
    return {
        "eventID": uuid.uuid4().hex, "eventName": name, "eventVersion": "1.1", "eventSource": "aws:dynamodb",
        "awsRegion": region, "dynamodb": data,
        "eventSourceARN": f"arn:aws:dynamodb:{region}:{ACCOUNT}:table/{write.table}/stream/2026-01-01T00:00:00.000",
    }


@dataclass(slots=True)
class Queued:
    """A record for a function. `id` is its row in the journal, 0 without one."""

    record: Record
    id: int = 0


Acknowledge = Callable[[Sequence[int]], None]


@dataclass(slots=True)
class _Consumer:
    table: str
    function: str
    shards: list[_Shard]

    def put(self, queued: Queued) -> None:
        key = json.dumps(queued.record["dynamodb"]["Keys"].get("pk") or queued.record["dynamodb"]["Keys"], sort_keys=True)
        self.shards[zlib.crc32(key.encode("utf-8", "surrogatepass")) % len(self.shards)].put(queued)


@dataclass(slots=True)
class Streams:
    """The streams of all tables. `acknowledge` is told the rows of records that a function has taken."""

    functions: Functions
    activity: Activity
    acknowledge: Acknowledge
    _consumers: list[_Consumer] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def attach(self, table: str, function: str, *, batch: int, shards: int) -> bool:
        """Sends the table's records to the function from now on; False when they go there already."""
        with self._lock:
            if any(each.table == table and each.function == function for each in self._consumers):
                return False
            consumer = _Consumer(table, function, [
                _Shard(self.functions, function, batch, self.activity, self.acknowledge) for _ in range(shards)
            ])
            self._consumers.append(consumer)
            return True

    def put(self, table: str, function: str, queued: Queued) -> None:
        with self._lock:
            consumers = [each for each in self._consumers if (each.table, each.function) == (table, function)]
        for consumer in consumers:
            consumer.put(queued)

    def consumers(self) -> list[tuple[str, str]]:
        """Table and function of everything attached."""
        with self._lock:
            return [(each.table, each.function) for each in self._consumers]

    def close(self, until: float) -> None:
        """Ends all threads after the batches that run, waiting until `until` (time.monotonic())."""
        with self._lock:
            shards = [shard for consumer in self._consumers for shard in consumer.shards]
        for shard in shards:
            shard.close()
        for shard in shards:
            shard.join(until)


class _Shard:
    """A queue of records and the thread that carries them to a function."""

    def __init__(
        self, functions: Functions, function: str, batch: int, activity: Activity, acknowledge: Acknowledge
    ) -> None:
        self._functions, self._function, self._batch = functions, function, batch
        self._activity, self._acknowledge = activity, acknowledge
        self._queue: deque[Queued] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._thread: threading.Thread | None = None

    def put(self, queued: Queued) -> None:
        self._activity.add()
        with self._changed:
            self._queue.append(queued)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, daemon=True, name="aslant-stream")
                self._thread.start()
            self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def join(self, until: float) -> None:
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._queue or self._closed)
                if self._closed:
                    return
                batch = list(islice(self._queue, self._batch))
            taken = self._send(batch)
            if taken:
                self._acknowledge([queued.id for queued in batch[:taken]])
                with self._changed:
                    for _ in range(taken):
                        self._queue.popleft()
                self._activity.done(taken)
            if taken == len(batch):
                pause = _FIRST_PAUSE
                continue
            with self._changed:
                self._changed.wait_for(lambda: self._closed, pause)
            pause = _FIRST_PAUSE if taken else min(pause * 2, _LONGEST_PAUSE)

    def _send(self, batch: Sequence[Queued]) -> int:
        """How many records of the batch, from its start, need not be sent again."""
        try:
            result = self._functions.invoke(self._function, json.dumps({"Records": [queued.record for queued in batch]}))
        except UnknownFunction:
            return 0
        if result.error:
            return 0
        return accepted([queued.record["dynamodb"]["SequenceNumber"] for queued in batch], json.loads(result.payload))


def accepted(sequences: Sequence[str], answer: Any) -> int:
    """How many records of a batch an answer of a function accepts, from the start.

    No answer or an empty `batchItemFailures` accepts all. An answer of another shape, or one that names a record which is
    not in the batch, accepts none (docs.aws.amazon.com/lambda/latest/dg/services-ddb-batchfailurereporting.html).
    """
    if answer is None or answer == {}:
        return len(sequences)
    failures = answer.get("batchItemFailures") if isinstance(answer, Mapping) else None
    if failures is None:
        return len(sequences) if isinstance(answer, Mapping) else 0
    names = [failure.get("itemIdentifier") if isinstance(failure, Mapping) else None for failure in failures]
    if any(name not in sequences for name in names):
        return 0
    return min((sequences.index(name) for name in names), default=len(sequences))
