"""The layout of a scope: series and branches where its order is series-parallel, and a strategy's layout for what is left."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from translator.graph.regions import MAX_NESTING, decompose, levels
from translator.graph.scope import Scope
from translator.graph.strategies.bounded import bounded, widest
from translator.graph.strategies.choice import arrange
from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Tree, leaves

_LEVELS = ("levels", "barriers")  # what they add in order is cheaper than places
MAX_AUTO = 400  # steps of a part that is not series-parallel


def arranged(
    scope: Scope, strategy: str, limit: int | None = None, *, express: bool = False, durations: Sequence[float] | None = None,
    instant: Collection[int] = (),
) -> Layout | None:
    """The scope's layout; None for a scope without steps. Its strategy is an empty text where all of it is series-parallel.

    Parts of which every step is `instant` need no strategy: nobody waits for nothing. With a `limit` that the graph is wider
    than, steps take places (`Layout.slots`), which tokens tell them of; where there are none, wide parts run level by level.
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
    names = sorted({layout.strategy for layout in taken})
    whole = Layout("+".join(names), count, tree, tuple(sorted(tokens)), joints, added=any(layout.added for layout in taken))
    def most(region: Tree) -> int:
        return widest(region, lambda here, widths: _beside(scope, here, widths))

    if limit is None or most(tree) <= limit:
        return whole
    if limit == 1:
        return Layout("sequence" if taken else "", count, Series(tuple(map(Leaf, scope.order))), added=True)
    priority = _priority(scope, durations, instant)
    if not express and strategy not in _LEVELS and count <= MAX_AUTO:
        layout = bounded(whole, limit, priority, most)
        return replace(layout, strategy=layout.strategy or "exact") if layout.slots else layout
    plain = decompose(scope, limit)
    return Layout("levels" if taken else "", count, plain, added=bool(taken))


def _beside(scope: Scope, region: Branches, widths: Sequence[int]) -> int:
    """How many steps of these branches may run at once: of those that hang on outcomes of one choice only one outcome's."""
    total = 0
    ways: dict[int, dict[str, int]] = {}
    for part, own in zip(region.parts, widths, strict=True):
        live = scope.whole(leaf for leaf in leaves(part) if leaf < len(scope.steps))
        choices = {choice for choice, _ in live or ()}
        if len(choices) != 1 or not scope.exclusive(min(choices)):
            total += own
            continue
        for choice, name in live or ():
            outcomes = ways.setdefault(choice, {})
            outcomes[name] = outcomes.get(name, 0) + own
    return total + sum(max(outcomes.values()) for outcomes in ways.values())


def _priority(scope: Scope, durations: Sequence[float] | None, instant: Collection[int]) -> list[float | None]:
    """The longest way on from each step, its own time included; None for what is done at once."""
    rest = [0.0] * len(scope.steps)
    for step in reversed(scope.order):
        own = durations[step] if durations is not None else 0.0 if step in instant else 1.0
        rest[step] = own + max((rest[target] for target in scope.succs[step]), default=0.0)
    return [None if step in instant else own for step, own in enumerate(rest)]


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
