"""Emitted machines, run by a simulator: no early start, no waiting without a reason, no deadlock, and the right statuses."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from typing import Any

import pytest

from tests.bench.drawn import definition, drawn, expected
from tests.bench.machines import GATE, Machine, Run
from tests.examples import TIMES
from translator.asl.check import check_machine
from translator.diagnostics import Findings
from translator.pipeline import Compilation, Source, compile_source, compile_sources

GRAPHS = 40 * TIMES


def check_one(draw: random.Random, strategy: str = "exact", runs: int = 4) -> None:
    """Runs one random graph with random latencies, failures and skips."""
    preds = drawn(draw)
    skips = frozenset(step for step in range(len(preds)) if draw.random() < 0.15)
    go_on = draw.random() < 0.6
    text = definition(preds, skips=skips, go_on=go_on, strategy=strategy)
    (compiled,) = compile_sources([Source(text)], fused=False)  # each condition is a state of its own
    for _ in range(runs):
        fails = frozenset(step for step in range(len(preds)) if step not in skips and draw.random() < 0.15)
        seconds = [draw.lognormvariate(0, 1) for _ in preds]
        wanted = expected(preds, seconds, fails=fails, skips=skips, go_on=go_on)
        exact = draw.random() < 0.5
        run = simulate(
            compiled, seconds, fails, skips, hop=(lambda: 0.0) if exact else (lambda: draw.expovariate(1.0))
        )
        about = f"{preds} skips {sorted(skips)} fails {sorted(fails)} goes on {go_on} {strategy}"
        assert run.makespan >= 0, f"something waits for ever: {about}"
        assert run.failed == (wanted.failed_at is not None), about
        started = {int(step[1:]): at for step, at in run.start.items()}
        ended = {int(step[1:]): at for step, at in run.end.items()}
        for step, at in started.items():
            for before in preds[step]:
                assert before in ended and ended[before] <= at, f"s{step} starts before s{before} is settled: {about}"
        statuses = {int(step[1:]): status for step, status in run.status.items()}
        if not run.failed:
            assert statuses == wanted.status, about
        elif exact and strategy in ("exact", "chains"):
            assert run.makespan == pytest.approx(wanted.failed_at), about
        if exact and strategy in ("exact", "chains"):
            assert started == pytest.approx({step: wanted.start[step] for step in started}), about


def simulate(
    compiled: Compilation, seconds: list[float], fails: frozenset[int], skips: frozenset[int], **more: Any
) -> Run:
    return Machine(
        compiled.definition, compiled.source_map, {f"s{step}": own for step, own in enumerate(seconds)},
        fails=frozenset(f"s{step}" for step in fails), skips=frozenset(f"s{step}" for step in skips), **more,
    ).result()


@pytest.mark.parametrize("strategy", ["exact", "chains", "barriers", "levels"])
def test_random_graphs_fail_skip_and_go_on_as_the_rules_say(strategy: str) -> None:
    for seed in range(GRAPHS if strategy == "exact" else GRAPHS // 4):
        check_one(random.Random(seed), strategy)


def check_turns(draw: random.Random, limit: int) -> None:
    """Runs one random graph with failures and skips; a place is free only while nothing that could run waits for one."""
    preds = drawn(draw)
    skips = frozenset(step for step in range(len(preds)) if draw.random() < 0.15)
    fails = frozenset(step for step in range(len(preds)) if step not in skips and draw.random() < 0.15)
    text = definition(preds, skips=skips).replace("settings: {", f"settings: {{max_parallel: {limit}, ")
    (compiled,) = compile_sources([Source(text)], fused=False)
    seconds = [draw.lognormvariate(0, 1) for _ in preds]
    about = f"{preds} skips {sorted(skips)} fails {sorted(fails)} at most {limit}"
    late = simulate(compiled, seconds, fails, skips, hop=lambda: draw.expovariate(1.0))
    run = simulate(compiled, seconds, fails, skips)
    for one in (late, run):
        assert one.makespan >= 0, f"something waits for ever: {about}"
        assert one.most <= limit, about
        assert one.status == {
            f"s{step}": "skipped" if step in skips else "failed" if step in fails else "completed" for step in range(len(preds))
        }, about
        assert all(one.end[f"s{first}"] <= one.start[f"s{step}"] for step, before in enumerate(preds) for first in before), about
    began = {step: run.start[f"s{step}"] for step in range(len(preds)) if step not in skips}
    for step, start in began.items() if limit > 1 else ():
        ready = max((run.end[f"s{one}"] for one in preds[step]), default=0.0)
        others = [(run.start[f"s{one}"], run.end[f"s{one}"]) for one in began if one != step]
        moments = [ready, *(end for _, end in others if ready < end < start)]
        for at in moments if ready < start else ():
            assert sum(first <= at < end for first, end in others) >= limit, f"s{step} waits for nothing at {at}: {about}"


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_so_many_steps_run_at_once_and_no_place_stays_free(limit: int) -> None:
    for seed in range(12 * TIMES):
        check_turns(random.Random(seed), limit)


N = definition([[], [], [0], [0, 1], [1, 2]])
WIDE = definition([[], [], [], [0, 1], [1, 2], [0, 2]]).replace("settings: {", "settings: {max_parallel: 2, ")


def _gates(machine: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, dict[str, Any]]]:
    """Every gate with the `States` map that it is in and its name."""
    for name, state in machine["States"].items():
        if state["Type"] == "Task" and state["Arguments"].get("FunctionName") == GATE:
            yield machine, name, state["Arguments"]["Payload"]["config"]
        for inner in state.get("Branches", ()):
            yield from _gates(inner)


def _drop_a_signal(machine: dict[str, Any]) -> None:
    next(config for _, _, config in _gates(machine) if "signals" in config)["signals"].pop()


def _send_a_signal_twice(machine: dict[str, Any]) -> None:
    config = next(config for _, _, config in _gates(machine) if "signals" in config)
    config["signals"] *= 2


def _need_fewer(machine: dict[str, Any]) -> None:
    for _, _, config in _gates(machine):
        for one in (*config.get("signals", ()), *([config["wait"]] if "wait" in config else [])):
            one["need"] = 0


def _wait_without_a_gate(machine: dict[str, Any]) -> None:
    del next(config for _, _, config in _gates(machine) if "wait" in config)["wait"]


def _wait_elsewhere(machine: dict[str, Any]) -> None:
    next(config for _, _, config in _gates(machine) if "wait" in config)["wait"]["gate"] = "=other"


def _around(machine: dict[str, Any], part: str) -> None:
    """A way that leads around a gate: a step that is skipped does not pass it."""
    around, name, _ = next(found for found in _gates(machine) if part in found[2])
    states = around["States"]
    after = states[name].get("Next")
    target = {"Next": after} if after else {"Next": "done"}
    if not after:
        states["done"] = {"Type": "Succeed"}
    states["sometimes"] = {"Type": "Choice", "Choices": [{"Condition": "{% $a %}", "Next": name}], "Default": target["Next"]}
    for other in states.values():
        if other.get("Next") == name:
            other["Next"] = "sometimes"
    if around["StartAt"] == name:
        around["StartAt"] = "sometimes"


def _turn_without_an_end(machine: dict[str, Any]) -> None:
    del next(config for _, _, config in _gates(machine) if "gives" in config)["gives"]


def _turn_of_another_size(machine: dict[str, Any]) -> None:
    next(config for _, _, config in _gates(machine) if "gives" in config)["gives"]["limit"] += 1


def _signal_that_brings_no_turn(machine: dict[str, Any]) -> None:
    next(one for _, _, config in _gates(machine) for one in config.get("signals", ()) if "turn" in one).pop("turn")


TURNS = {
    "a turn that does not end": _turn_without_an_end,
    "another limit": _turn_of_another_size,
    "a signal that brings no turn": _signal_that_brings_no_turn,
    "an end that is not always reached": lambda machine: _around(machine, "gives"),
}
MUTANTS = {
    "a dropped signal": _drop_a_signal,
    "a signal sent twice": _send_a_signal_twice,
    "a wait for fewer signals": _need_fewer,
    "a gate that does not wait": _wait_without_a_gate,
    "a wait at another gate": _wait_elsewhere,
    "a signal that is not always sent": lambda machine: _around(machine, "signals"),
    "a wait that is not always made": lambda machine: _around(machine, "wait"),
}


@pytest.mark.parametrize(
    ("mutant", "text"), [*((one, N) for one in MUTANTS.values()), *((one, WIDE) for one in TURNS.values())], ids=[*MUTANTS, *TURNS]
)
def test_a_machine_with_a_wrong_gate_is_refused(mutant: Any, text: str) -> None:
    compiled = compile_source(text)
    right, wrong = Findings(), Findings()
    origins = dict(compiled.source_map)
    check_machine(compiled.definition, origins, compiled.graph, compiled.workflow, right)
    assert right.items == []
    broken = copy.deepcopy(dict(compiled.definition))
    mutant(broken)
    for name in ("sometimes", "done"):
        origins[name] = next(origin for origin in origins.values() if origin.role == "gate")
    check_machine(broken, origins, compiled.graph, compiled.workflow, wrong)
    assert {found.code for found in wrong.items} == {"A015"}


def test_the_simulator_notices_a_lost_signal() -> None:
    """The property test is worth something: what it looks for shows."""
    compiled = compile_source(N)
    broken = copy.deepcopy(dict(compiled.definition))
    _drop_a_signal(broken)
    run = Machine(broken, compiled.source_map, {f"s{step}": 1.0 for step in range(5)}).result()
    assert run.makespan < 0
