"""Random workflows: graphs of all shapes, choices, conditions, parallels, loops, sub-workflows, failures, retries, data.

Most steps call the skill `act`, which mixes what it is given into a number: so whatever a step reads shows in what it gives.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = Any
ERRORS = ("NoisyError", "OtherError")


@dataclass(slots=True)
class Case:
    """Definitions, the first of which runs with `input`. `seed` makes it again."""

    seed: str
    definitions: list[dict[str, Json]]
    input: dict[str, Json]


@dataclass(slots=True)
class Read:
    """A step that may be read: how, and whether it gives a number (or null)."""

    text: str
    number: bool


@dataclass(slots=True)
class Made:
    """A list of steps, and what may be read of it by whoever comes after all of it."""

    steps: list[dict[str, Json]]
    reads: list[Read] = field(default_factory=list)
    fails: bool = False  # something in it may fail and end it


def _tells_errors(steps: Sequence[dict[str, Json]]) -> bool:
    """Whether errors of loops' items may be part of what these steps give: their messages are no part of the reference."""
    return any(
        step.get("on_item_error") == "continue"
        or _tells_errors([*step.get("steps", ()), *(inner for branch in step.get("branches", ()) for inner in branch["steps"])])
        for step in steps
    )


class Maker:
    def __init__(self, random: Random, workflow: str, children: Sequence[tuple[str, bool, bool]] = ()) -> None:
        self.random, self.workflow, self.children = random, workflow, children
        self.count = 0
        self.loops = 0

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def hole(self, text: str) -> str:
        return "{{ " + text + " }}"

    def number(self, reads: Sequence[Read]) -> str:
        """An expression that gives a number, whatever was skipped."""
        numbers = [f"({read.text} ?? 0)" for read in reads if read.number]
        picked = self.random.choice([*numbers, "input.n"]) if numbers else "input.n"
        if len(numbers) > 1 and self.chance(30):
            picked = f"({picked} + {self.random.choice(numbers)})"
        return picked

    def condition(self, reads: Sequence[Read]) -> str:
        modulus = self.random.randrange(2, 4)
        return f"{self.number(reads)} % {modulus} {self.random.choice(['==', '!='])} {self.random.randrange(modulus)}"

    def steps(self, length: int, depth: int, around: Sequence[Read], shape: str = "", safe: bool = False) -> Made:
        """A list of steps. `safe`: nothing in it ends it."""
        made = Made([])
        shape = shape or self.random.choice(("chain", "dense", "sparse", "dag", "dag"))
        before: dict[str, set[str]] = {}
        readable: dict[str, list[Read]] = {}
        outcomes: dict[str, list[str]] = {}
        for _ in range(length):
            self.count += 1
            id = f"s{self.count}"
            needs = self.needs(list(before), shape)
            above = set(needs).union(*(before[one] for one in needs))
            seen = [*around, *(read for one in sorted(above, key=lambda name: int(name[1:])) for read in readable[one])]
            step, own, fails = self.step(id, seen, depth, safe)
            edges: list[Json] = []
            for one in needs:
                if one in outcomes and self.chance(75):
                    ways = self.random.sample(outcomes[one], self.random.choice((1, 1, 1, 2)) if len(outcomes[one]) > 1 else 1)
                    edges.append({"step": one, "on": ways})
                elif self.chance(6):
                    mine = [*around, *(read for known in sorted(before[one] | {one}, key=lambda name: int(name[1:])) for read in readable[known])]
                    edges.append({"step": one, "when": self.condition(mine)})
                else:
                    edges.append(one)
            if edges:
                step["depends_on"] = edges
            if self.chance(12):
                step["when"] = self.condition(seen)
            if step["type"] == "choice":
                outcomes[id] = [case["name"] for case in step["cases"]] + ([step["default"]] if "default" in step else [])
            before[id], readable[id] = above, own
            made.fails |= fails
            made.steps.append(step)
        made.reads = [read for reads in readable.values() for read in reads]
        if self.chance(50):
            self.random.shuffle(made.steps)
        return made

    def needs(self, earlier: list[str], shape: str) -> list[str]:
        if not earlier:
            return []
        if shape == "chain":
            return [earlier[-1]]
        if shape == "dense":
            return [one for one in earlier[-4:] if self.chance(60)]
        if shape == "sparse":
            return [self.random.choice(earlier)] if self.chance(60) else []
        return sorted(self.random.sample(earlier, min(len(earlier), self.random.choice((0, 1, 1, 2, 2, 3)))), key=lambda name: int(name[1:]))

    def step(self, id: str, seen: Sequence[Read], depth: int, safe: bool) -> tuple[dict[str, Json], list[Read], bool]:
        """A step, what may be read of it, and whether it may end its list."""
        kinds = ["act"] * 5 + ["transform"] * 3 + ["choice"] * 3 + ["flaky", "fail", "wait"]
        kinds += ["parallel", "parallel", "foreach", "foreach"] if depth else []
        kinds += ["child"] if self.children else []
        kind = self.random.choice(kinds)
        own = [Read(f"steps.{id}.output", True)]
        status = [Read(f"steps.{id}.status", False)] if self.chance(30) else []
        if kind == "transform":
            return {"id": id, "type": "transform", "config": {"expression": f"{self.number(seen)} + {self.random.randrange(9)}"}}, own + status, False
        if kind == "wait":
            return {"id": id, "type": "wait", "seconds": 1}, status, False
        if kind == "choice":
            cases = [{"name": name, "when": self.condition(seen)} for name in "ab"[: self.random.randrange(1, 3)]]
            step: dict[str, Json] = {"id": id, "type": "choice", "cases": cases}
            if self.chance(75):
                step["default"] = "z"
            if self.chance(20):
                step["mode"] = "all"
            return step, status, False
        if kind == "parallel":
            return self.parallel(id, seen, depth, safe)
        if kind == "foreach":
            return self.foreach(id, seen, depth, safe)
        if kind == "child":
            child, fails, opaque = self.random.choice(self.children)
            step = {"id": id, "type": "workflow", "workflow": child, "input": {"n": self.hole(self.number(seen))}}
            if fails and (safe or self.chance(60)):
                step["on_failure"] = "continue"
            return step, status if opaque else [Read(f"steps.{id}.output", False), *status], fails and "on_failure" not in step
        return self.act(id, kind, seen, safe, own + status)

    def act(self, id: str, kind: str, seen: Sequence[Read], safe: bool, own: list[Read]) -> tuple[dict[str, Json], list[Read], bool]:
        picked = self.random.sample(list(seen), min(len(seen), self.random.randrange(4)))
        parameters: dict[str, Json] = {"name": f"{self.workflow}/{id}", "value": [self.hole(read.text) for read in picked]}
        if self.loops:
            parameters["place"] = [self.hole(f"i{number}") for number in range(1, self.loops + 1)]
        step: dict[str, Json] = {"id": id, "type": "skill", "config": {"skill": "act", "parameters": parameters}}
        fails = False
        if kind in ("flaky", "fail"):
            error = self.random.choice(ERRORS)
            attempts = self.random.randrange(1, 4)
            parameters |= {"error": error, "times": self.random.randrange(1, 4) if kind == "flaky" else 99}
            if attempts > 1:
                step["retry"] = {"max_attempts": attempts, "delay": 1, "strategy": "fixed", "on": [self.random.choice([error, error, "*", *ERRORS])]}
            if safe or self.chance(75):
                action = self.random.choice(("continue", "continue", "retry"))
                step["on_failure"] = "continue" if action == "continue" else {"action": "retry", "max_retries": self.random.randrange(1, 3), "then": "continue"}
            fails = "on_failure" not in step
            if not fails and self.chance(50):
                own = [*own, Read(f"errors.{id}.error", False)]
        return step, own, fails

    def parallel(self, id: str, seen: Sequence[Read], depth: int, safe: bool) -> tuple[dict[str, Json], list[Read], bool]:
        branches = [self.steps(self.random.randrange(1, 5), depth - 1, seen) for _ in range(self.random.randrange(1, 4))]
        step: dict[str, Json] = {"id": id, "type": "parallel", "branches": [{"steps": one.steps} for one in branches]}
        fails = any(one.fails for one in branches)
        if self.chance(30):
            step["wait_for_all"] = False
        if self.chance(20):
            step["max_parallel"] = self.random.randrange(1, 3)
        if fails and (safe or self.chance(60)):
            step["on_failure"] = "continue"
            fails = False
        risky = any(one.fails for one in branches)
        reads = [] if risky else [read for one in branches for read in one.reads]
        reads = [read for read in reads if self.chance(50)] + [Read(f"steps.{id}.status", False)]
        if not risky and not any(_tells_errors(one.steps) for one in branches):
            reads.append(Read(f"steps.{id}.output", False))
        return step, reads, fails

    def foreach(self, id: str, seen: Sequence[Read], depth: int, safe: bool) -> tuple[dict[str, Json], list[Read], bool]:
        self.loops += 1
        loop = self.loops
        item = [Read(f"x{loop}", False)]
        batch = self.chance(20)
        if not batch:
            item = [Read(f"x{loop}", True), Read(f"i{loop}", True)]
        body = self.steps(self.random.randrange(1, 5), depth - 1, [*seen, *item])
        self.loops -= 1
        items: Json = [self.random.randrange(9) for _ in range(self.random.randrange(4))]
        if self.chance(40):
            items = self.hole(f"[y for y in {[*items, 5]} if y != {self.number(seen)} % 7]")
        step: dict[str, Json] = {
            "id": id, "type": "foreach", "items": items, "item_name": f"x{loop}", "index_name": f"i{loop}", "steps": body.steps,
        }  # fmt: skip
        if batch:
            step["batch_size"] = 2
        if self.chance(50):
            step["max_parallel"] = self.random.randrange(1, 4)
        fails = body.fails
        if self.chance(40):
            step["on_item_error"] = "continue"
            fails = False
        elif fails and (safe or self.chance(60)):
            step["on_failure"] = "continue"
            fails = False
        reads = [Read(f"steps.{id}.status", False)] + ([] if body.fails or _tells_errors(body.steps) else [Read(f"steps.{id}.output", False)])
        return step, reads, fails


