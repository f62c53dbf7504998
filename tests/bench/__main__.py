"""`make bench`: the measures that the README quotes. Times are of this machine; run it on an idle one."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aslant.step_types import STEP_TYPES
from tests.bench import by_hand, records
from tests.bench.graphs import chain, layered
from translator.asl.estimate import byte_size, estimate
from translator.asl.limits import measures
from translator.diagnostics import Findings, Severity, TranslatorError
from translator.dialects.convert import convert
from translator.dialects.registry import DIALECTS
from translator.pipeline import Compilation, Source, compile_sources
from translator.source import load

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted((ROOT / "infra" / "workflows").glob("*.yaml"))
TOO_LARGE = "A001"  # a definition beyond 1 MiB of ASL: the compiler has done all its work by then


def main() -> None:
    print("Compile: YAML text to checked ASL")
    for name, make in (("chain", chain), ("layers", layered)):
        _compile(name, make)
    subprocess.run([sys.executable, "-m", "tests.bench", "largest"], cwd=ROOT, check=True)  # memory is measured of a process
    _spellings()
    print("\nTransitions: what each example costs (loops with 10 items at most)")
    for path in EXAMPLES:
        _transitions(path)
    _control_flow()
    print()
    by_hand.main()
    print("\nLocal run")
    _local_chain()
    _cold_start()
    print("\nStep wrapper: what it adds to a step")
    records.main()
    print("\nStep types: CPU time of wrapper and handler (medians; moto is no measure of DynamoDB)")
    records.types()
    print("\nImport of the step handlers: CPU time with and without bare boto3's (smallest of 7)")
    for folder in dict.fromkeys(kind.folder for kind in STEP_TYPES.values() if kind.folder):
        _import(f"functions.steps.{folder}.handler")


def _compile(name: str, make: Callable[[int], str]) -> None:
    seconds: dict[int, float] = {}
    for steps in (1_000, 10_000):
        text = make(steps)
        taken = []
        for _ in range(3 if steps == 1_000 else 1):
            started = time.process_time()  # one thread: the same as time on an idle machine
            compiled = _attempt(text)
            taken.append(time.process_time() - started)
        seconds[steps] = min(taken)
        tracemalloc.start()
        _attempt(text)
        peak = tracemalloc.get_traced_memory()[1] / 2**20
        tracemalloc.stop()
        size = f"{compiled.estimate.bytes / steps:.0f} bytes of ASL a step" if compiled else "more than AWS takes in one machine"
        print(f"  {name:6} {steps:6,} steps  {seconds[steps]:6.2f} s   peak {peak:5.0f} MiB   {size}")
    print(f"  {name:6} ten times the steps take {seconds[10_000] / seconds[1_000]:.1f} times as long")


def _largest(steps: int = 20_000) -> None:
    """About what a definition of 1 MiB can hold: a long line, and waits beside it."""
    line = steps * 9 // 20
    text = "dialect: canonical\nid: w\noutputs: {a: 1}\nsteps:\n" + "".join(
        f"- {{id: s{number}, type: skill, config: {{skill: x}}" + (f", depends_on: [s{number - 1}]" if number else "") + "}\n"
        for number in range(line)
    ) + "".join(f"- {{id: t{number}, type: wait, seconds: 1}}\n" for number in range(steps - line))
    started = time.process_time()
    (compiled,) = compile_sources([Source(text)])
    seconds = time.process_time() - started
    machines = (compiled.definition, *compiled.parts.values())
    near = [str(one) for machine in machines for one in measures(machine)]
    print(
        f"  largest {steps:5,} steps {seconds:6.2f} s   {len(machines)} state machines, the largest of "
        f"{max(map(byte_size, machines)):,} bytes; near a limit: {', '.join(near) or 'nothing'}; the process had "
        f"{_most_memory() // 1024} MiB at most"
    )


def _most_memory() -> int:
    """The most KiB that this process has held. getrusage would count what its parent held when it was forked."""
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1])


def _spellings(steps: int = 1_000) -> None:
    """The same layers in every spelling, each written by `aslant convert`."""
    for dialect in DIALECTS:
        findings = Findings()
        document = load(layered(steps), findings)
        text = convert(document, dialect, findings) if document is not None else None
        if text is None:
            raise SystemExit(f"the layers cannot be written as {dialect}")
        taken = []
        for _ in range(3):
            started = time.process_time()
            _attempt(text)
            taken.append(time.process_time() - started)
        print(f"  layers {steps:6,} steps  {min(taken):6.2f} s   written as {dialect}")


def _attempt(text: str) -> Compilation | None:
    try:
        return compile_sources([Source(text)])[0]
    except TranslatorError as error:
        wrong = {found.code for found in error.diagnostics if found.severity is Severity.ERROR}
        if wrong != {TOO_LARGE}:
            raise
        return None


def _transitions(path: Path) -> None:
    (compiled,) = compile_sources([Source(path.read_text(encoding="utf-8"), path.name)])
    cost = estimate(compiled.definition).cost
    steps = sum(1 for _ in compiled.workflow.all_steps())
    print(
        f"  {path.name:34} {steps:3} steps  {compiled.estimate.states:3} states  "
        f"transitions {cost.transitions[0]:3} to {cost.transitions[1]:3}  Lambda calls {cost.lambda_calls[0]:3} to {cost.lambda_calls[1]:3}"
    )


def _control_flow() -> None:
    """A workflow of choices, waits, loops and transforms: run for real, its Lambda calls are counted."""
    from infra.local.runner import run

    text = """
