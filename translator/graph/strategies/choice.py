"""Which strategy a graph is laid out by. README.md says why each of them is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from translator.graph.strategies.dag import Dag, reduced, tails
from translator.graph.strategies.exact import exact
from translator.graph.strategies.hinted import hinted
from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Slots, Tree, nodes
from translator.graph.strategies.simple import barriers, chains, levels

_ALL: dict[str, Callable[[Dag, frozenset[int]], Layout]] = {
    "levels": lambda dag, vocal: levels(dag),
    "barriers": lambda dag, vocal: barriers(dag),
    "chains": chains,
    "exact": exact,
    "hinted": hinted,
}
STRATEGIES = (*_ALL, "auto")


def arrange(
    preds: Sequence[Iterable[int]],
    strategy: str = "auto",
    durations: Sequence[float] | None = None,
    limit: int | None = None,
    *,
    express: bool = False,
    vocal: frozenset[int] = frozenset(),
) -> Layout:
    """The layout of a graph; `Layout.strategy` is the one that was taken.

    `preds` holds for each step the steps it waits for. `durations` are estimates in seconds, one for each step. With
    `limit`, at most so many steps run at once. `vocal` are the steps whose own function can send signals. `auto` is
    `barriers` for Express, which has no tokens (with a limit that this cannot keep, `levels`). Else it is `exact`, or
    `hinted` where durations are given and it enters fewer states. An unknown strategy or a wrong number of durations is a
    ValueError, as is a cycle (`dag.CycleError`).
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"the strategy {strategy!r} does not exist; there are {', '.join(STRATEGIES)}")
    if limit is not None and limit < 1:
        raise ValueError(f"at most {limit} steps at once")
    dag = reduced(preds, durations)
    if strategy == "auto":
        strategy = "barriers" if express else "exact" if durations is None else "hinted"
        layout = _ALL[strategy](dag, vocal)
        if strategy == "hinted" and not layout.added:
            layout = replace(layout, strategy="exact")
    else:
        layout = _ALL[strategy](dag, vocal)
    if limit is None:
        return layout
    layout = _bounded(layout, dag, limit)
    return _bounded(levels(dag), dag, limit) if express and layout.slots else layout


def _bounded(layout: Layout, dag: Dag, limit: int) -> Layout:
    """The same layout with at most `limit` steps at once.

    Where one level of single steps is all that is wider than the limit, a bounded Branches keeps it, at no cost. Otherwise
    every step acquires a place after its waits and releases it when it ends.
    """
    if layout.tree is None or _width(layout.tree) <= limit:
        return layout
    if not layout.tokens:
        tree = _uniform(layout.tree, limit)
        if tree is not None:
            return replace(layout, tree=tree)
    return replace(layout, slots=Slots(limit, tuple(tails(dag))))


def _width(tree: Tree) -> int:
    """How many steps may run at once."""
    done: dict[int, int] = {}
    for here in reversed(list(nodes(tree))):
        if isinstance(here, Leaf):
            done[id(here)] = 1
        else:
            widths = [done[id(part)] for part in here.parts]
            total = sum(widths) if isinstance(here, Branches) else max(widths)
            done[id(here)] = min(total, here.limit) if isinstance(here, Branches) and here.limit else total
    return done[id(tree)]


def _uniform(tree: Tree, limit: int) -> Tree | None:
    """The tree with a limit on whatever is too wide, if that is single steps side by side and nothing else runs beside them."""
    parts = []
    for part in tree.parts if isinstance(tree, Series) else (tree,):
        if _width(part) > limit:
            if not isinstance(part, Branches) or not all(isinstance(inner, Leaf) for inner in part.parts):
                return None
            part = Branches(part.parts, limit)
        parts.append(part)
    return Series(tuple(parts)) if isinstance(tree, Series) else parts[0]