def make(seed: int, number: int) -> Case:
    name = f"{seed}-{number}"
    random = Random(name)
    definitions: list[dict[str, Json]] = []
    children: list[tuple[str, bool, bool]] = []  # name, whether it may fail, whether its output is unknown
    if random.random() < 0.25:
        child = f"w{number}c"
        definition, fails = _workflow(Random(random.random()), child, (), 4)
        definitions.append(definition)
        children.append((child, fails, _tells_errors(definition["steps"])))
    main, _ = _workflow(random, f"w{number}", children, random.choice((3, 5, 8, 12)))
    undoing = Random(f"{name} undo")  # of its own, so that a seed keeps its steps
    if undoing.random() < 0.3:
        _undone(undoing, main)
    return Case(name, [main, *definitions], {"n": random.randrange(20)})


UNDOES = ("rollback", "compensate")


def _undone(random: Random, definition: dict[str, Json]) -> None:
    """Gives a workflow undos and failures that lead to them. Up to the failure it runs as before, and it ends as with `fail`."""
    name = definition["id"]
    for step in _every(definition["steps"]):
        if step["type"] != "skill":
            continue
        if random.random() < 0.3:
            step["compensation"] = _act(name, f"c{step['id']}")
        if "error" in step["config"]["parameters"] and "on_failure" not in step and random.random() < 0.5:
            step["on_failure"] = random.choice((*UNDOES, "fail"))
    for step in definition["steps"]:  # nothing outside of it reads what a failed list gave
        if step.get("on_failure") == "continue" and random.random() < 0.4:
            step["on_failure"] = random.choice(UNDOES)
    for handler in definition.get("error_handlers", ()):
        if handler["action"] == "fail":
            handler["action"] = random.choice((*UNDOES, "fail"))
    settings = definition.setdefault("settings", {})
    if "on_error" not in settings and random.random() < 0.5:
        settings["on_error"] = random.choice(UNDOES)
    if random.random() < 0.7:
        definition["rollback"] = [_act(name, "back"), {"id": "rest", "type": "wait", "seconds": 1}]


