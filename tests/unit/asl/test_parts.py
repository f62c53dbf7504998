"""Definitions beyond AWS's limit are cut into machines that each keep it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from translator.asl.estimate import byte_size
from translator.asl.limits import measures
from translator.pipeline import Compilation, Source, compile_sources

LIMIT = 40_000


def compiled(steps: list[dict[str, Any]], limit: int = LIMIT, **more: Any) -> Compilation:
    data = {"dialect": "canonical", "id": "w", "steps": steps, **more}
    return compile_sources([Source(json.dumps(data), "w.json")], limit=limit)[0]


def skill(name: str, *before: str, **config: Any) -> dict[str, Any]:
    step = {"id": name, "type": "skill", "config": {"skill": "x", "parameters": config}}
    return step | ({"depends_on": list(before)} if before else {})


def machines(result: Compilation) -> list[Any]:
    return [result.definition, *result.parts.values()]


LINE = [skill(f"s{n}", *([f"s{n - 1}"] if n else []), a=f"{{{{ steps.s{n - 1}.output }}}}" if n else 1) for n in range(300)]
WIDE = [skill(f"s{n}", a=n) for n in range(300)]
LAYERS = [skill(f"s{n}", *([f"s{k}" for k in range(n - n % 10 - 10, n - n % 10)] if n >= 10 else [])) for n in range(300)]
DEEP = [{"id": "l", "type": "foreach", "items": [1, 2], "steps": LINE}]
BOTH = [{"id": "p", "type": "parallel", "branches": [{"steps": LINE}, {"steps": [skill("other", a="x")]}]}]
# Nothing in these loops asks for the indexes but the parts' own names.
WAYS = [
    {"id": f"s{n}", "type": "choice", "cases": [{"name": "a", "when": f"item == 'x{n}'"}],
     **({"depends_on": [f"s{n - 1}"]} if n else {})}
    for n in range(301)
]  # fmt: skip
NESTED = [{"id": "m", "type": "foreach", "items": [1], "steps": [{"id": "l", "type": "foreach", "items": ["a"], "steps": WAYS}]}]


@pytest.mark.parametrize(
    "steps", [LINE, WIDE, LAYERS, DEEP, BOTH, NESTED], ids=["line", "wide", "layers", "deep", "both", "nested"],
)  # fmt: skip
@pytest.mark.parametrize("more", [{}, {"finally": [skill("end")], "outputs": {"a": 1}}], ids=["", "finally"])
def test_every_machine_keeps_the_limit(steps: list[dict[str, Any]], more: dict[str, Any]) -> None:
    result = compiled(steps, **more)
    assert len(result.parts) > 3
    sizes = [byte_size(one) for one in machines(result)]
    assert max(sizes) <= LIMIT * 0.8, sizes
    names = [name for one in machines(result) for name in states_of(one)]
    assert len(names) == len(set(names)) > 300
    assert not [one for one in result.diagnostics if one.severity in ("error", "warning")]  # the check runs over all of them
    assert [one.limit for machine in machines(result) for one in measures(machine) if one.exceeded] == []
    text = result.bind(targets := dict.fromkeys([*result.functions, *result.parts], "arn:aws:x"))
    assert "${" not in text + "".join(result.bind_parts(targets).values())


def states_of(machine: Any) -> list[str]:
    found = []
    for name, state in machine["States"].items():
        found.append(name)
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            found += states_of(inner)
    return found


def test_a_part_reads_no_variable_of_another_machine() -> None:
    result = compiled(LINE + [skill("far", "s299", a="{{ [steps.s0.output, steps.s150.output, input.x] }}")])
    assigned = {place: variables(machine) for place, machine in zip(["", *result.parts], machines(result), strict=True)}
    for place, machine in zip(["", *result.parts], machines(result), strict=True):
        others = set().union(*(names for other, names in assigned.items() if other != place)) - assigned[place]
        code = json.dumps(machine)
        assert not [name for name in others if f"${name} " in code or f"${name}," in code]


def variables(machine: Any) -> set[str]:
    found: set[str] = set()
    for state in machine["States"].values():
        rules = [*state.get("Choices", ()), *state.get("Catch", ())]
        found |= {name for one in (state, *rules) for name in one.get("Assign", ())}
        for inner in [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else [])]:
            found |= variables(inner)
    return found


def test_no_part_is_made_of_places_of_tokens_alone() -> None:
    before = [[], [0], [1], [1], [1], [4], [0], [6], [4, 5, 6], [5, 6], [1, 5], [2, 9]]
    result = compiled([skill(f"s{n}", *(f"s{k}" for k in some)) for n, some in enumerate(before)], limit=6_000)
    placed = [state for state in result.source_map.values() if state.role == "step"]
    assert len(result.parts) > 3 and {state.step for state in placed} == {f"s{n}" for n in range(len(before))}


def test_what_fits_is_one_machine() -> None:
    assert compiled(LINE, limit=1024 * 1024).parts == {}
    assert compiled(LINE[:50]).parts == {}


def test_two_thousand_steps_within_the_real_limit() -> None:
    steps = [skill(f"s{n}", *([f"s{n - 1}"] if n else []), text="y" * 200) for n in range(2000)]
    result = compiled(steps, limit=1024 * 1024)
    assert len(result.parts) >= 2
    assert [str(one) for machine in machines(result) for one in measures(machine)] == []
    assert result.estimate.cost.events[1] < 100
