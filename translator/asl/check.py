"""Proves a finished machine against the definition. Shares nothing with the emitter but the map from states to steps.

Every target exists; every state can be reached; AWS's limits are kept (`limits.py`); every step of the definition has a
state; and for every edge the step before it comes first on every path and is never beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from translator.asl.block import Origin
from translator.asl.estimate import Estimate
from translator.asl.limits import measures
from translator.asl.tokens import Tokens
from translator.diagnostics import Findings, Position
from translator.findings import asl as rules
from translator.graph.scope import Graph, Scope
from translator.model.workflow import Workflow

TERMINAL = frozenset({"Succeed", "Fail"})


@dataclass(slots=True)
class _Map:
    """One `States` map: where it is, and which states each of its states can lead to (bit masks, itself included)."""

    path: tuple[tuple[str, int], ...]  # (state, number of the branch) around it, outermost first
    states: Mapping[str, Any]
    start: str
    number: dict[str, int] = field(default_factory=dict)
    reach: list[int] = field(default_factory=list)


def check_machine(
    definition: Mapping[str, Any], origins: Mapping[str, Origin], graph: Graph, workflow: Workflow, findings: Findings,
    parts: Mapping[str, Mapping[str, Any]] | None = None,
) -> None:
    """Findings for everything that is wrong with the machine; none for a right one.

    `parts` are the machines that tasks of it start, by their placeholders: each stands for what is inside of its task.
    """
    problems: list[str] = []
    maps = list(_maps(definition, (), {"${" + name + "}": part for name, part in (parts or {}).items()}))
    seen: set[str] = set()
    place: dict[str, list[tuple[_Map, str]]] = {}
    for one in maps:
        answers = {name for name in one.states if name in origins and _is_answer(origins[name], one, name)}
        problems += _check_map(one, seen, answers)
        for name in one.states:
            origin = origins.get(name)
            if origin is None:
                problems.append(f"nothing tells what the state {name!r} is for")
            elif origin.role in ("step", "escalated", "expired", "lapsed"):
                place.setdefault(origin.step, []).append((one, name))
    by_path = {one.path: one for one in maps}
    tokens = Tokens(by_path, {name for name, origin in origins.items() if origin.role == "failed"})
    problems += tokens.problems()
    for scope in graph.scopes():
        for index, step in enumerate(scope.steps):
            if step.id not in graph.ids:
                continue  # a choice for edges with conditions, which may be asked in another state
            if step.id not in place:
                problems.append(f"the step {step.id!r} has no state")
                continue
            for before, asked in _before(scope, index, graph.ids):
                for first in place.get(before, ()):
                    for second in place[step.id]:
                        if not _ordered(first, second, by_path, asked) and not tokens.ordered(
                            (first[0].path, first[1]), (second[0].path, second[1])
                        ):
                            problems.append(f"{before!r} does not come before {step.id!r}")
    for problem in dict.fromkeys(problems):
        findings.add(rules.BROKEN_MACHINE, problem, workflow.at)


def _before(scope: Scope, index: int, ids: Set[str]) -> Iterator[tuple[str, bool]]:
    """The steps that a step waits for, and whether that edge has a condition, which is a choice in between."""
    for source, _ in scope.preds[index]:
        if scope.steps[source].id in ids:
            yield scope.steps[source].id, False
        else:
            yield from ((before, True) for before, _ in _before(scope, source, ids))


MANY = 100  # branches, from which on a loop is what is meant


def _smaller(workflow: Workflow, at: Position) -> tuple[Position, str]:
    """The place of a machine's bulk, and what to write instead."""
    most = max(workflow.all_steps(), key=lambda step: len(step.branches))
    if len(most.branches) < MANY:
        return at, "move parts into workflows of their own (`type: workflow`)"
    return most.at, (
        f"the parallel {most.id!r} has {len(most.branches):,} branches: let a loop (`type: foreach`) do the same for each item"
        " of a list, or move groups of branches into workflows of their own (`type: workflow`)"
    )


def check_limits(
    definition: Mapping[str, Any], origins: Mapping[str, Origin], workflow: Workflow, findings: Findings, *,
    kind: str, lengths: Mapping[str, int], figures: Estimate | None = None,
) -> None:
    """Findings for limits of AWS that the machine is beyond, or near. `kind`, `lengths`, `figures`: see `measures`."""
    for one in measures(definition, kind=kind, lengths=lengths, figures=figures):
        at = _place(one.state, origins, workflow)
        if one.limit == "bytes of the definition":
            what = f"the state machine has {one.found:,} bytes; AWS takes {one.most:,}"
            if one.exceeded:
                place, hint = _smaller(workflow, at)
                findings.add(rules.DEFINITION_SIZE, what, place, hint=hint)
            else:
                findings.add(rules.DEFINITION_SIZE_NEAR, f"the state machine has {one.found:,} of {one.most:,} bytes", at)
        elif one.limit.startswith("history events"):
            of = " of a child execution" if one.limit != "history events" else ""
            findings.add(rules.HISTORY_NEAR, f"about {one.found:,} of {one.most:,} events{of}" + _loops(lengths), at)
        elif one.exceeded and one.limit.startswith("bytes of"):
            findings.add(rules.VALUE_SIZE, f"the state {one.state!r} holds {one.found:,} bytes; AWS takes {one.most:,}", at)
        elif one.exceeded:
            findings.add(rules.BROKEN_MACHINE, str(one), at)


