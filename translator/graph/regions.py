"""Regions: the order of a scope as nested series and branches, the shape that state machines have.

A graph that is series-parallel is decomposed without adding any order: series cuts become a `Series`, independent parts
become `Branches`. What is left (an N-shaped part) runs level by level with a barrier after each.
"""

from __future__ import annotations

from collections.abc import Callable

from translator.graph.scope import Scope
from translator.graph.strategies.bounded import width
from translator.graph.strategies.layout import Branches, Leaf, Series, Tree, leaves

MAX_NESTING = 60  # beyond this depth of series inside of branches, levels keep the machine flat

Stuck = Callable[[Scope, list[int]], Tree]


def decompose(scope: Scope, limit: int | None = None, stuck: Stuck | None = None) -> Tree | None:
    """The scope's order as a region, at most `limit` steps at once; None for a scope without steps.

    `stuck` makes a region of steps that are neither independent parts nor in series, by levels unless it is given.
    """
    if not scope.steps:
        return None
    return _bounded(scope, _region(scope, list(scope.order), 0, stuck or levels), limit)


def _region(scope: Scope, steps: list[int], depth: int, stuck: Stuck) -> Tree:
    if len(steps) == 1:
        return Leaf(steps[0])
    if depth > MAX_NESTING:
        return levels(scope, steps)
    parts = _components(scope, steps)
    if len(parts) > 1:
        return Branches(tuple(_region(scope, part, depth + 1, stuck) for part in parts))
    cuts = _series(scope, steps)
    if len(cuts) > 1:
        return Series(tuple(_region(scope, part, depth + 1, stuck) for part in cuts))
    return stuck(scope, steps)


def _components(scope: Scope, steps: list[int]) -> list[list[int]]:
    """The parts of `steps` without an edge between them, each in topological order, in the order of writing."""
    parent = {step: step for step in steps}

    def root(step: int) -> int:
        while parent[step] != step:
            parent[step] = parent[parent[step]]
            step = parent[step]
        return step

    for step in steps:
        for target in scope.succs[step]:
            if target in parent:
                parent[root(step)] = root(target)
    parts: dict[int, list[int]] = {}
    for step in steps:
        parts.setdefault(root(step), []).append(step)
    return sorted(parts.values(), key=min)


def _series(scope: Scope, steps: list[int]) -> list[list[int]]:
    """`steps` cut wherever everything before the cut precedes everything after it."""
    mask = 0
    for step in steps:
        mask |= 1 << step
    inside = {step: scope.before[step] & mask for step in steps}
    ranked = sorted(steps, key=lambda step: inside[step].bit_count())
    common = mask  # ancestors shared by all steps from here to the end
    shared = [0] * len(ranked)
    for position in range(len(ranked) - 1, -1, -1):
        common &= inside[ranked[position]]
        shared[position] = common
    parts: list[list[int]] = [[]]
    prefix = 0
    for position, step in enumerate(ranked):
        if position and not prefix & ~shared[position]:
            parts.append([])
        parts[-1].append(step)
        prefix |= 1 << step
    return [sorted(part, key=scope.rank.__getitem__) for part in parts]


def levels(scope: Scope, steps: list[int]) -> Tree:
    """Steps level by level, with a barrier after each."""
    inside = set(steps)
    level: dict[int, int] = {}
    for step in steps:  # topological order
        level[step] = max((level[source] + 1 for source, _ in scope.preds[step] if source in inside), default=0)
    rows: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for step in sorted(steps):
        rows[level[step]].append(step)
    parts = tuple(Leaf(row[0]) if len(row) == 1 else Branches(tuple(map(Leaf, row))) for row in rows)
    return parts[0] if len(parts) == 1 else Series(parts)


def _bounded(scope: Scope, region: Tree, limit: int | None) -> Tree:
    """The same order with at most `limit` steps at once: wide parts run level by level, each level bounded."""
    if limit is None or isinstance(region, Leaf) or width(region) <= limit:
        return region
    if isinstance(region, Series):
        return Series(tuple(_bounded(scope, part, limit) for part in region.parts))
    if all(width(part) == 1 for part in region.parts):
        return Branches(region.parts, limit)
    flat = levels(scope, sorted(leaves(region), key=scope.rank.__getitem__))
    if isinstance(flat, Series):
        return Series(tuple(_bounded(scope, part, limit) for part in flat.parts))
    return Branches(flat.parts, limit) if isinstance(flat, Branches) else flat
