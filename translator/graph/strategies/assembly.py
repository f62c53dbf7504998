"""From the nodes and cuts of a reduction to a layout: token ends get their places, joints that say nothing go."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Tree, branches, leaves, series
from translator.graph.strategies.reduction import LEAF, SERIES, Node

_SPARE_TOKENS = 24  # a joint stays when going without it would take more further tokens than this: a gate costs about as much


def assemble(
    strategy: str, steps: int, joints: int, nodes: Sequence[Node], root: int, cuts: Iterable[tuple[int, int]],
    vocal: frozenset[int] = frozenset(),
) -> Layout:
    """The layout of a reduction. A cut names the node after which a signal is sent and the node before which it is awaited."""
    wiring = Wiring(steps, steps + joints)
    cuts = list(cuts)
    # Where a node begins and ends: a vertex, or (as -1 - node) branches, which need a joint to hold a token.
    begins: list[int] = []
    ends: list[int] = []
    for number, (kind, first, second) in enumerate(nodes):
        begins.append(first if kind == LEAF else begins[first] if kind == SERIES else -1 - number)
        ends.append(first if kind == LEAF else ends[second] if kind == SERIES else -1 - number)
    before: dict[int, int] = {}
    after: dict[int, int] = {}
    for source, target in cuts:
        wiring.add(wiring.place(ends[source], after), wiring.place(begins[target], before))
    return tidied(strategy, _tree(nodes, root, before, after), wiring, vocal)


class Wiring:
    """Tokens by both of their ends."""

    def __init__(self, steps: int, count: int) -> None:
        self.steps, self.count = steps, count
        self.after: dict[int, set[int]] = {}
        self.before: dict[int, set[int]] = {}

    def joint(self) -> int:
        self.count += 1
        return self.count - 1

    def place(self, vertex: int, joints: dict[int, int]) -> int:
        if vertex >= 0:
            return vertex
        if -1 - vertex not in joints:
            joints[-1 - vertex] = self.joint()
        return joints[-1 - vertex]

    def add(self, first: int, second: int) -> None:
        self.after.setdefault(first, set()).add(second)
        self.before.setdefault(second, set()).add(first)

    def take_signals(self, vertex: int) -> set[int]:
        targets = self.after.pop(vertex, set())
        for target in targets:
            self.before[target].discard(vertex)
        return targets

    def take_waits(self, vertex: int) -> set[int]:
        sources = self.before.pop(vertex, set())
        for source in sources:
            self.after[source].discard(vertex)
        return sources


def _tree(nodes: Sequence[Node], root: int, before: dict[int, int], after: dict[int, int]) -> Tree:
    """Nodes become trees, with chains of the same kind as one; iteratively, since reductions nest deeply."""
    done: dict[int, Tree] = {}
    stack = [root]
    while stack:
        number = stack[-1]
        kind, first, _ = nodes[number]
        if kind == LEAF:
            done[number] = Leaf(first)
            stack.pop()
            continue
        parts = _chain(nodes, number, before, after)
        missing = [part for part in parts if part not in done]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        trees = [done[part] for part in parts]
        if kind == SERIES:
            done[number] = series(trees)
            continue
        tree = branches(trees)
        inner = [Leaf(joints[number]) for joints in (before, after) if number in joints]
        if inner:
            around: list[Tree] = [Leaf(before[number])] if number in before else []
            around.append(tree)
            if number in after:
                around.append(Leaf(after[number]))
            tree = series(around)
        done[number] = tree
    return done[root]


def _chain(nodes: Sequence[Node], number: int, before: dict[int, int], after: dict[int, int]) -> list[int]:
    """The parts of a node, through nodes of its kind; branches that a token begins or ends at stay together."""
    kind = nodes[number][0]
    parts: list[int] = []
    stack = [number]
    while stack:
        here = stack.pop()
        if nodes[here][0] == kind and (here == number or kind == SERIES or here not in before and here not in after):
            stack.extend((nodes[here][2], nodes[here][1]))
        else:
            parts.append(here)
    return parts


def tidied(strategy: str, tree: Tree, wiring: Wiring, vocal: frozenset[int]) -> Layout:
    """The same order with as few joints as there can be, numbered in the order of writing."""
    done: dict[int, Tree | None] = {}
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        here, ready = stack.pop()
        if isinstance(here, Leaf):
            done[id(here)] = _row([here], wiring)
        elif not ready:
            stack.append((here, True))
            stack.extend((part, False) for part in here.parts if not (isinstance(here, Series) and isinstance(part, Leaf)))
        elif isinstance(here, Branches):
            kept = [part for part in (done[id(part)] for part in here.parts) if part is not None]
            done[id(here)] = branches(kept, here.limit) if kept else None
        else:
            items = (part if isinstance(part, Leaf) else done[id(part)] for part in here.parts)
            done[id(here)] = _row([item for item in items if item is not None], wiring)
    clean = done[id(tree)]
    names: dict[int, int] = {}
    for vertex in leaves(clean):
        if vertex >= wiring.steps:
            names[vertex] = wiring.steps + len(names)
    tokens = sorted(
        (names.get(source, source), names.get(target, target)) for source, targets in wiring.after.items() for target in targets
    )
    return Layout(strategy, wiring.steps, _renamed(clean, names), tuple(tokens), len(names), vocal=vocal)


def _row(items: list[Tree], wiring: Wiring) -> Tree | None:
    """One sequence: the tokens of joints go to the steps beside them, or to one joint for each way."""
    if len(items) == 1 and isinstance(items[0], Leaf) and items[0].step < wiring.steps:
        return items[0]
    row: list[Tree] = []
    run: list[int] = []
    flat: list[Tree] = []
    for part in items:
        flat.extend(part.parts if isinstance(part, Series) else (part,))
    ends: list[Tree | None] = [*flat, None]
    for item in ends:
        if isinstance(item, Leaf) and item.step >= wiring.steps:
            run.append(item.step)
            continue
        if run:
            row.extend(_joints(run, row[-1] if row else None, item, wiring))
            run = []
        if item is not None:
            row.append(item)
    return series(row) if row else None


def _joints(run: list[int], above: Tree | None, below: Tree | None, wiring: Wiring) -> list[Tree]:
    """What is left of neighbouring joints between `above` and `below`."""
    signaller = above.step if isinstance(above, Leaf) else -1
    waiter = below.step if isinstance(below, Leaf) else -1
    kept: list[int] = []
    waited: set[int] = set()
    direct: set[int] = set()  # what `signaller` has to signal
    for joint in run:
        sources, targets = wiring.before.get(joint, set()), wiring.after.get(joint, set())
        union = waited | sources
        if targets and union and (above is None or len(union) * len(targets) - len(union) - len(targets) > _SPARE_TOKENS):
            # The signal goes on what the joint has waited for, in a gate of its own.
            sources = waited | wiring.take_waits(joint)
            for source in sources:
                wiring.add(source, joint)
            waited = set()
            kept.append(joint)
            continue
        waited |= wiring.take_waits(joint)
        for target in wiring.take_signals(joint):
            if kept:
                wiring.add(kept[-1], target)
            else:
                direct.add(target)
            for source in waited:
                wiring.add(source, target)
    result: list[Tree] = []
    if direct:
        if signaller < 0:
            signaller = wiring.joint()
            result.append(Leaf(signaller))
        for target in direct:
            wiring.add(signaller, target)
    result.extend(map(Leaf, kept))
    if waited:
        if waiter < 0:
            waiter = wiring.joint()
            result.append(Leaf(waiter))
        for source in waited:
            wiring.add(source, waiter)
    return result


def _renamed(tree: Tree | None, names: dict[int, int]) -> Tree | None:
    if tree is None or not names:
        return tree
    done: dict[int, Tree] = {}
    stack: list[tuple[Tree, bool]] = [(tree, False)]
    while stack:
        here, ready = stack.pop()
        if isinstance(here, Leaf):
            done[id(here)] = Leaf(names.get(here.step, here.step))
        elif not ready:
            stack.append((here, True))
            stack.extend((part, False) for part in here.parts)
        elif isinstance(here, Series):
            done[id(here)] = Series(tuple(done[id(part)] for part in here.parts))
        else:
            done[id(here)] = Branches(tuple(done[id(part)] for part in here.parts), here.limit)
    return done[id(tree)]
