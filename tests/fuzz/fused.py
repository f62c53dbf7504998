"""`python -m tests.fuzz.fused --cases 200 --seed 1`: machines made with and without fusing do the same.

Random workflows of choices, conditions, joins and transforms are compiled both ways and run on the local cloud with the same
inputs. Output, error, and how every step ended must be equal, and the fused machine must not enter more states.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from random import Random
from typing import Any

from infra.local.runner import RunResult, run
from translator.pipeline import Compilation, Source, compile_sources
from translator.release import release_of

_INPUTS: tuple[dict[str, Any], ...] = ({"a": 0, "b": ""}, {"a": 1, "b": "x"}, {"a": 2, "b": "y"}, {"a": "no number", "b": None})


def definition(random: Random) -> dict[str, Any]:
    """A workflow in which conditions follow one another in many ways; some can fail."""
    steps: list[dict[str, Any]] = []
    ways: list[tuple[str, str]] = []  # outcomes of choices that nothing hangs on yet
    above: dict[str, set[str]] = {}  # what surely came before a step
    for number in range(random.randint(4, 9)):
        edges: list[Any] = []
        if ways and random.random() < 0.6:
            for choice, name in random.sample(ways, random.randint(1, min(2, len(ways)))):
                edges.append({"step": choice, "on": [name]})
                ways.remove((choice, name))
        elif steps:
            edges = random.sample([step["id"] for step in steps], 1 if random.random() < 0.8 else min(2, len(steps)))
        step: dict[str, Any] = {"id": f"s{number}", "depends_on": edges}
        direct = {edge["step"] if isinstance(edge, dict) else edge for edge in edges}
        above[step["id"]] = direct.union(*(above[one] for one in direct))
        before = sorted(above[step["id"]])
        if random.random() < 0.35:
            names = ["p", "q", "r"][: random.randint(1, 2)]
            step |= {"type": "choice", "default": "z", "cases": [{"name": one, "when": _condition(random, before)} for one in names]}
            ways += [(step["id"], name) for name in (*names, "z")]
        else:
            reads = random.choice(before) if before and random.random() < 0.6 else ""
            value = f"[steps.{reads}.output, {number}]" if reads else f"{number}"
            step |= {"type": "transform", "config": {"expression": value}}
        if random.random() < 0.45:
            step["when"] = _condition(random, before)
        steps.append(step)
    outputs = {step["id"]: "{{ steps." + step["id"] + ".output }}" for step in steps if random.random() < 0.7}
    made: dict[str, Any] = {"dialect": "canonical", "id": "w", "steps": steps, "outputs": outputs}
    if random.random() < 0.4:
        made["finally"] = [{"id": "last", "type": "transform", "config": {"expression": "execution.status"}}]
        made["outputs"] = outputs | {"last": "{{ steps.last.output }}"}
    return made


def _condition(random: Random, before: list[str]) -> str:
    found = ["input.a == 1", "input.b", "input.a != 2", "input.b == 'x' or input.a == 0", "not input.b"]
    if before:
        step = random.choice(before)
        found += [f"steps.{step}.output", f"steps.{step}.status == 'skipped'"]
    return random.choice([*found, "input.a > 1"] if random.random() < 0.2 else found)


def compiled(made: Mapping[str, Any], *, fused: bool) -> Compilation:
    (one,) = compile_sources([Source(json.dumps(made), "w.json")], fused=fused)
    return one


def what_happened(result: RunResult) -> dict[str, Any]:
    """How far the branches beside a failed one came is left to chance."""
    error = result.error
    if error is not None:
        return {"status": result.status, "error": error.error, "step": error.step}
    return {
        "status": result.status, "output": result.output,
        "steps": {step.label: (step.status, step.attempts, step.error) for step in result.steps},
    }


def outcomes(one: Compilation) -> dict[str, set[str]]:
    """The outcomes that the history can tell of each choice."""
    found: dict[str, set[str]] = {}
    for facts in release_of(one, machine="m")["states"].values():
        if "outcomes" in facts:
            found.setdefault(facts["step"], set()).update(facts["outcomes"].values())
    return found


def difference(made: Mapping[str, Any], inputs: Mapping[str, Any]) -> str:
    """How the two machines differ with these inputs; empty when they do not."""
    plain, fused = (run([compiled(made, fused=fused)], inputs, time_scale=1000, timeout=60) for fused in (False, True))
    one, other = what_happened(plain), what_happened(fused)
    if one != other:
        return f"{json.dumps(made)}\nwith {inputs}: {one}\nfused: {other}"
    return ""


def check(cases: int, seed: int) -> tuple[int, int]:
    """Raises AssertionError for the first difference. Gives how many machines were fused at all, of how many."""
    smaller = 0
    for number in range(cases):
        random = Random(f"{seed}/{number}")
        made = definition(random)
        plain, fused = (compiled(made, fused=fused) for fused in (False, True))
        assert fused.estimate.cost.transitions <= plain.estimate.cost.transitions, json.dumps(made)
        told = outcomes(fused)
        assert all(names <= told[choice] for choice, names in outcomes(plain).items()), json.dumps(made)
        if fused.definition == plain.definition:
            continue
        smaller += 1
        for inputs in random.sample(_INPUTS, 2):
            found = difference(made, inputs)
            assert not found, f"case {number} of seed {seed}: {found}"
    return smaller, cases


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    smaller, cases = check(args.cases, args.seed)
    print(f"fused: {smaller} of {cases} machines were made cheaper (seed {args.seed}), and do what they did")


if __name__ == "__main__":
    main()
