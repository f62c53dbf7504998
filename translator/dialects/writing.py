"""What the writers of dialects share: which edges of canonical steps a list's own order already says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from translator.diagnostics import NOWHERE, Findings
from translator.dialects.common import dependency
from translator.dialects.routing import Listed, Target, connect
from translator.source import Map, Seq, plain

SHORT = 200  # steps of a list up to which every edge is tried by itself


class Written(NamedTuple):
    """For each step of a list the `depends_on` to write (None: say nothing), and for each choice by id its targets."""

    edges: list[Seq | None]
    targets: dict[str, list[Target]]


def edges_of(step: Map) -> list[Any]:
    """The edges of a step as plain data, to be compared."""
    edges: list[Any] = plain(step.get("depends_on") or [])
    return edges


def two_way(step: Map) -> bool:
    """Whether a choice is a plain condition: one case `true`, otherwise `false`."""
    cases = step.get("cases") or []
    return bool(step.get("type") == "choice" and len(cases) == 1 and cases[0]["name"] == "true"
        and step.get("default") == "false" and step.get("mode", "first") == "first")


def shortest(steps: Sequence[Map], barriers: Sequence[int], *, strict: bool = False,
        routes: Callable[[Map], bool] = two_way) -> Written | None:
    """The fewest edges to write so that reading the list gives back exactly the edges of `steps`.

    `routes` tells the choices that can name their targets. None when no way of writing gives the same edges.
    """
    identifiers = {step["id"] for step in steps}
    if len(identifiers) < len(steps):
        return None
    able = {step["id"] for step in steps if routes(step)}
    targeted = {index for index, step in enumerate(steps) if _routed(edges_of(step), able)}
    explicit: set[int] = set()
    patience = len(steps) if len(steps) <= SHORT else 2
    for attempt in range(patience + 2):
        if attempt == patience + 1:
            targeted, explicit = set(), set(range(len(steps)))
        elif attempt == patience:
            explicit = set(range(len(steps))) - targeted
        targets = _targets(steps, targeted)
        written = [_edges(step) if index in explicit else None for index, step in enumerate(steps)]
        listed = [
            Listed(_bare(step), None if edges is None else [*edges.pairs()], targets.get(step["id"], []), barrier)
            for step, edges, barrier in zip(steps, written, barriers, strict=True)]
        connect(listed, Findings(), strict=strict)
        wrong = {index for index, (entry, step) in enumerate(zip(listed, steps, strict=True))
            if plain(entry.step.get("depends_on") or []) != edges_of(step)}
        if not wrong:
            return Written(written, targets)
        if attempt < patience and patience > 2:
            wrong = {min(wrong)}  # what comes after it may be wrong only because of it
        targeted -= wrong
        explicit |= wrong
    return None


def _routed(edges: list[Any], able: set[str]) -> bool:
    return bool(edges) and all(isinstance(edge, dict) and edge.get("on") and "when" not in edge and edge["step"] in able
        and set(edge["on"]) <= {"true", "false"} for edge in edges)


def _targets(steps: Sequence[Map], targeted: set[int]) -> dict[str, list[Target]]:
    found: dict[str, list[Target]] = {}
    for index in sorted(targeted):
        for edge in edges_of(steps[index]):
            for outcome in edge["on"]:
                found.setdefault(edge["step"], []).append(Target(outcome, steps[index]["id"], NOWHERE))
    return found


def _bare(step: Map) -> Map:
    bare = Map(step.pos)
    bare.move("id", step)
    return bare


def _edges(step: Map) -> Seq:
    edges = Seq(step.at("depends_on"))
    for edge in step.get("depends_on") or ():
        if isinstance(edge, Map):
            edges.add(dependency(edge["step"], edge.pos, edge.get("on"), edge.get("when")), edge.pos)
        else:
            edges.add(edge, edges.pos)
    return edges


def branches(step: Map, targets: Sequence[Target]) -> Map:
    """`{true: {target_step: …}, false: {target_step: …}}`"""
    result = Map(step.at("cases"))
    for outcome in ("true", "false"):
        named = [target.step for target in targets if target.outcome == outcome]
        if named:
            target = Map(result.pos)
            many = Seq(result.pos)
            for name in named:
                many.add(name, result.pos)
            target.put("target_step", many if len(many) > 1 else named[0], result.pos)
            result.put(outcome, target, result.pos)
    return result