dialect: canonical
id: control-flow
inputs: {numbers: {type: array, required: true}}
steps:
  - {id: list, type: transform, config: {expression: "[n for n in input.numbers if n >= 0]"}}
  - {id: route, type: choice, depends_on: [list], cases: [{name: some, when: "len(steps.list.output) > 0"}], default: none}
  - {id: pause, type: wait, depends_on: [{step: route, on: [some]}], seconds: 1}
  - id: each
    type: foreach
    depends_on: [pause]
    items: "{{ steps.list.output }}"
    steps: [{id: square, type: transform, config: {expression: "item * item"}}]
  - {id: total, type: transform, depends_on: [each], config: {expression: "sum(steps.each.output)"}}
"""
    (compiled,) = compile_sources([Source(text)])
    result = run([compiled], {"numbers": [0, 1, -5, 2]}, time_scale=20)
    if result.output != {"total": 5}:
        raise SystemExit(f"the control-flow workflow gave {result.output}")
    print(f"  a control-flow-only workflow: {len(compiled.functions)} functions, Lambda calls {compiled.estimate.cost.lambda_calls[1]}")


def _local_chain(steps: int = 100) -> None:
    from infra.local.runner import run

    rows = "".join(
        f" - {{id: t{n}, type: transform,{f' depends_on: [t{n - 1}],' if n else ''}"
        f" config: {{expression: {f'steps.t{n - 1}.output + 1' if n else chr(39) + '0' + chr(39)}}}}}\n"
        for n in range(steps)
    )
    (compiled,) = compile_sources([Source("dialect: canonical\nid: chain\nsteps:\n" + rows)])
    started = time.perf_counter()
    result = run([compiled], {})
    seconds = time.perf_counter() - started
    if result.output != {f"t{steps - 1}": steps - 1}:
        raise SystemExit(f"the chain gave {result.output}")
    ran = (result.stopped - result.started).total_seconds()
    print(f"  {steps} transforms in a chain: {seconds:.2f} s with setting up, {1000 * ran / steps:.1f} ms a state")


def _cold_start() -> None:
    """`aslant run` in a new process, until the first state is entered and until it ends."""
    definition = ROOT / "infra" / "workflows" / "steps-greeting.yaml"
    first, whole = [], []
    for _ in range(3):
        started = time.time()
        done = subprocess.run(
            [sys.executable, "-m", "infra.cli.main", "run", str(definition), "--simulate", "--json", "-i", "name=Ada"],
            capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, "PYTHONPATH": ""},
        )
        ended = time.time()
        if done.returncode:
            raise SystemExit(done.stderr)
        document: dict[str, Any] = json.loads(done.stdout)
        first.append(_first(document, started))
        whole.append(ended - started)
    print(f"  cold start of `aslant run`: {statistics.median(first):.2f} s until the first state, {statistics.median(whole):.2f} s in all")


def _first(document: dict[str, Any], started: float) -> float:
    from datetime import datetime

    entered = min(datetime.fromisoformat(step["started"]).timestamp() for step in document["steps"] if step.get("started"))
    return entered - started


def _import(module: str) -> None:
    alone, boto3, both = _cpu(module), _cpu("boto3"), _cpu("boto3", module)
    print(f"  {module:36} {alone:6.0f} ms   {both - boto3:4.0f} ms over boto3's {boto3:.0f} ms")


def _cpu(*modules: str) -> float:
    code = f"import time; began = time.process_time(); import {', '.join(modules)}; print(time.process_time() - began)"
    taken = []
    for _ in range(7):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
        taken.append(1000 * float(done.stdout))
    return min(taken)


if __name__ == "__main__":
    if sys.argv[1:] == ["largest"]:
        _largest()
    else:
        main()
