"""Strategies of one idea each: `levels`, `barriers` and `chains`."""

from __future__ import annotations

from collections.abc import Sequence

from translator.graph.strategies.dag import Dag
from translator.graph.strategies.layout import Layout, Leaf, Tree, branches, length, series


def levels(dag: Dag) -> Layout:
    """Steps of the same depth side by side, with a barrier after each depth."""
    depth = [0] * len(dag)
    rows: list[list[int]] = []
    for step in dag.order:
        depth[step] = max((depth[source] + 1 for source in dag.preds[step]), default=0)
        if depth[step] == len(rows):
            rows.append([])
        rows[depth[step]].append(step)
    parts = [branches([Leaf(step) for step in sorted(row)]) for row in rows]
    return Layout("levels", len(dag), series(parts) if parts else None, added=len(parts) > 1)


def chains(dag: Dag, vocal: frozenset[int] = frozenset()) -> Layout:
    """As few paths as can hold all steps, side by side, with a token for each edge that is on none."""
    follower = _followers(dag)
    starts = set(range(len(dag))) - {target for target in follower if target >= 0}
    paths: list[Tree] = []
    for start in sorted(starts):
        path: list[Tree] = []
        step = start
        while step >= 0:
            path.append(Leaf(step))
            step = follower[step]
        paths.append(series(path))
    tokens = [(source, target) for source in range(len(dag)) for target in dag.succs[source] if follower[source] != target]
    return Layout("chains", len(dag), branches(paths) if paths else None, tuple(tokens), vocal=vocal)


def _followers(dag: Dag) -> list[int]:
    """Which step follows each on its path, or -1: a greatest matching of the edges (Hopcroft and Karp, doi 10.1137/0202019)."""
    count = len(dag)
    follower, leader = [-1] * count, [-1] * count
    for step in dag.order:  # a greedy start: the successor with the fewest predecessors
        free = [target for target in dag.succs[step] if leader[target] < 0]
        if free:
            target = min(free, key=lambda other: (len(dag.preds[other]), other))
            follower[step], leader[target] = target, step
    while True:
        layer = [0 if follower[step] < 0 else -1 for step in range(count)]
        row = [step for step in range(count) if not layer[step]]
        found = False
        for step in row:  # grows while it is read
            for target in dag.succs[step]:
                other = leader[target]
                if other < 0:
                    found = True
                elif layer[other] < 0:
                    layer[other] = layer[step] + 1
                    row.append(other)
        if not found:
            return follower
        at = [0] * count
        for start in range(count):
            if follower[start] < 0:
                _augment(start, dag, follower, leader, layer, at)


def _augment(start: int, dag: Dag, follower: list[int], leader: list[int], layer: list[int], at: list[int]) -> None:
    """Looks for one alternating path from a step without a follower, and turns it over."""
    path = [start]
    while path:
        step = path[-1]
        if at[step] == len(dag.succs[step]):
            layer[step] = -1
            path.pop()
            if path:
                at[path[-1]] += 1
            continue
        other = leader[dag.succs[step][at[step]]]
        if other < 0:
            for here in path:
                target = dag.succs[here][at[here]]
                follower[here], leader[target] = target, here
            return
        if layer[other] == layer[step] + 1:
            path.append(other)
        else:
            at[step] += 1


def barriers(dag: Dag) -> Layout:
    """Independent parts become branches and series cuts sequences; where neither is left, the best barrier is added.

    The best barrier lets all steps that end by some moment end before the others start, with the least time in all; of
    equally good ones it is the one that cuts most evenly. Each is best for itself only, so `levels` is taken where it is
    shorter in all.
    """
    if not len(dag):
        return Layout("barriers", 0, None)
    tree, added = _arranged(dag)
    other = levels(dag)
    if added and other.tree is not None and length(other.tree, dag.seconds) < length(tree, dag.seconds):
        tree = other.tree
    return Layout("barriers", len(dag), tree, added=added)


