"""What the history of a run says for the next one: which failures the workflow went on after, when waits began."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from aslant.executions.records import Execution, Failure, StepRecord
from aslant.history.timeline import StateVisit, Timeline
from aslant.releases import Release
from aslant.values import size

MAX_ENTERED = 100_000  # bytes of JSON of what a run is told of earlier ones
_WAITING = frozenset({"wait", "approval"})
_ESCALATED = " escalated"  # what stands after a step's id where a question is about its failure
# Roles of states that wait, and what stands after the step's id in the name of their deadline.
_NAMES = {"step": "", "escalated": "!escalated", "escalation": _ESCALATED}
_DEADLINE, _INDEX = re.compile(r"(.*?)((?:\[[0-9]+\])*)(?:#[0-9]+)?", re.DOTALL), re.compile(r"[0-9]+")

Place = tuple[str, tuple[int, ...]]  # a step in an iteration


def asked_about(step: str) -> str:
    """The step that a request, or a deadline, of that id is about."""
    return step.removesuffix(_ESCALATED).removesuffix(_NAMES["escalated"])


def place_named(name: str) -> Place:
    """The place that a deadline's name without its execution, as `entered` gives it, is about."""
    found = _DEADLINE.fullmatch(name)
    assert found is not None  # anything fits
    return asked_about(found[1]), tuple(map(int, _INDEX.findall(found[2])))


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
    if any(facts["role"] == "escalation" for facts in release["states"].values()):
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

    of_step: dict[tuple[tuple[tuple[str, int], ...], Place], list[StateVisit]] = {}
    for visit in visits:
        of_step.setdefault((visit.path, place_of(visit, release)), []).append(visit)

    def decided(visit: StateVisit) -> bool:
        """Whether what a question about the failure led to, if one was asked, is that the workflow goes on without."""
        after = [one for one in of_step[visit.path, place_of(visit, release)] if one.event_id > visit.event_id]
        if not after or role_of(after[0], release) != "escalation":
            return True
        answer = next((index for index, one in enumerate(after) if one.type == "Choice"), None)
        if answer is None or after[answer].ended is None or after[answer].status == "aborted":
            return False
        return len(after) == answer + 1 or role_of(after[answer + 1], release) != "step"

    def went_on(visit: StateVisit) -> bool:
        while True:
            lost = visit is culprit or _key(visit.path, visit.state) in around_culprit
            handed_on = failing.get((visit.path, place_of(visit, release)), 0) > visit.event_id
            if visit.status == "caught" and not lost and not handed_on:
                return decided(visit)
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


def entered(timeline: Timeline, release: Release, execution: Execution) -> tuple[dict[str, int], set[str], set[str]]:
    """When waits and approvals began (epoch milliseconds, by `<execution id>/<label>`), those of them that have not ended,
    and those that began anew in this run, whatever earlier ones say.
    """
    found: dict[str, int] = {}
    pending: set[str] = set()
    anew: set[str] = set()
    rounds: Counter[Place] = Counter()
    for visit in timeline.visits:
        (step, iteration), role = place_of(visit, release), role_of(visit, release)
        if role == "rounds":  # the step begins, and with it the counting of the questions about its failures
            rounds.pop((step, iteration), None)
        facts = release["steps"].get(step)
        if facts is None or role not in _NAMES or visit.type not in ("Wait", "Task") or visit.started == datetime.min:
            continue
        if role != "escalation" and facts["type"] not in _WAITING:
            continue
        name = f"{execution.id}/{step}{_NAMES[role]}" + "".join(f"[{index}]" for index in iteration)
        open_ = visit.status in ("running", "aborted", "timed_out")
        if role == "escalation":  # each question has a deadline of its own
            rounds[step, iteration] += 1
            name += f"#{rounds[step, iteration]}"
            if not open_:
                continue  # what was answered is answered at once
        if open_ and visit.retried is not None:
            found[name] = _millis(visit.retried)
            anew.add(name)
        found.setdefault(name, _millis(visit.started))
        if open_:
            pending.add(name)
    return found, pending, anew


def _millis(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


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
