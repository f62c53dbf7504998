"""Which strategy a graph is laid out by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from translator.graph.strategies.dag import Dag, reduced
from translator.graph.strategies.exact import exact
from translator.graph.strategies.hinted import hinted
from translator.graph.strategies.layout import Layout
from translator.graph.strategies.simple import barriers, chains, levels

STRATEGIES = ("levels", "barriers", "chains", "exact")


def arrange(
    preds: Sequence[Iterable[int]],
    strategy: str = "auto",
    durations: Sequence[float] | None = None,
    vocal: frozenset[int] = frozenset(),
) -> Layout:
    dag = reduced(preds, durations)
    if strategy=="levels": return levels(dag)
    if strategy=="barriers": return barriers(dag)
    if strategy=="chains": return chains(dag,vocal)
    if strategy=="hinted": return hinted(dag,vocal)
    return exact(dag,vocal)
