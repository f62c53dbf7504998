"""Visits of states, read from an execution's history as it grows.

Works on the events of the local cloud and on those of AWS's GetExecutionHistory; what it does not know it skips.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

Event = Mapping[str, Any]

_ENDED = {"Succeeded": "succeeded", "Failed": "failed", "Aborted": "aborted", "TimedOut": "timed_out"}
_CONTAINERS = ("Map", "Parallel")


@dataclass(slots=True)
class StateVisit:
    """One stay in a state. `status` is running, succeeded, caught, failed, timed_out or aborted.

    `path` says where: for each Map around the state its name and the item's index, for each Parallel its name and
    the branch's number in the order in which the branches began. Times are those of the events; `retried` is when the
    latest retry began. `children` are the ARNs of the executions that it started, one for each attempt that came so far.
    """

    state: str
    type: str
    started: datetime
    event_id: int
    path: tuple[tuple[str, int], ...] = ()
    ended: datetime | None = None
    status: str = "running"
    retries: int = 0
    retried: datetime | None = None
    error: str | None = None
    cause: str | None = None
    left: Mapping[str, Any] | None = None  # the details of its end: output and assignedVariables, as JSON texts
    children: list[str] = field(default_factory=list)

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it runs."""
        return None if self.ended is None else (self.ended - self.started).total_seconds()


@dataclass(slots=True)
class _Place:
    """Where an event happened: the visit it belongs to (or none), and the path for visits that begin there."""

    visit: StateVisit | None
    path: tuple[tuple[str, int], ...]


