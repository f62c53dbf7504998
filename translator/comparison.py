"""What each strategy makes of a workflow whose order is not series-parallel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from translator.asl.ordering import longest
from translator.costs import Range, usd_per_1000
from translator.graph.strategies.choice import STRATEGIES
from translator.pipeline import Compilation


@dataclass(frozen=True, slots=True)
class Figures:
    """Ranges are the least and the most on any way through without failures. `makespan`: see `longest`."""

    makespan: float
    transitions: tuple[int, int]
    states: int
    events: tuple[int, int]
    lambda_calls: tuple[int, int]
    usd_per_1000: Range


def compare(
    compilations: Sequence[Compilation], compile: Callable[[str], Sequence[Compilation]]
) -> Mapping[str, Mapping[str, Figures]]:
    """Figures by workflow and strategy. `compile` compiles the same definitions with a strategy.

    Workflows whose order is series-parallel are left out: there is one way to run them. Where tokens are not possible,
    strategies with tokens are left out.
    """
    asked = [one for one in compilations if one.arrangements]
    if not asked:
        return {}
    found: dict[str, dict[str, Figures]] = {one.workflow.id: {} for one in asked}
    for strategy in STRATEGIES:
        if strategy == "auto":
            continue
        for one in compile(strategy):
            taken = {name for each in one.arrangements for name in each.strategy.split("+")}
            if one.workflow.id in found and strategy in taken:
                found[one.workflow.id][strategy] = figures(one)
    return found


def figures(compilation: Compilation) -> Figures:
    known, cost = compilation.estimate, compilation.estimate.cost
    durations = compilation.workflow.settings.durations
    return Figures(
        longest(compilation.graph.body, compilation.layouts, durations), cost.transitions, known.states, cost.events,
        cost.lambda_calls, usd_per_1000(compilation),
    )
