"""The history of an execution whose machine is cut into parts, as if it were one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from aslant.releases import Release, StateFacts

Event = Mapping[str, Any]
History = Callable[[str], Iterable[Event]]

PART = "part"  # the role of a state that runs a part


def history_of(arn: str, release: Release, history: History) -> Iterator[Event]:
    """All events of an execution. Those of its parts follow the event that tells that the part was started, with ids of their
    own: `previousEventId` of a part's first state is that event. `history` gives the events of one execution by its ARN.
    """
    if not release.get("parts"):
        yield from history(arn)
        return
    yield from _Join(release["states"], history).events(arn, 0)


class _Join:
    def __init__(self, states: Mapping[str, StateFacts], history: History) -> None:
        self.states = states
        self.history = history
        self.last = 0

    def events(self, arn: str, start: int) -> Iterator[Event]:
        """The events of an execution; `start` is the id of the event that it was started by, 0 for the first one."""
        ids: dict[int, int] = {}
        state_of: dict[int, str] = {}
        for event in self.history(arn):
            kind, number, previous = str(event.get("type", "")), event.get("id", 0), event.get("previousEventId", 0)
            entered = event.get("stateEnteredEventDetails") if kind.endswith("StateEntered") else None
            state_of[number] = str(entered.get("name", "")) if entered else state_of.get(previous, "")
            if start and kind.startswith("Execution"):
                ids[number] = start  # what is around it says the same
                continue
            self.last += 1
            ids[number] = self.last
            yield {**event, "id": self.last, "previousEventId": ids.get(previous, start)}
            part = self._part(kind, event, state_of[number])
            if part:
                yield from self.events(part, ids[number])

    def _part(self, kind: str, event: Event, state: str) -> str:
        """The ARN of the part that an event says was started."""
        if kind != "TaskSubmitted" or self.states.get(state, {"role": ""})["role"] != PART:
            return ""
        details = event.get("taskSubmittedEventDetails") or {}
        try:
            return str(json.loads(details.get("output") or "{}").get("ExecutionArn") or "")
        except (ValueError, AttributeError):
            return ""