@dataclass(slots=True)
class Timeline:
    """Feed it events in their order, each once; `visits` is in the order of their start. `base` is where it begins."""

    visits: list[StateVisit] = field(default_factory=list)
    status: str = "running"
    last_id: int = 0
    until: datetime = datetime.min  # of the last event
    base: tuple[tuple[str, int], ...] = ()
    _open: dict[int, StateVisit] = field(default_factory=dict)  # visits that have not ended, by event id
    _places: dict[int, _Place] = field(default_factory=dict)  # by event id
    _branches: dict[int, int] = field(default_factory=dict)  # branches begun, by the id of ParallelStateStarted
    _begun: set[int] = field(default_factory=set)  # Maps and Parallels that have made their first attempt, by event id
    _waiting: dict[int, bool] = field(default_factory=dict)  # visits whose attempt has failed, by event id

    @classmethod
    def from_events(cls, events: Iterable[Event]) -> Self:
        timeline = cls()
        timeline.feed(events)
        return timeline

    def feed(self, events: Iterable[Event]) -> list[StateVisit]:
        """Take further events; the visits that they began or changed, in order."""
        changed: dict[int, StateVisit] = {}
        for event in events:
            for visit in self._take(event):
                changed[visit.event_id] = visit
        return [changed[key] for key in sorted(changed)]

    @property
    def running(self) -> list[StateVisit]:
        return list(self._open.values())

    def _take(self, event: Event) -> list[StateVisit]:
        number, kind = event.get("id"), str(event.get("type", ""))
        if not isinstance(number, int) or number <= self.last_id:
            return []
        self.last_id = number
        at = self.until = _moment(event.get("timestamp"))
        before = self._places.get(event.get("previousEventId", 0)) or _Place(None, self.base)
        place = before
        changed: list[StateVisit] = []
        if kind.endswith("StateEntered"):
            place, changed = self._enter(event, kind.removesuffix("StateEntered"), before, number, at)
        elif kind.endswith("StateExited"):
            place, changed = self._leave(event, before, at)
        elif kind in ("ParallelStateStarted", "MapStateStarted"):
            place, changed = self._begin(kind.removesuffix("StateStarted"), before, at)
            if kind == "ParallelStateStarted":
                self._branches[number] = 0
        elif kind == "MapIterationStarted":
            place = self._item(event, before)
        elif kind.startswith("MapIteration"):
            pass  # the item's states say the same
        elif kind.startswith("Execution") and kind != "ExecutionStarted":
            changed = self._finish(kind, event, before, at)
        elif kind.endswith("Scheduled"):
            changed = self._again(before, at)
        elif kind.endswith(("Failed", "TimedOut")):
            changed = self._fail(event, kind, before)
            if changed:  # what fails next is around it
                place = _Place(changed[0], changed[0].path)
        elif kind in ("TaskSubmitted", "TaskSucceeded"):
            changed = self._started(event, kind, before)
        self._places[number] = place
        return changed

    def _enter(self, event: Event, kind: str, before: _Place, number: int, at: datetime) -> tuple[_Place, list[StateVisit]]:
        path = before.path
        previous = event.get("previousEventId", 0)
        around = before.visit
        if around is not None and around.type == "Parallel" and previous in self._branches and around.ended is None:
            path = (*path, (around.state, self._branches[previous]))
            self._branches[previous] += 1
        name = _details(event).get("name", "")
        visit = StateVisit(str(name), kind, at, number, path)
        self.visits.append(visit)
        self._open[number] = visit
        return _Place(visit, path), [visit]

    def _begin(self, kind: str, before: _Place, at: datetime) -> tuple[_Place, list[StateVisit]]:
        """The first attempt of a Map or Parallel follows its beginning; any other follows what failed inside of it."""
        visit = before.visit
        if visit is not None and visit.type == kind and visit.event_id not in self._begun:
            self._begun.add(visit.event_id)
            return before, []
        failed = visit is not None and visit.type == kind and visit.event_id in self._waiting
        around = visit if failed else self._around(kind, before)
        if around is None:
            return before, []
        self._waiting.pop(around.event_id, None)
        around.retries += 1
        around.retried = at
        return _Place(around, around.path), [around, *self._end_inside(around, at)]

    def _around(self, kind: str, before: _Place) -> StateVisit | None:
        """The innermost Map or Parallel around a place that has not failed yet."""
        return next((
            found for found in reversed(self._open.values())
            if found.type == kind and found.event_id not in self._waiting and before.path[: len(found.path)] == found.path
        ), None)

    def _item(self, event: Event, before: _Place) -> _Place:
        details = _details(event)
        name, index = str(details.get("name", "")), details.get("index", 0)
        loops = [visit for visit in self._open.values() if visit.state == name and visit.type == "Map"]
        # An item's event follows the Map's start, or the item that its worker did before: cut the path to the Map's.
        around = next((loop for loop in reversed(loops) if before.path[: len(loop.path)] == loop.path), None)
        path = around.path if around else before.path
        return _Place(None, (*path, (name, int(index))))

    def _leave(self, event: Event, before: _Place, at: datetime) -> tuple[_Place, list[StateVisit]]:
        name = _details(event).get("name")
        visit = before.visit
        if visit is None or visit.state != name or visit.ended is not None:
            visit = next(
                (found for found in reversed(self._open.values())
                 if found.state == name and before.path[: len(found.path)] == found.path),
                None,
            )  # fmt: skip
        if visit is None:
            return before, []
        del self._open[visit.event_id]
        visit.ended = at
        visit.left = _details(event)
        visit.status = "caught" if self._waiting.pop(visit.event_id, False) else "succeeded"
        if visit.status == "succeeded":
            visit.error = visit.cause = None
        inside = self._end_inside(visit, at)
        return _Place(visit, visit.path), [*inside, visit]

    def _end_inside(self, container: StateVisit, at: datetime) -> list[StateVisit]:
        """States that still ran when their Map or Parallel ended: it failed, and they were aborted."""
        if container.type not in _CONTAINERS:
            return []
        depth = len(container.path)
        inside = [
            visit for visit in self._open.values()
            if visit.event_id > container.event_id and visit.path[:depth] == container.path
            and len(visit.path) > depth and visit.path[depth][0] == container.state
        ]  # fmt: skip
        self._close(inside, at, "aborted")
        return inside

    def _close(self, visits: list[StateVisit], at: datetime, status: str) -> None:
        """End visits that cannot go on: what failed, and the Maps and Parallels around it, has failed."""
        failed = [
            visit for visit in visits if self._waiting.pop(visit.event_id, False) or visit.type == "Fail"
        ]  # fmt: skip
        around = {(visit.path[:depth], visit.path[depth][0]) for visit in failed for depth in range(len(visit.path))}
        for visit in visits:
            self._open.pop(visit.event_id, None)
            visit.ended = at
            lost = visit in failed or (visit.type in _CONTAINERS and (visit.path, visit.state) in around)
            visit.status = "failed" if lost else status

    def _again(self, before: _Place, at: datetime) -> list[StateVisit]:
        visit = before.visit
        if visit is None or not self._waiting.pop(visit.event_id, False):
            return []
        visit.retries += 1
        visit.retried = at
        return [visit]

    def _fail(self, event: Event, kind: str, before: _Place) -> list[StateVisit]:
        details = _details(event)
        visit = before.visit
        if kind in ("MapStateFailed", "ParallelStateFailed"):
            visit = self._around(kind.removesuffix("StateFailed"), before) or visit
        if visit is None or visit.ended is not None:
            return []
        if "error" in details:
            visit.error, visit.cause = details.get("error"), details.get("cause")
        self._waiting[visit.event_id] = True
        return [visit]

    def _started(self, event: Event, kind: str, before: _Place) -> list[StateVisit]:
        """A child is named when it is started: by the end of the task where nobody waits for the child."""
        details = _details(event)
        resource = str(details.get("resource", ""))
        waits = resource.startswith("startExecution.sync")
        if before.visit is None or details.get("resourceType") != "states" or not (
            kind == "TaskSubmitted" if waits else resource == "startExecution"
        ):
            return []
        try:
            output = json.loads(details.get("output") or "")
        except (ValueError, TypeError, RecursionError):
            return []
        arn = output.get("ExecutionArn") if isinstance(output, dict) else None
        if not isinstance(arn, str) or arn in before.visit.children:
            return []
        before.visit.children.append(arn)
        return [before.visit]

    def _finish(self, kind: str, event: Event, before: _Place, at: datetime) -> list[StateVisit]:
        self.status = _ENDED.get(kind.removeprefix("Execution"), self.status)
        details = _details(event)
        changed = list(self._open.values())
        if kind == "ExecutionFailed" and before.visit in changed:
            self._waiting[before.visit.event_id] = True
        elif kind == "ExecutionFailed" and changed and not any(
            visit.type == "Fail" or visit.event_id in self._waiting for visit in changed
        ):
            self._waiting[changed[-1].event_id] = True  # it failed after its work, such as on the size of its output
        self._close(changed, at, "aborted" if self.status in ("failed", "succeeded") else self.status)
        for visit in changed:
            if visit.status == "failed" and visit.error is None:
                visit.error, visit.cause = details.get("error"), details.get("cause")
        return changed


def _details(event: Event) -> Mapping[str, Any]:
    for key, value in event.items():
        if key.endswith("EventDetails") and isinstance(value, Mapping):
            return value
    return {}


def _moment(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    try:
        return datetime.fromisoformat(str(value))
    except ValueError:
        return datetime.min
