"""The layout of a scope: series and branches where its order is series-parallel, and a strategy's layout for what is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from translator.graph.regions import MAX_NESTING, decompose, levels, width
from translator.graph.scope import Scope
from translator.graph.strategies.choice import arrange
from translator.graph.strategies.layout import Layout, Leaf, Tree

MAX_AUTO = 400  # steps of a part that is not series-parallel


def arranged(
    scope: Scope, strategy: str, limit: int | None = None, *, express: bool = False, durations: Sequence[float] | None = None,
    instant: Collection[int] = (),
) -> Layout | None:
    """The scope's layout; None for a scope without steps. Its strategy is an empty text where all of it is series-parallel.

    Parts of which every step is `instant` need no strategy: nobody waits for nothing. With a limit that the graph is wider than
    it has no tokens: a waiting branch would hold a place.
    """
    count = len(scope.steps)
    tokens: list[tuple[int, int]] = []
    taken: list[Layout] = []
    joints = 0

    def stuck(_: Scope, steps: list[int]) -> Tree:
        nonlocal joints
        if all(step in instant for step in steps):
            return levels(scope, steps)
        own = {step: number for number, step in enumerate(sorted(steps))}
        preds = [[own[source] for source, _ in scope.preds[step] if source in own] for step in own]
        seconds = [durations[step] for step in own] if durations is not None else None
        # Tokens take about as many bytes as the steps, and time to be found: a large part has barriers unless they are wanted.
        wanted = "levels" if strategy == "auto" and len(steps) > MAX_AUTO else strategy
        layout = arrange(preds, wanted, seconds, express=express)
        if layout.tree is not None and _nesting(layout.tree) > MAX_NESTING:
            layout = arrange(preds, "levels" if express else "chains", seconds)
        assert layout.tree is not None
        names = dict(enumerate(own)) | {len(own) + number: count + joints + number for number in range(layout.joints)}
        joints += layout.joints
        tokens.extend((names[source], names[target]) for source, target in layout.tokens)
        taken.append(layout)
        return _named(layout.tree, names)

    tree = decompose(scope, None, stuck)
    if tree is None:
        return None
    if limit is not None and width(tree) > limit:
        plain = decompose(scope, limit)
        return Layout("levels" if taken else "", count, plain, added=bool(taken))
    names = sorted({layout.strategy for layout in taken})
    return Layout("+".join(names), count, tree, tuple(sorted(tokens)), joints, added=any(layout.added for layout in taken))


def _nesting(tree: Tree) -> int:
    """How deeply nodes are inside of each other."""
    deepest = 0
    stack = [(tree, 0)]
    while stack:
        here, depth = stack.pop()
        deepest = max(deepest, depth)
        if not isinstance(here, Leaf):
            stack.extend((part, depth + 1) for part in here.parts)
    return deepest


def _named(tree: Tree, names: Mapping[int, int]) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf(names[tree.step])
    return replace(tree, parts=tuple(_named(part, names) for part in tree.parts))
