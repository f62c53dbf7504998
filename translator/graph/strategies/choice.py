"""Which strategy a graph is laid out by. README.md says why each of them is right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from translator.graph.strategies.bounded import bounded
from translator.graph.strategies.dag import Dag, reduced, tails
from translator.graph.strategies.exact import exact
from translator.graph.strategies.hinted import hinted
from translator.graph.strategies.layout import Layout
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
    priority = tails(dag)
    layout = bounded(layout, limit, priority)
    return bounded(levels(dag), limit, priority) if express and layout.slots else layout
