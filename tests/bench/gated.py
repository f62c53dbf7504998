"""Graphs compiled to state machines, which a simulator runs: makespan, states entered, events, compile time.

    python -m tests.bench.gated [CORPUS.jsonl.gz] [--draws N] [--large N] [--at-once K]…

Everything is read off the emitted machines. A corpus is one of `tests.bench.strategies`; the environment variable
ASLANT_GRAPHS names one too, and without either graphs are drawn.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import time
from collections.abc import Sequence

from tests.bench.machines import Machine, Run
from tests.bench.simulator import ideal
from tests.bench.strategies import Graph, drawn_graphs, layered, load, scattered
from translator.asl.estimate import byte_size, estimate
from translator.asl.limits import measures
from translator.pipeline import Compilation, Source, compile_sources


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("corpus", nargs="?", default=os.environ.get("ASLANT_GRAPHS"))
    parser.add_argument("--draws", type=int, default=3, help="draws of durations for each graph and spread")
    parser.add_argument("--large", type=int, default=10_000, help="steps of the graphs that compile time is measured on")
    parser.add_argument("--at-once", type=int, action="append", default=[], help="measure with at most so many steps at once")
    asked = parser.parse_args()
    graphs = load(asked.corpus) if asked.corpus else drawn_graphs()
    for limit in asked.at_once:
        for strategy in ("levels", "exact"):
            measure_bounded(graphs, strategy, limit, asked.draws)
    if asked.at_once:
        return
    for strategy in ("levels", "exact", "hinted"):
        measure(graphs, strategy, asked.draws)
    if asked.large:
        large(asked.large)


def definition(preds: Sequence[Sequence[int]], strategy: str, seconds: Sequence[float] | None = None, limit: int = 0) -> str:
    settings = f"strategy: {strategy}" + (f", max_parallel: {limit}" if limit else "")
    if seconds is not None:
        settings += ", durations: {" + ", ".join(f"s{step}: {own}" for step, own in enumerate(seconds)) + "}"
    rows = [
        f" - {{id: s{step},type: skill,depends_on: [{','.join(f's{one}' for one in before)}],config: {{skill: f}}}}"
        for step, before in enumerate(preds)
    ]
    return "\n".join(["dialect: canonical", "id: graph", f"settings: {{{settings}}}", "outputs: {a: 1}", "steps:", *rows])


def measure(graphs: Sequence[Graph], strategy: str, draws: int) -> None:
    ratios: dict[float, list[float]] = {0.0: [], 0.3: [], 1.0: []}
    states, hard, plain, loaded, cut, measured = [], [], 0, [], 0, []
    started = time.process_time()
    for number, graph in enumerate(graphs):
        draw = random.Random(number)
        source = Source(definition(graph.preds, strategy, graph.seconds if strategy == "hinted" else None))
        (one,) = compile_sources([source])
        cut += bool(one.parts)
        for spread, found in ratios.items():
            for _ in range(draws if spread else 1):
                seconds = [own * draw.lognormvariate(0, spread) for own in graph.seconds]
                if spread or graph.measured:
                    found.append(_ratio(graph, _run(one, seconds), seconds))
        run = _run(one, graph.seconds)
        states.append(run.states / len(graph.preds))
        if one.arrangements:
            hard.append(states[-1])
        elif not one.parts and run.states != len(graph.preds) + _parallels(one.definition):
            plain += 1
        if graph.measured:
            measured.append(states[-1])
            loaded.append(_ratio(graph, _run(one, graph.seconds, state=0.05, hop=lambda: 0.2), graph.seconds))
    rows = [f"{spread:g}: {statistics.fmean(found):.4f} mean {max(found):.4f} most" for spread, found in ratios.items()]
    print(f"{strategy}: {len(graphs)} graphs, {len(hard)} not series-parallel, {time.process_time() - started:.0f} s")
    print(f"  makespan by ideal, spread {'; '.join(rows)}; with 50 ms a state and 200 ms a token {statistics.fmean(loaded):.4f}")
    print(
        f"  states entered a step {statistics.fmean(states):.3f}, not series-parallel {statistics.fmean(hard):.3f},"
        f" measured {statistics.fmean(measured):.3f}; {plain} series-parallel graphs with more than steps and Parallels;"
        f" {cut} cut into several machines"
    )


def measure_bounded(graphs: Sequence[Graph], strategy: str, limit: int, draws: int) -> None:
    """Graphs that are wider than `limit`; makespan by the longer of the critical path and the work of each of `limit` workers."""
    ratios: dict[float, list[float]] = {0.0: [], 0.3: [], 1.0: []}
    states, calls = [], []
    for number, graph in enumerate(graphs):
        draw = random.Random(number)
        (free,) = compile_sources([Source(definition(graph.preds, "exact"))])
        if _run(free, [1.0] * len(graph.preds)).most <= limit or free.parts:
            continue
        (one,) = compile_sources([Source(definition(graph.preds, strategy, None, limit))])
        for spread, found in ratios.items():
            for _ in range(draws if spread else 1):
                seconds = [own * draw.lognormvariate(0, spread) for own in graph.seconds]
                run = _run(one, seconds)
                if run.most > limit:
                    raise SystemExit(f"{graph.name}: {run.most} steps at once")
                if shortest := max(ideal(graph.preds, seconds)[1], sum(seconds) / limit):
                    found.append(run.makespan / shortest)
        states.append(_run(one, graph.seconds).states / len(graph.preds))
        calls.append(one.estimate.cost.lambda_calls[1] / len(graph.preds))
    rows = [f"{spread:g}: {statistics.fmean(found):.3f} mean {max(found):.2f} most" for spread, found in ratios.items()]
    print(
        f"{strategy}, {limit} at once: {len(states)} graphs; makespan by the least possible, spread {'; '.join(rows)};"
        f" states entered a step {statistics.fmean(states):.2f}, Lambda calls {statistics.fmean(calls):.2f}"
    )


def _run(one: Compilation, seconds: Sequence[float], **more: object) -> Run:
    own = {f"s{step}": value for step, value in enumerate(seconds)}
    run = Machine(one.definition, one.source_map, own, parts=one.parts, **more).result()  # type: ignore[arg-type]
    if run.makespan < 0:
        raise SystemExit("something waits for ever")
    return run


def _ratio(graph: Graph, run: Run, seconds: Sequence[float]) -> float:
    shortest = ideal(graph.preds, seconds)[1]
    return run.makespan / shortest if shortest else 1.0


def _parallels(machine: object) -> int:
    if isinstance(machine, dict):
        return (machine.get("Type") == "Parallel") + sum(map(_parallels, machine.values()))
    return sum(map(_parallels, machine)) if isinstance(machine, list) else 0


def large(steps: int) -> None:
    draw = random.Random(1)
    shapes = {"layers": layered(steps, 10, 2, draw), "scattered": scattered(steps, draw)}
    for shape, preds in shapes.items():
        seconds = [draw.lognormvariate(3, 1) for _ in preds]
        for strategy in ("auto", "exact"):
            started = time.process_time()
            (one,) = compile_sources([Source(definition(preds, strategy))])
            taken = time.process_time() - started
            machines = (one.definition, *one.parts.values())
            if beyond := [str(each) for machine in machines for each in measures(machine) if each.exceeded]:
                raise SystemExit(f"beyond AWS's limits: {beyond}")
            run = _run(one, seconds)
            if len(run.status) < steps:
                raise SystemExit(f"{len(run.status):,} of {steps:,} steps ran")
            print(
                f"  {steps:,} steps, {shape}, {strategy}: {taken:.1f} s, {len(machines)} machines of at most"
                f" {max(map(byte_size, machines)):,} bytes and {max(estimate(each).cost.events[1] for each in machines):,} events,"
                f" {sum(each.tokens for each in one.arrangements):,} tokens; all steps run, makespan by ideal"
                f" {run.makespan / ideal(preds, seconds)[1]:.4f}", flush=True,
            )


if __name__ == "__main__":
    main()