def _act(workflow: str, id: str) -> dict[str, Json]:
    return {"id": id, "type": "skill", "config": {"skill": "act", "parameters": {"name": f"{workflow}/{id}"}}}


def _every(steps: Sequence[dict[str, Json]]) -> Iterator[dict[str, Json]]:
    for step in steps:
        yield step
        yield from _every(step.get("steps", ()))
        for branch in step.get("branches", ()):
            yield from _every(branch["steps"])


def without_undos(definition: dict[str, Json]) -> dict[str, Json]:
    """The workflow as far as the reference knows it, which undoes nothing."""
    result: dict[str, Json] = copy.deepcopy(definition)
    result.pop("rollback", None)
    for holder, key in (
        *((step, "on_failure") for step in _every(result["steps"])), *((one, "action") for one in result.get("error_handlers", ())),
        (result.get("settings", {}), "on_error"),
    ):
        if holder.get(key) in UNDOES:
            holder[key] = "fail"
    return result


def _workflow(random: Random, id: str, children: Sequence[tuple[str, bool, bool]], length: int) -> tuple[dict[str, Json], bool]:
    maker = Maker(random, id, children)
    body = maker.steps(length, 2, [])
    definition: dict[str, Json] = {
        "dialect": "canonical", "id": id, "inputs": {"n": {"type": "integer", "required": True}}, "steps": body.steps,
    }  # fmt: skip
    settings: dict[str, Json] = {}
    if maker.chance(15):
        settings["on_error"] = "continue"
    if maker.chance(20):
        settings["max_parallel"] = random.randrange(1, 4)
    if settings:
        definition["settings"] = settings
    if maker.chance(20):
        definition["error_handlers"] = [{"errors": [random.choice(ERRORS)], "action": random.choice(("continue", "fail"))}]
    if maker.chance(25):
        definition["finally"] = maker.steps(random.randrange(1, 3), 0, [Read("execution.status", False)], safe=True).steps
    if maker.chance(60):
        definition["outputs"] = {f"o{number}": maker.hole(read.text) for number, read in enumerate(body.reads)}
    return definition, body.fails
