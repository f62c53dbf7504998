"""What each graph strategy costs: makespan against the ideal, states entered, compile time.

    python -m tests.bench.strategies [CORPUS.jsonl.gz] [--strategy NAME]… [--draws N] [--large N]

A corpus has one graph a line: `{"name", "family", "durations", "tasks": [{"id", "depends_on", "duration_s"}]}`. Without one,
graphs are drawn. Every layout is run by the simulator, and its order is compared with that of the graph.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.bench.simulator import Simulator, ancestors, ideal, order_of
from translator.graph.strategies.choice import STRATEGIES, arrange
from translator.graph.strategies.layout import Layout

_EXACT = ("chains", "exact")  # strategies that keep exactly the graph's order
_SPREADS = (0.0, 0.3, 1.0)


@dataclass(frozen=True, slots=True)
class Graph:
    name: str
    family: str
    measured: bool
    preds: list[list[int]]
    seconds: list[float]


@dataclass(slots=True)
class Row:
    """One graph with one strategy. `ratios` are makespan by ideal, by the spread of the draws."""

    states: float
    tokens: int
    seconds: float
    ratios: dict[float, list[float]] = field(default_factory=dict)
    loaded: float = 0.0  # with 50 ms a state and 200 ms a token


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", nargs="?", help="graphs, one a line, gzipped JSON; drawn graphs without")
    parser.add_argument("--strategy", action="append", choices=[name for name in STRATEGIES if name != "auto"])
    parser.add_argument("--draws", type=int, default=10, help="draws of durations for each spread")
    parser.add_argument("--large", type=int, default=10_000, help="steps of the graphs that compile time is measured on")
    parser.add_argument("--vocal", action="store_true", help="steps send their signals themselves")
    choice = parser.parse_args()
    graphs = load(choice.corpus) if choice.corpus else drawn_graphs()
    names = choice.strategy or [name for name in STRATEGIES if name != "auto"]
    measure(graphs, names, choice.draws, choice.vocal)
    if choice.large:
        large(names, choice.large)


def load(path: str) -> list[Graph]:
    graphs = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            data = json.loads(line)
            number = {task["id"]: position for position, task in enumerate(data["tasks"])}
            graphs.append(Graph(
                data["name"], data["family"], data["durations"] == "measured",
                [[number[name] for name in task["depends_on"]] for task in data["tasks"]],
                [float(task["duration_s"]) for task in data["tasks"]],
            ))
    return graphs


def drawn_graphs() -> list[Graph]:
    draw = random.Random(1)
    graphs = []
    for number in range(30):
        count = draw.randrange(4, 60)
        preds = scattered(count, draw) if number % 2 else layered(count, draw.randrange(2, 8), 2, draw)
        graphs.append(Graph(f"drawn {number}", "drawn", True, preds, [draw.lognormvariate(3, 1) for _ in preds]))
    return graphs


def layered(count: int, width: int, edges: int, draw: random.Random) -> list[list[int]]:
    """Layers of steps of which each waits for some of the layer before."""
    preds: list[list[int]] = []
    for step in range(count):
        start = (step // width - 1) * width
        preds.append(sorted(draw.sample(range(start, start + width), min(edges, width))) if start >= 0 else [])
    return preds


def scattered(count: int, draw: random.Random) -> list[list[int]]:
    """Steps of which each waits for up to three of the twenty before it."""
    return [
        sorted({draw.randrange(max(0, step - 20), step) for _ in range(draw.randrange(4))}) if step else []
        for step in range(count)
    ]


def measure(graphs: Sequence[Graph], names: Sequence[str], draws: int, vocal: bool) -> None:
    table: dict[str, list[Row]] = {name: [] for name in names}
    hard = [False] * len(graphs)
    for position, graph in enumerate(graphs):
        draw = random.Random(position)
        before = ancestors(graph.preds)
        durations = {
            spread: [[own * draw.lognormvariate(0, spread) for own in graph.seconds] for _ in range(draws if spread else 1)]
            for spread in _SPREADS
        }
        hard[position] = bool(arrange(graph.preds, "chains").tokens) and not _series_parallel(graph, before)
        for name in names:
            started = time.process_time()
            layout = arrange(
                graph.preds, name, graph.seconds, vocal=frozenset(range(len(graph.preds)) if vocal else ())
            )
            row = Row(0.0, len(layout.tokens), time.process_time() - started)
            _check(graph, layout, before, name)
            for spread, samples in durations.items():
                row.ratios[spread] = [_ratio(graph, layout, own, row) for own in samples]
            shortest = ideal(graph.preds, graph.seconds)[1]
            row.loaded = Simulator(layout, graph.seconds, 0.05, 0.2).result().makespan / (shortest or 1)
            table[name].append(row)
    _report(table, graphs, hard)


def _series_parallel(graph: Graph, before: list[int]) -> bool:
    layout = arrange(graph.preds, "barriers")
    return order_of(layout) == before


def _check(graph: Graph, layout: Layout, before: list[int], name: str) -> None:
    kept = order_of(layout)
    if name in _EXACT:
        assert kept == before, f"{graph.name}: {name} does not keep the graph's order"
    assert all(not need & ~got for need, got in zip(before, kept, strict=True)), f"{graph.name}: {name} loses order"


def _ratio(graph: Graph, layout: Layout, seconds: list[float], row: Row) -> float:
    run = Simulator(layout, seconds).result()
    assert run.finished, f"{graph.name}: a step waits for ever"
    row.states = run.states / len(graph.preds)
    shortest = ideal(graph.preds, seconds)[1]
    return run.makespan / shortest if shortest else 1.0


def _report(table: dict[str, list[Row]], graphs: Sequence[Graph], hard: list[bool]) -> None:
    mean = statistics.fmean
    real = [graph.measured for graph in graphs]
    print(f"{len(graphs)} graphs, {sum(hard)} of them not series-parallel, {sum(real)} with measured durations")
    head = ["measured", "±0.3", "±1", "±1 hard", "with overhead", "states/step", "hard", "measured", "tokens/step", "seconds"]
    print(f"{'':9} " + " ".join(f"{title:>13}" for title in head))
    for name, rows in table.items():
        own = [row for row, wanted in zip(rows, real, strict=True) if wanted] or rows
        odd = [row for row, wanted in zip(rows, hard, strict=True) if wanted] or rows
        steps = sum(len(graph.preds) for graph in graphs)
        cells = [
            _pair([ratio for row in own for ratio in row.ratios[0.0]]),
            _pair([ratio for row in rows for ratio in row.ratios[0.3]]),
            _pair([ratio for row in rows for ratio in row.ratios[1.0]]),
            _pair([ratio for row in odd for ratio in row.ratios[1.0]]),
            _pair([row.loaded for row in own]),
            f"{mean(row.states for row in rows):.3f}",
            f"{mean(row.states for row in odd):.3f}",
            f"{mean(row.states for row in own):.3f}",
            f"{sum(row.tokens for row in rows) / steps:.3f}",
            f"{sum(row.seconds for row in rows):.1f}/{max(row.seconds for row in rows):.2f}",
        ]
        print(f"{name:9} " + " ".join(f"{cell:>13}" for cell in cells))


def _pair(ratios: list[float]) -> str:
    return f"{statistics.fmean(ratios):.4f}/{max(ratios):.2f}"


def large(names: Sequence[str], steps: int) -> None:
    print(f"\nCompile time at {steps:,} steps")
    draw = random.Random(1)
    shapes = {
        "chain": [[step - 1] if step else [] for step in range(steps)],
        "layers": layered(steps, 10, 2, draw),
        "scattered": scattered(steps, draw),
        "fan": [[] if step < steps // 2 else [step - steps // 2, 0] for step in range(steps)],
    }
    for shape, preds in shapes.items():
        seconds = [draw.lognormvariate(3, 1) for _ in preds]
        for name in names:
            started = time.process_time()
            arrange(preds, name, seconds)
            taken = time.process_time() - started
            print(f"  {shape:10} {name:9} {taken:7.2f} s")


if __name__ == "__main__":
    main()
