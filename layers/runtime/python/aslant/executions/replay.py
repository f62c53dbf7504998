"""What the history of a run says for the next one: which failures the workflow went on after, when waits began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from aslant.executions.records import Execution, Failure, StepRecord
from aslant.history.timeline import StateVisit, Timeline
from aslant.releases import Release
from aslant.values import size

MAX_ENTERED = 100_000  # bytes of JSON of what a run is told of earlier ones
_WAITING = frozenset({"wait", "approval"})

Place = tuple[str, tuple[int, ...]]  # a step in an iteration


def place_of(visit: StateVisit, release: Release) -> Place:
    """The step in its iteration that a visit belongs to; an empty id for none."""
    states, steps = release["states"], release["steps"]
    loops = []
    for state, index in visit.path:
        around = states.get(state, {"step": "", "role": ""})["step"]
        if around in steps and steps[around]["type"] == "foreach":
            loops.append(index)
    return states.get(visit.state, {"step": "", "role": ""})["step"], tuple(loops)


def role_of(visit: StateVisit, release: Release) -> str:
    return release["states"].get(visit.state, {"step": "", "role": ""})["role"]


def needs_history(release: Release, records: Iterable[StepRecord]) -> bool:
    """Whether a run's history can say anything that matters."""
    if any(facts["type"] in _WAITING for facts in release["steps"].values()):
        return True
    return any(record.status == "failed" and not record.settled for record in records)


def passed(timeline: Timeline, release: Release, error: Failure | None) -> set[Place]:
    """Steps that failed and that the workflow went on after. `error` is what ended the execution, if a failure did.

    A failure is passed when a Catch of the state or of a Parallel or Map around it took it, and that did not only lead
    to the next failure.
    """
    visits = timeline.visits
    culprit = _culprit(visits, release, error) if timeline.status == "failed" else None
    around_culprit = {_key(culprit.path[:depth], culprit.path[depth][0]) for depth in range(len(culprit.path))} \
        if culprit is not None else set()
    failing = {
        (visit.path, place_of(visit, release)): visit.event_id for visit in visits if role_of(visit, release) == "failed"
    }
    containers: dict[tuple[tuple[tuple[str, int], ...], str], list[StateVisit]] = {}
    for visit in visits:
        if visit.type in ("Map", "Parallel"):
            containers.setdefault(_key(visit.path, visit.state), []).append(visit)

    def went_on(visit: StateVisit) -> bool:
        while True:
            lost = visit is culprit or _key(visit.path, visit.state) in around_culprit
            handed_on = failing.get((visit.path, place_of(visit, release)), 0) > visit.event_id
            if visit.status == "caught" and not lost and not handed_on:
                return True
            if visit.status not in ("caught", "failed") or not visit.path:
                return False
            inside = containers.get(_key(visit.path[:-1], visit.path[-1][0]), [])
            outer = next((found for found in reversed(inside) if found.event_id < visit.event_id), None)
            if outer is None:
                return False
            visit = outer

    return {
        place_of(visit, release) for visit in visits
        if visit.status in ("caught", "failed") and role_of(visit, release) == "step" and went_on(visit)
    }  # fmt: skip


def _culprit(visits: list[StateVisit], release: Release, error: Failure | None) -> StateVisit | None:
    """The visit whose failure ended the run."""
    failed = [visit for visit in visits if visit.status in ("caught", "failed") and role_of(visit, release) == "step"]
    if error is None:
        return failed[-1] if failed else None
    fitting = [visit for visit in failed if error.step and place_of(visit, release) == (error.step, error.iteration)]
    fitting = fitting or [visit for visit in failed if visit.error == error.error] or failed
    return max(fitting, key=lambda visit: (len(visit.path), visit.event_id), default=None)


def _key(path: tuple[tuple[str, int], ...], state: str) -> tuple[tuple[tuple[str, int], ...], str]:
    return path, state


def entered(timeline: Timeline, release: Release, execution: Execution) -> tuple[dict[str, int], set[str]]:
    """When waits and approvals began (epoch milliseconds, by `<execution id>/<label>`), and those that have not ended."""
    found: dict[str, int] = {}
    pending: set[str] = set()
    for visit in timeline.visits:
        step, iteration = place_of(visit, release)
        if step not in release["steps"] or release["steps"][step]["type"] not in _WAITING:
            continue
        role = role_of(visit, release)
        if role not in ("step", "escalated") or visit.type not in ("Wait", "Task") or visit.started == datetime.min:
            continue
        again = "!escalated" if role == "escalated" else ""  # the second question has a deadline of its own
        name = f"{execution.id}/{step}{again}" + "".join(f"[{index}]" for index in iteration)
        found.setdefault(name, round(visit.started.timestamp() * 1000))
        if visit.status in ("running", "aborted", "timed_out"):
            pending.add(name)
    return found, pending


def fitting(times: Mapping[str, int], pending: set[str], room: int) -> dict[str, int]:
    """As much as `room` bytes of JSON take (`MAX_ENTERED` at most): what is pending first, then the latest.

    A wait that had ended and is left out waits again.
    """
    room = min(room, MAX_ENTERED)
    kept: dict[str, int] = {}
    used = 2
    for name in sorted(times, key=lambda name: (name not in pending, -times[name], name)):
        used += size(name) + len(str(times[name])) + 2
        if used > room:
            break
        kept[name] = times[name]
    return {name: at for name, at in times.items() if name in kept}
