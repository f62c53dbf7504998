"""Tokens that say nothing beyond what the tree and the other tokens say already."""

from __future__ import annotations

from dataclasses import replace

from translator.graph.strategies.assembly import Wiring, tidied
from translator.graph.strategies.dag import topological
from translator.graph.strategies.layout import Layout
from translator.graph.strategies.routes import points


def pruned(layout: Layout) -> Layout:
    """The same order without those tokens. In a layout without added order there are none."""
    if layout.tree is None or not layout.tokens:
        return layout
    preds = points(layout)
    succs: list[list[int]] = [[] for _ in preds]
    for point, near in enumerate(preds):
        for other in near:
            succs[other].append(point)
    order = topological(preds, succs)
    rank = [0] * len(preds)
    for position, point in enumerate(order):
        rank[point] = position
    masks = [0] * len(preds)
    needed: set[tuple[int, int]] = set()
    tokens = set(layout.tokens)
    for point in order:
        mask = 0
        for other in sorted(preds[point], key=rank.__getitem__, reverse=True):
            if not mask >> rank[other] & 1:
                needed.add((other, point))
                mask |= masks[other] | 1 << rank[other]
        masks[point] = mask
    kept = tokens & needed
    if len(kept) == len(tokens):
        return layout
    wiring = Wiring(layout.steps, layout.steps + layout.joints)
    for source, target in kept:
        wiring.add(source, target)
    return replace(tidied(layout.strategy, layout.tree, wiring, layout.vocal), slots=layout.slots)
