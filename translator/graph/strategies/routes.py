"""How a value comes from the step that gives it to a step that reads it, where branches lie between them: along tokens.

Branches of a Parallel cannot read each other's variables. So what a step reads of a step in another branch comes with signals,
by one token or several, into a variable of its own branch.
"""

from __future__ import annotations

from functools import reduce
from operator import or_

from translator.graph.strategies.dag import topological
from translator.graph.strategies.layout import Branches, Layout, Leaf, Tree, nodes


class Routes:
    """Paths along the tokens of one layout. Places are its steps and joints; tokens are named by their position in it."""

    def __init__(self, layout: Layout) -> None:
        assert layout.tree is not None
        count = layout.steps + layout.joints
        self._first, self._second = _two_orders(layout.tree, count)
        depth = _depths(layout.tree, count)
        # The outermost branch comes first: whatever else is read inside of it reads the same variable.
        self._tokens = sorted(
            range(len(layout.tokens)), key=lambda at: (depth[layout.tokens[at][1]], self._first[layout.tokens[at][1]], at)
        )
        self._source = [layout.tokens[at][0] for at in self._tokens]
        self._after = self._signals_after(layout, count)
        self._before = self._waits_before(layout, count)

    def beside(self, first: int, second: int) -> bool:
        """Whether the tree leaves two places without an order."""
        return (self._first[first] < self._first[second]) != (self._second[first] < self._second[second])

    def path(self, source: int, reader: int) -> list[int]:
        """The tokens along which a value of `source` comes to `reader`; none where the tree alone says the order."""
        found: list[int] = []
        place = reader
        while place != source and self.beside(source, place):
            common = self._after[source] & self._before[place]
            if not common:
                raise ValueError(f"no order leads from {source} to {place}")
            token = (common & -common).bit_length() - 1
            found.append(self._tokens[token])
            place = self._source[token]
        return found[::-1]

    def _signals_after(self, layout: Layout, count: int) -> list[int]:
        """For each place the tokens (as bits) whose signal is sent there or later."""
        preds = points(layout)
        succs: list[list[int]] = [[] for _ in preds]
        for point, near in enumerate(preds):
            for other in near:
                succs[other].append(point)
        masks = [0] * len(preds)
        for bit, source in enumerate(self._source):
            masks[source] |= 1 << bit
        for point in reversed(topological(preds, succs)):
            for other in succs[point]:
                masks[point] |= masks[other]
        return masks[:count]

    def _waits_before(self, layout: Layout, count: int) -> list[int]:
        """For each place the tokens (as bits) that were waited for there or before, as the tree says."""
        own = [0] * count
        for bit, at in enumerate(self._tokens):
            own[layout.tokens[at][1]] |= 1 << bit
        found = [0] * count
        inside: dict[int, int] = {}  # all tokens waited for in a node
        for tree in reversed([*nodes(layout.tree)]):
            if isinstance(tree, Leaf):
                inside[id(tree)] = own[tree.step]
            else:
                inside[id(tree)] = reduce(or_, (inside[id(part)] for part in tree.parts))
        stack: list[tuple[Tree, int]] = [(layout.tree, 0)] if layout.tree is not None else []
        while stack:
            tree, mask = stack.pop()
            if isinstance(tree, Leaf):
                found[tree.step] = mask | own[tree.step]
                continue
            for part in tree.parts:
                stack.append((part, mask))
                if not isinstance(tree, Branches):
                    mask |= inside[id(part)]
        return found


def points(layout: Layout) -> list[list[int]]:
    """The predecessors of every place of a layout, and of points between them (numbered after the places)."""
    preds: list[list[int]] = [[] for _ in range(layout.steps + layout.joints)]
    stack: list[tuple[Tree, int, int]] = [(layout.tree, -1, -1)] if layout.tree is not None else []
    while stack:  # every tree node runs between two points
        tree, entry, out = stack.pop()
        if isinstance(tree, Leaf):
            if entry >= 0:
                preds[tree.step].append(entry)
            if out >= 0:
                preds[out].append(tree.step)
        elif isinstance(tree, Branches):
            stack.extend((part, entry, out) for part in tree.parts)
        else:
            for position, part in enumerate(tree.parts):
                leave = out
                if position + 1 < len(tree.parts):
                    leave = len(preds)
                    preds.append([])
                stack.append((part, entry, leave))
                entry = leave
    for source, target in layout.tokens:
        preds[target].append(source)
    return preds


def _two_orders(tree: Tree, count: int) -> tuple[list[int], list[int]]:
    """Two linear orders that agree on two places exactly where the tree puts one before the other."""
    orders = []
    for turned in (False, True):
        position = [0] * count
        number = 0
        stack: list[Tree] = [tree]
        while stack:
            here = stack.pop()
            if isinstance(here, Leaf):
                position[here.step] = number
                number += 1
            elif isinstance(here, Branches) and turned:
                stack.extend(here.parts)
            else:
                stack.extend(reversed(here.parts))
        orders.append(position)
    return orders[0], orders[1]


def _depths(tree: Tree, count: int) -> list[int]:
    """How many branches each place is inside of."""
    found = [0] * count
    stack: list[tuple[Tree, int]] = [(tree, 0)]
    while stack:
        here, depth = stack.pop()
        if isinstance(here, Leaf):
            found[here.step] = depth
        else:
            stack.extend((part, depth + isinstance(here, Branches)) for part in here.parts)
    return found
