"""Graphs of numbered steps: order, transitive reduction, longest paths, complete bipartite parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isfinite


@dataclass(slots=True)
class Dag:
    """A graph without transitive edges; `order` is topological, by number among steps that are free at the same time."""

    preds: list[list[int]]
    succs: list[list[int]]
    order: list[int]
    seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.preds)


class CycleError(ValueError):
    """The steps wait for each other."""


def reduced(preds: Sequence[Iterable[int]], durations: Sequence[float] | None = None) -> Dag:
    """The transitive reduction of a graph given by the predecessors of each step; durations default to one second."""
    count = len(preds)
    before = [sorted(set(sources)) for sources in preds]
    after: list[list[int]] = [[] for _ in range(count)]
    for step, sources in enumerate(before):
        for source in sources:
            after[source].append(step)
    order = topological(before, after)
    rank = [0] * count
    for position, step in enumerate(order):
        rank[step] = position
    # Ancestors as bit masks over ranks; a mask is dropped when the last successor has read it.
    masks: list[int] = [0] * count
    left = [len(targets) for targets in after]
    kept: list[list[int]] = [[] for _ in range(count)]
    for step in order:
        mask = 0
        for source in sorted(before[step], key=rank.__getitem__, reverse=True):
            if not mask >> rank[source] & 1:
                kept[step].append(source)
                mask |= masks[source] | 1 << rank[source]
            left[source] -= 1
            if not left[source]:
                masks[source] = 0
        kept[step].sort()
        masks[step] = mask if left[step] else 0
    succs: list[list[int]] = [[] for _ in range(count)]
    for step, sources in enumerate(kept):
        for source in sources:
            succs[source].append(step)
    seconds = [1.0] * count if durations is None else list(map(float, durations))
    if not all(isfinite(value) and value >= 0 for value in seconds):
        raise ValueError("a duration is no number of seconds")
    if len(seconds) != count:
        raise ValueError(f"{len(seconds)} durations for {count} steps")
    return Dag(kept, succs, order, seconds)


def topological(preds: list[list[int]], succs: list[list[int]]) -> list[int]:
    waiting = [len(sources) for sources in preds]
    order = [step for step, number in enumerate(waiting) if not number]
    for step in order:  # grows while it is read
        for target in succs[step]:
            waiting[target] -= 1
            if not waiting[target]:
                order.append(target)
    if len(order) < len(preds):
        raise CycleError("the graph has a cycle")
    return order


def tails(dag: Dag) -> list[float]:
    """The longest path from the start of each step to the end."""
    rest = [0.0] * len(dag)
    for step in reversed(dag.order):
        rest[step] = max((rest[target] for target in dag.succs[step]), default=0.0) + dag.seconds[step]
    return rest


@dataclass(slots=True)
class Joined:
    """A graph whose complete bipartite parts lead through joints, numbered from `steps` on."""

    steps: int
    preds: list[set[int]]
    succs: list[set[int]]


def joined(dag: Dag) -> Joined:
    """Puts a joint into each complete bipartite part: of steps with equal predecessors, and of steps with equal successors.

    A part of u and v steps has u + v edges afterwards instead of u · v.
    """
    graph = Joined(len(dag), [set(sources) for sources in dag.preds], [set(targets) for targets in dag.succs])
    for forward in (True, False):
        groups: dict[tuple[int, ...], list[int]] = {}
        for step in range(len(graph.preds)):
            near = graph.preds[step] if forward else graph.succs[step]
            if len(near) > 1:
                groups.setdefault(tuple(sorted(near)), []).append(step)
        for near_side, group in sorted(groups.items(), key=lambda item: -len(item[0]) * len(item[1])):
            if len(group) > 1:
                _join(graph, near_side, group) if forward else _join(graph, group, near_side)
    return graph


def _join(graph: Joined, above: Iterable[int], below: Iterable[int]) -> None:
    joint = len(graph.preds)
    graph.preds.append(set(above))
    graph.succs.append(set(below))
    for step in above:
        graph.succs[step].difference_update(below)
        graph.succs[step].add(joint)
    for step in below:
        graph.preds[step].difference_update(above)
        graph.preds[step].add(joint)
