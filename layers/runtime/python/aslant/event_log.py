"""The events of executions, kept for a while, so that whoever follows one can go on from where it was; and who follows.

An event comes at least once; under its own id it is kept once. A cursor is a place in the order of an execution's events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from aslant.events import SOURCE, TYPES

Json = Any

FUNCTION = "aslant-push-events"  # keeps events and sends them to those who follow
STREAM = "aslant-stream"         # behind the WebSocket API
RULE = "aslant-events"
PATTERN: Mapping[str, Json] = {"source": [SOURCE]}
KEEP = 30 * 86_400               # seconds that an event is kept
_ORDER = {name: index for index, name in enumerate(TYPES)}


class EventLog(Protocol):
    def put(self, detail: Mapping[str, Json], until: int) -> None:
        """Keeps an event; `until` is epoch seconds."""

    def read(self, tenant: str, execution: str, after: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
        """The events of an execution in their order, each with its place; those behind the place `after`."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Somebody who follows an execution over a WebSocket, until `expires` (epoch seconds)."""

    id: str
    tenant: str
    execution: str
    user: str
    expires: int


class Connections(Protocol):
    def add(self, connection: Connection) -> None: ...

    def get(self, id: str) -> Connection | None: ...

    def remove(self, id: str) -> None:
        """Nothing happens when it is gone."""

    def of(self, tenant: str, execution: str) -> list[Connection]:
        """All that follow an execution."""


class Sender(Protocol):
    def send(self, connection: str, data: bytes) -> bool:
        """Sends a message; False when nobody is there any more."""

    def close(self, connection: str) -> None: ...


def place_of(detail: Mapping[str, Json]) -> str:
    """Where an event stands among those of its execution."""
    return f"{detail['sequence']:0>40}.{_ORDER.get(detail['event_type'], 99):02d}.{detail['event_id']}"
