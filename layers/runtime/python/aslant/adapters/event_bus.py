"""The installation's own events on EventBridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.events import SOURCE, Event
from aslant.values import compact


@dataclass(frozen=True, slots=True)
class EventBridgeBus:
    region: str
    bus: str

    def publish(self, events: Sequence[Event]) -> list[str]:
        with calling("publishing events"):
            answer = client("events", self.region).put_events(Entries=[
                {
                    "EventBusName": self.bus, "Source": SOURCE, "DetailType": event.type, "Detail": compact(event.detail),
                    "Time": datetime.fromtimestamp(event.at / 1000, UTC),
                }
                for event in events
            ])  # fmt: skip
        return [
            "" if "EventId" in entry else f"{entry.get('ErrorCode', 'failed')}: {entry.get('ErrorMessage', '')}"
            for entry in answer["Entries"]
        ]
