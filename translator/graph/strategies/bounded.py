"""Layouts with at most so many steps at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Slots, Tree, leaves, nodes


def width(tree: Tree) -> int:
    """How many steps may run at once."""
    return widest(tree, lambda here, widths: sum(widths))


def widest(tree: Tree, beside: Callable[[Branches, Sequence[int]], int]) -> int:
    """How many steps may run at once, where `beside` tells it of branches from how many may in each."""
    done: dict[int, int] = {}
    for here in reversed(list(nodes(tree))):
        if isinstance(here, Leaf):
            done[id(here)] = 1
        elif isinstance(here, Series):
            done[id(here)] = max(done[id(part)] for part in here.parts)
        else:
            total = beside(here, [done[id(part)] for part in here.parts])
            done[id(here)] = min(total, here.limit) if here.limit else total
    return done[id(tree)]


def bounded(
    layout: Layout, limit: int, priority: Sequence[float | None], width: Callable[[Tree], int] = width
) -> Layout:
    """The same order with at most `limit` steps at once. `priority` as in `Slots`; None for what needs no place.

    Where sequences side by side without tokens are all that is wider than the limit, a bounded `Branches` keeps it: what has
    begun waits for nobody, so a place is taken as long as there is something to do. In the other parts every step acquires a
    place after its waits and releases it when it ends.
    """
    if layout.tree is None or width(layout.tree) <= limit:
        return layout
    tied = {place for token in layout.tokens for place in token}
    places: list[float | None] = [None] * layout.steps
    parts: list[Tree] = []
    for part in layout.tree.parts if isinstance(layout.tree, Series) else (layout.tree,):
        if width(part) <= limit:
            parts.append(part)
        elif isinstance(part, Branches) and all(width(inner) == 1 for inner in part.parts) and tied.isdisjoint(leaves(part)):
            parts.append(Branches(tuple(sorted(part.parts, key=lambda inner: _first(inner, priority))), limit))
        else:
            parts.append(part)
            for step in leaves(part):
                if step < layout.steps:
                    places[step] = priority[step]
    tree = Series(tuple(parts)) if len(parts) > 1 else parts[0]
    slots = Slots(limit, tuple(places)) if any(place is not None for place in places) else None
    return replace(layout, tree=tree, slots=slots)


def _first(part: Tree, priority: Sequence[float | None]) -> float:
    """Where a sequence stands among others: the longest way on from its first step comes first."""
    return -max((priority[step] or 0.0 for step in leaves(part) if step < len(priority)), default=0.0)