def _loops(lengths: Mapping[str, int]) -> str:
    return " when every loop has 10 items" if not lengths else " when loops of unknown length have 10 items"


def _place(state: str, origins: Mapping[str, Origin], workflow: Workflow) -> Position:
    """Where the step of a state is written; the workflow where it belongs to none."""
    origin = origins.get(state)
    return origin.position if origin is not None and origin.step else workflow.at


def _maps(
    machine: Mapping[str, Any], path: tuple[tuple[str, int], ...], parts: Mapping[str, Mapping[str, Any]]
) -> Iterator[_Map]:
    yield _Map(path, machine["States"], machine["StartAt"])
    for name, state in machine["States"].items():
        for number, branch in enumerate(_inner(state, parts)):
            yield from _maps(branch, (*path, (name, number)), parts)


def _inner(state: Mapping[str, Any], parts: Mapping[str, Mapping[str, Any]]) -> list[Any]:
    if state["Type"] == "Parallel":
        return list(state["Branches"])
    if state["Type"] == "Task":
        part = parts.get(state.get("Arguments", {}).get("StateMachineArn", ""))
        return [part] if part is not None else []
    return [state["ItemProcessor"]] if state["Type"] == "Map" else []


def _targets(state: Mapping[str, Any]) -> list[str]:
    rules_ = [*state.get("Choices", ()), *state.get("Catch", ())]
    return [rule["Next"] for rule in rules_] + [state[key] for key in ("Next", "Default") if key in state]


def _is_answer(origin: Origin, one: _Map, name: str) -> bool:
    """Whether the state is the choice by an escalation's answer, whose first way leads back to the step."""
    return origin.role == "escalation" and one.states[name]["Type"] == "Choice"


def _check_map(one: _Map, seen: set[str], answers: set[str]) -> Iterator[str]:
    states = one.states
    one.number = {name: position for position, name in enumerate(states)}
    targets = {name: _targets(state) for name, state in states.items()}
    for name, state in states.items():
        if name in seen:
            yield f"the state name {name!r} is used twice"
        seen.add(name)
        for target in targets[name]:
            if target not in states:
                yield f"{name!r} goes to {target!r}, which is not in its list of states"
        ends = state["Type"] in TERMINAL or state.get("End") is True
        if state["Type"] == "Choice" and "Default" not in state:
            yield f"the choice {name!r} has no default"
        elif not ends and state["Type"] != "Choice" and "Next" not in state:
            yield f"{name!r} goes nowhere"
    yield from _find_reach(one, {name: found[1 if name in answers else 0 :] for name, found in targets.items()})


def _find_reach(one: _Map, onwards: Mapping[str, list[str]]) -> Iterator[str]:
    """What each state can lead to. `onwards` are its targets; those to which an escalation's answer leads back are left out,
    and nothing else does: loops are Map states.
    """
    states = one.states
    waiting = dict.fromkeys(states, 0)
    for name in states:
        for target in set(onwards[name]):
            if target in waiting:
                waiting[target] += 1
    ready = [name for name, count in waiting.items() if not count]
    lost = [name for name in ready if name != one.start]
    if lost:
        yield f"the states {', '.join(map(repr, lost[:3]))} cannot be reached"
    if one.start not in states:
        yield f"the first state {one.start!r} is not in its list of states"
    order: list[str] = []
    while ready:
        name = ready.pop()
        order.append(name)
        for target in set(onwards[name]):
            if target in waiting:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    if len(order) < len(states):
        yield "states lead back to themselves"
        order += [name for name in states if name not in set(order)]
    one.reach = [0] * len(states)
    for name in reversed(order):
        mask = 1 << one.number[name]
        for target in onwards[name]:
            if target in one.number:
                mask |= one.reach[one.number[target]]
        one.reach[one.number[name]] = mask


def _ordered(
    first: tuple[_Map, str], second: tuple[_Map, str], by_path: Mapping[tuple[tuple[str, int], ...], _Map], asked: bool
) -> bool:
    """Whether the first state, or what holds it, leads to the second and not the other way round.

    An edge with a condition (`asked`) is also kept where no way goes through both: it never holds after the first.
    """
    path_one = (*first[0].path, (first[1], -1))
    path_two = (*second[0].path, (second[1], -1))
    shared = 0
    while shared < min(len(path_one), len(path_two)) - 1 and path_one[shared] == path_two[shared]:
        shared += 1
    around = by_path[path_one[:shared]]
    one, two = path_one[shared][0], path_two[shared][0]
    if one == two:
        return False  # different branches of one state
    if around.reach[around.number[one]] >> around.number[two] & 1:
        return True
    return asked and not around.reach[around.number[two]] >> around.number[one] & 1
