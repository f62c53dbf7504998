"""Scopes made by hand: steps from a list of predecessors, some of them choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from translator.diagnostics import Findings
from translator.expressions.tree import Literal
from translator.graph.scope import Scope, build_graph
from translator.graph.strategies.layout import Branches, Leaf, Series, Tree
from translator.model.workflow import Case, Edge, Step, Workflow

Spec = tuple[tuple[int, tuple[str, ...]], ...]  # the incoming edges of a step: predecessor, outcomes


def workflow(*steps: Step) -> Workflow:
    return Workflow(id="w", name="w", steps=steps)


def scope_of(specs: Sequence[Spec], choices: dict[int, str] | None = None, cases: int = 2) -> Scope:
    """The scope of steps `s0`, `s1`, … with those edges; `choices` gives the mode of the steps that are choices."""
    steps = []
    for number, edges in enumerate(specs):
        more: dict[str, Any] = {}
        if choices and number in choices:
            named = tuple(Case(f"c{case}", Literal(True)) for case in range(cases))
            more = {"type": "choice", "cases": named, "default": "other", "mode": choices[number]}
        depends = tuple(Edge(f"s{source}", outcomes) for source, outcomes in edges)
        steps.append(Step(**{"id": f"s{number}", "type": "skill", "depends_on": depends} | more))
    findings = Findings()
    graph = build_graph(workflow(*steps), findings)
    assert graph is not None, [one.message for one in findings]
    return graph.body


@st.composite
def dags(draw: st.DrawFn, most: int = 9) -> list[Spec]:
    """Random acyclic graphs, written in a random order."""
    count = draw(st.integers(1, most))
    order = draw(st.permutations(range(count)))
    specs: list[Spec] = [()] * count
    for position, step in enumerate(order):
        sources = draw(st.sets(st.sampled_from(order[:position]), max_size=3)) if position else set()
        specs[step] = tuple((source, ()) for source in sorted(sources))
    return specs


@st.composite
def series_parallel(draw: st.DrawFn) -> list[Spec]:
    """Graphs made by putting parts one after the other and side by side."""
    specs: list[list[int]] = []

    def build(depth: int, before: list[int]) -> list[int]:
        """Adds a part behind the steps `before`; gives its last steps."""
        if depth == 0 or draw(st.integers(0, 2)) == 0:
            specs.append(list(before))
            return [len(specs) - 1]
        if draw(st.booleans()):
            for _ in range(draw(st.integers(2, 3))):
                before = build(depth - 1, before)
            return before
        return [last for _ in range(draw(st.integers(2, 3))) for last in build(depth - 1, before)]

    build(draw(st.integers(0, 3)), [])
    return [tuple((source, ()) for source in sources) for sources in specs]


def ancestors(specs: Sequence[Spec]) -> set[tuple[int, int]]:
    """All pairs (before, after), by following edges."""
    pairs: set[tuple[int, int]] = set()
    for step in range(len(specs)):
        stack = [source for source, _ in specs[step]]
        while stack:
            source = stack.pop()
            if (source, step) not in pairs:
                pairs.add((source, step))
                stack.extend(above for above, _ in specs[source])
    return pairs


def leaves(region: Tree) -> list[int]:
    return [region.step] if isinstance(region, Leaf) else [step for part in region.parts for step in leaves(part)]


def ordered(region: Tree) -> set[tuple[int, int]]:
    """All pairs (before, after) that a region puts in order."""
    if isinstance(region, Leaf):
        return set()
    pairs = {pair for part in region.parts for pair in ordered(part)}
    if isinstance(region, Series):
        for number, part in enumerate(region.parts):
            for later in region.parts[number + 1:]:
                pairs |= {(one, two) for one in leaves(part) for two in leaves(later)}
    return pairs


def most_at_once(region: Tree) -> int:
    """How many steps a region may run side by side."""
    if isinstance(region, Leaf):
        return 1
    if isinstance(region, Branches):
        # At most `limit` parts run at once: the widest ones.
        widths = sorted(map(most_at_once, region.parts), reverse=True)
        return sum(widths[: region.limit])
    return max(map(most_at_once, region.parts))
