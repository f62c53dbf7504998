"""What a graph cannot be reduced to a single step by: its cores, and good cuts for them."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass

from translator.graph.strategies.assembly import assemble
from translator.graph.strategies.dag import Dag, joined
from translator.graph.strategies.layout import Layout
from translator.graph.strategies.reduction import LEAF, PARALLEL, Node, Reduction, page_price

# Prices of the last edge of a vertex and of a shared gate: which of them serve a graph best shows by trying.
_PORTFOLIO = ((2.0, 1.0), (1.0, 1.0), (3.0, 1.0), (2.0, 2.0))
EFFORT = 30_000  # how many vertices and edges the search of a core may go through
_MOST_TRIES = 150


@dataclass(slots=True)
class Core:
    """A connected part of what is left after all reductions; its vertices are numbered from 0, `node` says what they are."""

    node: list[int]
    preds: list[list[int]]
    succs: list[list[int]]
    flat: list[int]
    empty: list[int]
    vocal: list[int]

    @property
    def size(self) -> int:
        return len(self.node) + sum(map(len, self.preds))

    def reduction(self) -> Reduction:
        return Reduction(
            [set(near) for near in self.preds], [set(near) for near in self.succs], self.flat, self.empty, self.vocal
        )


@dataclass(slots=True)
class Kernel:
    """A graph after all reductions that add no token: the nodes that were made, and the cores that are left."""

    steps: int
    joints: int
    nodes: list[Node]
    cores: list[Core]
    vocal: frozenset[int]


def kernel(dag: Dag, vocal: frozenset[int]) -> Kernel:
    graph = joined(dag)
    count = len(graph.preds)
    base = Reduction(graph.preds, graph.succs, (), range(len(dag), count), vocal)
    base.settle()
    return Kernel(len(dag), count - len(dag), base.nodes, _cores(base), vocal)


def _cores(base: Reduction) -> list[Core]:
    seen: set[int] = set()
    cores: list[Core] = []
    for start in range(len(base.alive)):
        if not base.alive[start] or start in seen:
            continue
        found = [start]
        seen.add(start)
        for vertex in found:  # grows while it is read
            for near in (base.preds[vertex], base.succs[vertex]):
                fresh = near - seen
                seen |= fresh
                found.extend(fresh)
        found.sort()
        number = {vertex: position for position, vertex in enumerate(found)}
        cores.append(Core(
            [base.node[vertex] for vertex in found],
            [sorted(number[other] for other in base.preds[vertex]) for vertex in found],
            [sorted(number[other] for other in base.succs[vertex]) for vertex in found],
            [number[vertex] for vertex in found if base.flat[vertex]],
            [number[vertex] for vertex in found if base.empty[vertex]],
            [number[vertex] for vertex in found if base.vocal[vertex]],
        ))
    return cores


def layout_of(strategy: str, graph: Kernel, solved: Iterable[Reduction]) -> Layout:
    """Puts the reductions of the cores, in their order, side by side."""
    nodes = list(graph.nodes)
    cuts: list[tuple[int, int]] = []
    root, joints = -1, graph.joints
    for core, reduction in zip(graph.cores, solved, strict=True):
        place: list[int] = []
        for kind, first, second in reduction.nodes:
            if kind == LEAF and first < len(core.node):
                place.append(core.node[first])
            elif kind == LEAF:  # a joint that the reduction has made
                place.append(len(nodes))
                nodes.append((LEAF, graph.steps + joints, -1))
                joints += 1
            else:
                place.append(len(nodes))
                nodes.append((kind, place[first], place[second]))
        cuts.extend((place[source], place[target]) for source, target in reduction.cuts)
        top = place[reduction.node[reduction.root]]
        if root >= 0:
            nodes.append((PARALLEL, root, top))
            top = len(nodes) - 1
        root = top
    return assemble(strategy, graph.steps, joints, nodes, root, cuts, graph.vocal)


def solved(core: Core, effort: int = EFFORT) -> Reduction:
    """A reduction of a core with few gates: greedy with several prices, then ruin and recreate.

    A round of the search takes away some neighbouring cuts of the best reduction so far, keeps the others, and lets the greedy
    rule with other prices find new ones. The draws are seeded by the core's size: equal graphs give equal layouts.
    """
    size = core.size
    best: Reduction | None = None
    for weights in _PORTFOLIO[: max(1, min(len(_PORTFOLIO), effort // size + 1))]:
        tried = core.reduction()
        tried.run(page_price(tried, *weights))
        if best is None or tried.total() < best.total():
            best = tried
    assert best is not None
    draw = random.Random(size)
    cuts = _named(best)
    for _ in range(min(_MOST_TRIES, effort // size)):
        if not cuts:
            break
        tried = _recreated(core, cuts, draw)
        if tried.total() <= best.total():
            best, cuts = tried, _named(tried)
    return best


def _named(reduction: Reduction) -> list[tuple[int, int]]:
    """The cuts by the vertices that are beside them."""
    first: list[int] = []
    last: list[int] = []
    for kind, one, two in reduction.nodes:
        if kind == LEAF:
            first.append(one)
            last.append(one)
        elif kind == PARALLEL:
            first.append(min(first[one], first[two]))
            last.append(min(last[one], last[two]))
        else:
            first.append(first[one])
            last.append(last[two])
    return [(last[source], first[target]) for source, target in reduction.cuts]


def _recreated(core: Core, cuts: list[tuple[int, int]], draw: random.Random) -> Reduction:
    centre = draw.choice(cuts)
    near = [(edge[0] not in centre and edge[1] not in centre, draw.random(), edge) for edge in cuts]
    ruined = {edge for *_, edge in sorted(near)[: 1 + int(draw.expovariate(1 / 3))]}
    bias = {edge: -10 + position * 1e-3 for position, edge in enumerate(cuts) if edge not in ruined}
    for edge in sorted(ruined):
        if draw.random() < 0.7:
            bias[edge] = 2 * draw.random()
    tried = core.reduction()
    base = page_price(tried, *draw.choice(_PORTFOLIO))
    first, last = tried.first, tried.last

    def price(source: int, target: int) -> float:
        edge = (last[source], first[target])
        extra = bias.get(edge)
        if extra is None:
            extra = bias[edge] = 0.3 * draw.random()
        return base(source, target) + extra

    tried.run(price)
    return tried
