"""What the patched interpreter needs of the local cloud it runs in: one at a time, as moto's state is global."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from infra.local.clock import Clock
from infra.local.functions import Functions

if TYPE_CHECKING:
    from infra.local.delivery import Delivery
    from infra.local.journal import Journal
    from infra.local.queues import Queues
    from infra.local.schedules import Schedules


@dataclass(frozen=True, slots=True)
class Write:
    """What a request to DynamoDB did to one item. Images are DynamoDB's JSON; None where there is no item."""

    table: str
    key: dict[str, Any]
    before: dict[str, Any] | None
    after: dict[str, Any] | None


class Activity:
    """Counts what is on its way to somebody, so that one can wait until nothing is."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def add(self, number: int = 1) -> None:
        with self._changed:
            self._count += number
            if self._count <= 0:
                self._changed.notify_all()

    def done(self, number: int = 1) -> None:
        self.add(-number)

    def wait(self, timeout: float) -> bool:
        """Whether nothing is on its way, waiting at most `timeout` real seconds for it."""
        with self._changed:
            return self._changed.wait_for(lambda: self._count <= 0, timeout)


def join(threads: Iterable[threading.Thread], until: float) -> None:
    """Waits for threads, but not for the one that calls, until `until` (time.monotonic())."""
    for thread in threads:
        if thread is not threading.current_thread():
            thread.join(max(0.0, until - time.monotonic()))


@dataclass(slots=True)
class Runtime:
    """Clock, functions, and who started whom. `Any` stands for moto's `Execution`."""

    clock: Clock
    functions: Functions
    region: str
    lock: threading.RLock = field(default_factory=threading.RLock)
    executions: dict[str, Any] = field(default_factory=dict)  # by ARN, in the order of their start
    finished: dict[str, threading.Event] = field(default_factory=dict)
    children: dict[str, list[str]] = field(default_factory=dict)  # ARN of a parent -> those it waits for
    tokens: dict[str, Any] = field(default_factory=dict)  # task token -> moto's CallbackEndpoint
    closing: bool = False
    written: Callable[[list[Write]], None] | None = None  # told what each request to DynamoDB changed, in order
    delivery: Delivery | None = None
    schedules: Schedules | None = None
    queues: Queues | None = None
    journal: Journal | None = None


_current: Runtime | None = None
_deadline = threading.local()


def current() -> Runtime:
    """The running local cloud."""
    if _current is None:
        raise RuntimeError("no local cloud is running")
    return _current


def enter(runtime: Runtime) -> None:
    """Make `runtime` the running local cloud; there can be only one in a process."""
    global _current
    if _current is not None:
        raise RuntimeError("a local cloud is already running in this process")
    _current = runtime


def leave() -> None:
    global _current
    _current = None


def set_deadline(moment: float | None) -> None:
    """Note, for this thread, when (`time.monotonic()`) the state's attempt that runs in it times out."""
    _deadline.value = moment


def deadline() -> float | None:
    value: float | None = getattr(_deadline, "value", None)
    return value
