"""`hinted`: as `exact`, but barriers replace tokens where estimated durations say that nobody has to wait for long."""

from __future__ import annotations

import random
from dataclasses import replace

from translator.graph.strategies.core import Kernel, kernel, layout_of
from translator.graph.strategies.dag import Dag
from translator.graph.strategies.exact import exact
from translator.graph.strategies.layout import Layout, Tree, length, transitions
from translator.graph.strategies.pruning import pruned
from translator.graph.strategies.reduction import LEAF, SERIES
from translator.graph.strategies.relaxed import TOLERANCE, Relaxed, Times, Timing
from translator.graph.strategies.simple import barriers, levels

_SAMPLES = 5  # the estimates themselves, and draws around them
_SPREAD = 0.3  # of the logarithm of a duration
_POLICIES = (1.0, 0.2, 5.0)  # how much barriers of whole groups are preferred: which is best shows by trying
_EFFORT = 120_000  # how many vertices one policy may look at in one core
_HUGE = 4_000  # steps: above, half of the effort, and tokens are not searched for
_LARGE = 1_000  # vertices and edges of the cores: above, one policy is tried


def hinted(dag: Dag, vocal: frozenset[int] = frozenset()) -> Layout:
    """The layout with the fewest states of which the sampled makespan stays within 1 % of the ideal one."""
    large = len(dag) > _HUGE
    found = exact(dag, vocal, 1) if large else exact(dag, vocal)
    best = replace(found, strategy="hinted")
    if not found.tokens:
        return best
    seconds = _sampled(dag)
    bounds = [_ideal(dag, own) for own in seconds]
    fewest = transitions(best)
    for other in (levels(dag), barriers(dag)):
        if other.tree is not None and transitions(other) < fewest and _near(other.tree, seconds, bounds):
            best = replace(other, strategy="hinted", vocal=vocal)
            fewest = transitions(best)
    graph = kernel(dag, vocal)
    times = _durations(graph, seconds)
    size = sum(core.size for core in graph.cores)
    for grouped in _POLICIES[: 3 if size <= _LARGE else 1]:
        solved = []
        for core in graph.cores:
            timing = Timing([times[node] for node in core.node], core.preds, bounds)
            reduction = Relaxed(core, timing, grouped, _EFFORT // 2 if large else _EFFORT)
            reduction.relax()
            solved.append(reduction)
        tried = replace(pruned(layout_of("hinted", graph, solved)), added=True)
        if transitions(tried) < fewest:
            best, fewest = tried, transitions(tried)
    return best


def _sampled(dag: Dag) -> list[list[float]]:
    """Durations of the steps for each sample; all one second if there is none."""
    hints = dag.seconds if any(dag.seconds) else [1.0] * len(dag)
    draw = random.Random(len(dag))
    return [hints] + [[own * draw.lognormvariate(0, _SPREAD) for own in hints] for _ in range(_SAMPLES - 1)]


def _ideal(dag: Dag, seconds: list[float]) -> float:
    ends = [0.0] * len(dag)
    for step in dag.order:
        ends[step] = max((ends[source] for source in dag.preds[step]), default=0.0) + seconds[step]
    return max(ends)


def _durations(graph: Kernel, seconds: list[list[float]]) -> list[Times]:
    """What each node takes in each sample."""
    times: list[Times] = []
    for kind, first, second in graph.nodes:
        if kind == LEAF:
            times.append([own[first] for own in seconds] if first < graph.steps else [0.0] * len(seconds))
        elif kind == SERIES:
            times.append([one + two for one, two in zip(times[first], times[second], strict=True)])
        else:
            times.append([max(one, two) for one, two in zip(times[first], times[second], strict=True)])
    return times


def _near(tree: Tree, seconds: list[list[float]], bounds: Times) -> bool:
    """Whether a tree without tokens stays within the tolerance."""
    ratios = [length(tree, own) / bound for own, bound in zip(seconds, bounds, strict=True)]
    return ratios[0] <= 1 + TOLERANCE and sum(ratios) / len(ratios) <= 1 + TOLERANCE
