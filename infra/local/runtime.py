"""What the patched interpreter needs of the local cloud it runs in: one at a time, as moto's state is global."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from infra.local.clock import Clock
from infra.local.functions import Functions


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
    clients: dict[tuple[str, str], Any] = field(default_factory=dict)  # (service, region) -> boto3 client
    closing: bool = False


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
