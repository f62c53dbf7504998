"""What an execution of a machine costs: transitions, history events and Lambda calls, from the machine alone.

A transition is counted for each state entered, as AWS bills it. History events are those of
https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html: a loop is counted with `items` items.
What a Distributed Map runs has histories of its own, so that it costs transitions and calls, but no events.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """Least and most on any path without retries or failures."""

    transitions: tuple[int, int] = (0, 0)
    events: tuple[int, int] = (0, 0)
    lambda_calls: tuple[int, int] = (0, 0)

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            _sum(self.transitions, other.transitions),
            _sum(self.events, other.events),
            _sum(self.lambda_calls, other.lambda_calls),
        )

    def times(self, least: int, most: int) -> Cost:
        return Cost(*(
            (pair[0] * least, pair[1] * most) for pair in (self.transitions, self.events, self.lambda_calls)
        ))

    def either(self, other: Cost) -> Cost:
        return Cost(*(
            (min(one[0], two[0]), max(one[1], two[1]))
            for one, two in zip(
                (self.transitions, self.events, self.lambda_calls),
                (other.transitions, other.events, other.lambda_calls),
                strict=True,
            )
        ))


@dataclass(frozen=True, slots=True)
class Estimate:
    """`cost` counts each loop with `items` items at most, and with none at least."""

    states: int
    bytes: int
    cost: Cost
    items: int


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False)
_EVENTS = {"Pass": 2, "Choice": 2, "Wait": 2, "Succeed": 2, "Fail": 1, "Task": 5, "Parallel": 4, "Map": 4}
_START_AND_END = Cost(events=(2, 2))
_MAP_RUN = Cost(events=(2, 2))  # it is started and succeeds


@dataclass(frozen=True, slots=True)
class _Loops:
    """How many items loops have: by their states' names where it is known, else none to `items`."""

    items: int
    known: Mapping[str, int]
    parts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # machines that run parts of this one

    def bounds(self, name: str, state: Mapping[str, Any]) -> tuple[int, int]:
        fixed = state.get("Items")
        length = len(fixed) if isinstance(fixed, list) else self.known.get(name)
        return (0, self.items) if length is None else (length, length)


def estimate(
    definition: Mapping[str, Any], items: int = 10, lengths: Mapping[str, int] | None = None,
    parts: Mapping[str, Mapping[str, Any]] | None = None, size: int | None = None,
) -> Estimate:
    """`lengths`: how many items the loops in these states have, where that is known. `parts`: machines that run parts of this
    one, by their placeholders; events are those of the first. `size`: bytes of all of them, if they have been counted.
    """
    machines = (definition, *(parts or {}).values())
    if size is None:
        size = sum(map(byte_size, machines))
    cost = _START_AND_END + _machine(definition, _Loops(items, lengths or {}, parts or {}))
    return Estimate(sum(map(_count, machines)), size, cost, items)


def byte_size(value: Any) -> int:
    """Bytes of compact JSON in UTF-8, as AWS counts a definition."""
    return len(_COMPACT.encode(value).encode())


def executions(
    definition: Mapping[str, Any], items: int = 10, lengths: Mapping[str, int] | None = None
) -> Iterator[tuple[str, bool, int]]:
    """Every Distributed Map: its name, whether its executions are Express, and how many events one of them has at most."""
    for name, state in definition["States"].items():
        for inner in _inner(state):
            if _is_distributed(state):
                express = inner["ProcessorConfig"].get("ExecutionType") == "EXPRESS"
                cost = _START_AND_END + _machine(inner, _Loops(items, lengths or {}))
                yield name, express, cost.events[1]
            yield from executions(inner, items, lengths)


def heaviest(definition: Mapping[str, Any], items: int = 10, lengths: Mapping[str, int] | None = None) -> str:
    """The outermost state that makes half of all events or more; empty when there is none."""
    loops = _Loops(items, lengths or {})
    events = {name: _state(name, state, loops).events[1] for name, state in definition["States"].items()}
    name = max(events, key=lambda name: events[name])
    return name if 2 * events[name] > sum(events.values()) else ""


def _is_distributed(state: Mapping[str, Any]) -> bool:
    return bool(state["Type"] == "Map" and state["ItemProcessor"].get("ProcessorConfig", {}).get("Mode") == "DISTRIBUTED")


def _count(machine: Mapping[str, Any]) -> int:
    return sum(1 + sum(map(_count, _inner(state))) for state in machine["States"].values())


def _inner(state: Mapping[str, Any]) -> list[Any]:
    if state["Type"] == "Parallel":
        return list(state["Branches"])
    return [state["ItemProcessor"]] if state["Type"] == "Map" else []


def _machine(machine: Mapping[str, Any], loops: _Loops) -> Cost:
    """The cost from the start on, over all paths; states are looked at after everything that they lead to."""
    states = machine["States"]
    known: dict[str, Cost] = {}
    met: set[str] = set()  # a way back, to another try after an escalation, is not followed
    stack = [machine["StartAt"]]
    while stack:
        name = stack[-1]
        state = states[name]
        ways = _ways(state)
        missing = [target for target in ways if target not in known and target not in met]
        met.add(name)
        if missing and name not in known:
            stack.extend(missing)
            continue
        stack.pop()
        if name in known:
            continue
        after: Cost | None = None
        for target in ways:
            if target in known:
                after = known[target] if after is None else after.either(known[target])
        known[name] = _state(name, state, loops) + (after or Cost())
    return known[machine["StartAt"]]


def _ways(state: Mapping[str, Any]) -> list[str]:
    """Where a state goes when nothing fails."""
    if state["Type"] == "Choice":
        return list(dict.fromkeys([*(rule["Next"] for rule in state["Choices"]), state["Default"]]))
    return [state["Next"]] if "Next" in state else []


def _state(name: str, state: Mapping[str, Any], loops: _Loops) -> Cost:
    kind = state["Type"]
    events = _EVENTS[kind]
    calls = 0
    if kind == "Task":
        resource = state["Resource"]
        calls = 1 if ":lambda:invoke" in resource else 0
        events += 1 if resource.endswith((".sync", ".sync:2", ".waitForTaskToken")) else 0
    cost = Cost((1, 1), (events, events), (calls, calls))
    inside = loops.parts.get(str(state.get("Arguments", {}).get("StateMachineArn", ""))[2:-1]) if kind == "Task" else None
    if inside is not None:
        cost += replace(_machine(inside, loops), events=(0, 0))
    if kind == "Parallel":
        for branch in state["Branches"]:
            cost += _machine(branch, loops) + Cost(events=(1, 1))
    elif kind == "Map":
        body = _machine(state["ItemProcessor"], loops) + Cost(events=(2, 2))
        if _is_distributed(state):
            body = replace(body, events=(0, 0))
            cost += _MAP_RUN
        cost += body.times(*loops.bounds(name, state))
    return cost


def _sum(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
    return one[0] + two[0], one[1] + two[1]
