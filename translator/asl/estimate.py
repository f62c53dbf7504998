"""What an execution of a machine costs: transitions, history events and Lambda calls, from the machine alone.

A transition is counted for each state entered, as AWS bills it. History events are those of
https://docs.aws.amazon.com/step-functions/latest/apireference/API_HistoryEvent.html: a loop is counted with `items` items.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
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


_EVENTS = {"Pass": 2, "Choice": 2, "Wait": 2, "Succeed": 2, "Fail": 1, "Task": 5, "Parallel": 4, "Map": 4}
_START_AND_END = Cost(events=(2, 2))


def estimate(definition: Mapping[str, Any], items: int = 10) -> Estimate:
    text = json.dumps(definition, ensure_ascii=False, separators=(",", ":"))
    return Estimate(_count(definition), len(text.encode()), _START_AND_END + _machine(definition, items), items)


def _count(machine: Mapping[str, Any]) -> int:
    return sum(1 + sum(map(_count, _inner(state))) for state in machine["States"].values())


def _inner(state: Mapping[str, Any]) -> list[Any]:
    if state["Type"] == "Parallel":
        return list(state["Branches"])
    return [state["ItemProcessor"]] if state["Type"] == "Map" else []


def _machine(machine: Mapping[str, Any], items: int) -> Cost:
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
        known[name] = _state(state, items) + (after or Cost())
    return known[machine["StartAt"]]


def _ways(state: Mapping[str, Any]) -> list[str]:
    """Where a state goes when nothing fails."""
    if state["Type"] == "Choice":
        return list(dict.fromkeys([*(rule["Next"] for rule in state["Choices"]), state["Default"]]))
    return [state["Next"]] if "Next" in state else []


def _state(state: Mapping[str, Any], items: int) -> Cost:
    kind = state["Type"]
    events = _EVENTS[kind]
    calls = 0
    if kind == "Task":
        resource = state["Resource"]
        calls = 1 if ":lambda:invoke" in resource else 0
        events += 1 if resource.endswith((".sync", ".sync:2", ".waitForTaskToken")) else 0
    cost = Cost((1, 1), (events, events), (calls, calls))
    if kind == "Parallel":
        for branch in state["Branches"]:
            cost += _machine(branch, items) + Cost(events=(1, 1))
    elif kind == "Map":
        body = _machine(state["ItemProcessor"], items) + Cost(events=(2, 2))
        fixed = state["Items"]
        number = len(fixed) if isinstance(fixed, list) else None
        cost += body.times(number if number is not None else 0, number if number is not None else items)
    return cost


def _sum(one: tuple[int, int], two: tuple[int, int]) -> tuple[int, int]:
    return one[0] + two[0], one[1] + two[1]
