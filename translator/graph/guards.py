"""Edges with conditions: the choice that stands for those of one step."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from translator.expressions.tree import Compare, Literal, Node, Unary
from translator.model.workflow import Case, Edge, Step

NEVER = Literal(False)  # the condition of an edge that only orders


def with_guards(steps: tuple[Step, ...], taken: Set[str]) -> list[Step]:
    """The steps, with one choice step after each step that has edges with conditions of their own.

    An edge whose condition is plainly false stays as it is: it orders, and is never live.
    """
    guarded: dict[str, list[tuple[str, Edge]]] = {}
    for step in steps:
        for edge in step.depends_on:
            if edge.when is not None and edge.when != NEVER:
                guarded.setdefault(edge.step, []).append((step.id, edge))
    if not guarded:
        return list(steps)
    names = {source: f"{source} edges" for source in guarded}
    for source in names:
        while names[source] in taken:
            names[source] += "'"
    choices: dict[str, Step] = {}
    outcome: dict[tuple[str, Node], str] = {}
    for source, routed in guarded.items():
        choices[source] = guard = _guard(source, names[source], routed)
        outcome |= {(source, case.when): case.name for case in guard.cases}
        for _, edge in routed:
            if edge.when is not None:
                outcome.setdefault((source, edge.when), guard.default)
    result: list[Step] = []
    for step in steps:
        edges = tuple(
            edge if edge.when is None or edge.when == NEVER
            else Edge(names[edge.step], (outcome[edge.step, edge.when],), None, edge.at)
            for edge in step.depends_on
        )
        result.append(step if edges == step.depends_on else replace(step, depends_on=edges))
        if step.id in choices:
            result.append(choices.pop(step.id))
    return [*result, *choices.values()]


def _guard(source: str, name: str, edges: list[tuple[str, Edge]]) -> Step:
    """The choice for a step's edges with conditions: a case for each condition, named after the first step that it leads to.

    It takes one outcome where at most one condition can hold; the last condition of two opposite ones is its default.
    """
    found: dict[Node, Case] = {}
    for target, edge in edges:
        if edge.when is not None and edge.when not in found:
            again = "'" * sum(case.name.rstrip("'") == target for case in found.values())
            found[edge.when] = Case(target + again, edge.when, edge.at)
    cases, default = list(found.values()), ""
    exclusive = all(_never_both(one.when, two.when) for number, one in enumerate(cases) for two in cases[:number])
    if exclusive and len(cases) == 2 and _opposite(cases[0].when, cases[1].when):
        default = cases.pop().name
    at = edges[0][1].at
    return Step(
        id=name, type="choice", at=at, mode="one" if exclusive else "all", cases=tuple(cases), default=default,
        depends_on=(Edge(source, at=at),),
    )


def _opposite(one: Node, two: Node) -> bool:
    """Whether exactly one of two conditions holds, whatever they are asked about."""
    for first, second in ((one, two), (two, one)):
        if isinstance(first, Unary) and first.op == "not" and first.operand == second:
            return True
    known, other = _comparison(one), _comparison(two)
    return known is not None and other is not None and known[0] == other[0] and {known[1], other[1]} == {"==", "!="}


def _never_both(one: Node, two: Node) -> bool:
    """Whether at most one of two conditions holds: opposites, and a value that is compared with different constants."""
    if _opposite(one, two):
        return True
    first, second = _comparison(one), _comparison(two)
    if first is None or second is None or first[1] != "==" or second[1] != "==":
        return False
    (about, known), (other, told) = first[0], second[0]
    texts = all(isinstance(each, Literal) and isinstance(each.value, str) for each in (known, told))
    return texts and about == other and known != told


def _comparison(node: Node) -> tuple[tuple[Node, Node], str] | None:
    """A plain comparison: what is compared with what, and how."""
    if isinstance(node, Compare) and len(node.rest) == 1:
        (op, other), = node.rest
        return (node.first, other), op
    return None