# What is left to do: a list of steps to arrange, or how many trees to put together.
_Task = tuple[str, Sequence[int], int]


def _arranged(dag: Dag) -> tuple[Tree, bool]:
    """The tree, and whether a barrier was added."""
    part = [0] * len(dag)  # which part each step is in at the moment
    count = 0
    added = False
    made: list[Tree] = []
    todo: list[_Task] = [("arrange", dag.order, 0)]
    while todo:
        what, members, number = todo.pop()
        if what != "arrange":
            trees = made[-number:]
            del made[-number:]
            made.append(series(trees) if what == "series" else branches(trees))
            continue
        if len(members) == 1:
            made.append(Leaf(members[0]))
            continue
        kind = "branches"
        split = _components(dag, members, part, number)
        if len(split) == 1:
            kind = "series"
            split = _cuts(dag, members, part, number)
        if len(split) == 1:
            added = True
            split = _barrier(dag, members, part, number)
        todo.append((kind, (), len(split)))
        for group in reversed(split):
            count += 1
            for step in group:
                part[step] = count
            todo.append(("arrange", group, count))
    return made[0], added


def _components(dag: Dag, members: Sequence[int], part: list[int], number: int) -> list[list[int]]:
    """The members without an edge between them, each in the order of the members, by the least step."""
    group: dict[int, int] = {}
    found = 0
    for start in members:
        if start in group:
            continue
        group[start] = found
        stack = [start]
        while stack:
            step = stack.pop()
            for near in (dag.preds[step], dag.succs[step]):
                for other in near:
                    if part[other] == number and other not in group:
                        group[other] = found
                        stack.append(other)
        found += 1
    split: list[list[int]] = [[] for _ in range(found)]
    for step in members:
        split[group[step]].append(step)
    return sorted(split, key=min)


def _cuts(dag: Dag, members: Sequence[int], part: list[int], number: int) -> list[list[int]]:
    """The members cut wherever all before precede all after.

    Such a cut is one of every topological order, and exactly there the edges from the last steps before it to the first
    steps after it are all that there can be.
    """
    inner = {step: sum(part[source] == number for source in dag.preds[step]) for step in members}
    waiting = dict(inner)
    first = {step for step in members if not inner[step]}  # of what comes after, those that nothing there precedes
    last: set[int] = set()  # of what came before, those that nothing there follows
    edges = 0  # from `last` to `first`
    split: list[list[int]] = [[]]
    for step in members:
        if split[-1] and edges == len(last) * len(first):
            split.append([])
        split[-1].append(step)
        first.discard(step)
        for source in dag.preds[step]:
            if part[source] != number:
                continue
            if source in last:
                last.discard(source)
                edges -= sum(target in first for target in dag.succs[source])
                edges -= 1  # to the step itself, which has left `first` already
        last.add(step)
        for target in dag.succs[step]:
            if part[target] == number:
                waiting[target] -= 1
                if not waiting[target]:
                    first.add(target)
                    edges += sum(source in last for source in dag.preds[target])
    return split


def _barrier(dag: Dag, members: Sequence[int], part: list[int], number: int) -> list[list[int]]:
    ends: dict[int, float] = {}
    rest: dict[int, float] = {}
    for step in members:
        ends[step] = max((ends[other] for other in dag.preds[step] if part[other] == number), default=0.0) + dag.seconds[step]
    for step in reversed(members):
        rest[step] = max((rest[other] for other in dag.succs[step] if part[other] == number), default=0.0) + dag.seconds[step]
    rank = {step: position for position, step in enumerate(members)}
    by_end = sorted(members, key=lambda step: (ends[step], rank[step]))
    best = (float("inf"), 0, 0)
    longest = 0.0
    for position in range(len(by_end) - 1, 0, -1):
        longest = max(longest, rest[by_end[position]])
        best = min(best, (ends[by_end[position - 1]] + longest, abs(2 * position - len(by_end)), position))
    size = best[2]
    return [sorted(group, key=rank.__getitem__) for group in (by_end[:size], by_end[size:])]
