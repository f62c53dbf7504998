"""`exact`: every step starts the moment its last predecessor ends, with as few states as can be found."""

from __future__ import annotations

from dataclasses import replace

from translator.graph.strategies.core import EFFORT, kernel, layout_of, solved
from translator.graph.strategies.dag import Dag
from translator.graph.strategies.layout import Layout, transitions
from translator.graph.strategies.simple import chains


def exact(dag: Dag, vocal: frozenset[int] = frozenset(), effort: int = EFFORT) -> Layout:
    """Series and parallel reduction with tokens for what is left; `chains` where that enters fewer states."""
    if not len(dag):
        return Layout("exact", 0, None, vocal=vocal)
    graph = kernel(dag, vocal)
    found = layout_of("exact", graph, [solved(core, effort) for core in graph.cores])
    if not found.tokens:
        return found
    other = chains(dag, vocal)
    if transitions(other) < transitions(found):
        return replace(other, strategy="exact")
    return found
