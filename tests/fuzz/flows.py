"""Random workflows with a model: what their steps give, worked out without running them.

Every step that acts adds a number to what came before, so an output tells which steps counted, and how often.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

Json = Any
_KINDS = (
    "effect", "effect", "effect", "transform", "wait", "choice", "parallel", "foreach", "approval", "child", "flaky", "lost",
)  # fmt: skip


@dataclass(slots=True)
class Flow:
    """A generated definition. `value(n)` of each step is what it gives for the input `n`; None when it gives nothing."""

    id: str
    definition: dict[str, Json]
    fails: frozenset[str]  # steps that end the execution
    approvals: int
    undoes: bool           # it has a rollback
    on_error: str          # what a failure leads to
    own: dict[str, str]    # and that of some steps
    children: tuple[Flow, ...] = ()
    _total: Any = None
    effects: dict[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        return json.dumps(self.definition)  # YAML takes JSON

    def total(self, n: int) -> int:
        """The output `total` of an execution that completes with the input `n`."""
        value: int = self._total(n)
        return value


def _hole(expression: str) -> str:
    return "{{ " + expression + " }}"


@dataclass(slots=True)
class _Builder:
    random: Random
    id: str
    depth: int
    children: list[Flow] = field(default_factory=list)
    fails: set[str] = field(default_factory=set)
    approvals: int = 0
    count: int = 0
    compensates: bool = False
    fatal: list[dict[str, Json]] = field(default_factory=list)

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def add(self, steps: list[dict[str, Json]], before: tuple[str, str, Any], inside: int, fatal: bool) -> tuple[str, str, Any]:
        """Appends one step (or a few) after `before`; gives its id, the expression of its value, and its model.

        `before` is the id to depend on (empty for none), the expression of the value so far, and its model, a
        function of (n, item).
        """
        kind = self.random.choice(_KINDS)
        if inside >= 2 and kind in ("parallel", "foreach", "choice", "child") or (kind == "child" and not self.children):
            kind = "effect"
        if fatal and self.chance(0.06):
            kind = "fatal"
        after, expression, value = before
        needs = [after] if after else []
        if kind == "transform":
            id = self.name("t")
            steps.append({"id": id, "type": "transform", "depends_on": needs, "config": {"expression": f"{expression} + 1"}})
            return id, f"(steps.{id}.output ?? 0)", lambda n, i: value(n, i) + 1
        if kind == "wait":
            id = self.name("w")
            steps.append({"id": id, "type": "wait", "depends_on": needs, "seconds": self.random.randrange(1, 12)})
            return id, expression, value
        if kind == "approval":
            self.approvals += 1
            id = self.name("a")
            steps.append({"id": id, "type": "approval", "depends_on": needs, "timeout": 36000, "config": {"message": "Go on?"}})
            return id, f"({expression} + (1 if steps.{id}.output.approved else 0))", lambda n, i: value(n, i) + 1
        if kind == "choice":
            return self._choice(steps, needs, expression, value, inside)
        if kind == "parallel":
            return self._parallel(steps, needs, expression, value, inside)
        if kind == "foreach":
            return self._foreach(steps, needs, expression, value, inside)
        if kind == "child":
            child = self.random.choice(self.children)
            id = self.name("k")
            step: dict[str, Json] = {
                "id": id, "type": "workflow", "workflow": child.id, "depends_on": needs, "input": {"n": _hole(expression)},
            }  # fmt: skip
            steps.append(step)
            if child.fails and not (fatal and self.chance(0.4)):
                step["on_failure"] = {"action": "continue"}
                return id, expression, value
            self.fails |= {id} if child.fails else set()
            return id, f"(steps.{id}.output.total ?? 0)", lambda n, i: child.total(value(n, i))
        if kind == "lost":
            id = self.name("x")
            steps.append({
                "id": id, "type": "skill", "timeout": 6, "depends_on": needs, "retry": {"max_attempts": 2, "delay": 1},
                "config": {"skill": "breaks"}, "on_failure": {"action": "continue"},
            })  # fmt: skip
            return id, f"({expression} + (steps.{id}.output ?? 0))", value
        if kind == "fatal":
            id = self.name("f")
            self.fails.add(id)
            self.fatal.append({
                "id": id, "type": "skill", "timeout": 6, "depends_on": needs, "retry": {"max_attempts": 1},
                "config": {"skill": "breaks"},
            })  # fmt: skip
            steps.append(self.fatal[-1])
            return id, expression, value
        return self._effect(steps, needs, expression, value, "flaky" if kind == "flaky" else "effect")

    def _effect(self, steps: list[dict[str, Json]], needs: list[Json], expression: str, value: Any, skill: str) -> tuple[str, str, Any]:
        id = self.name("s")
        number = self.random.randrange(1, 10)
        step: dict[str, Json] = {
            "id": id, "type": "skill", "timeout": 6, "depends_on": needs,
            "config": {"skill": skill, "parameters": {"value": _hole(f"{expression} + {number}")}},
        }  # fmt: skip
        if self.chance(0.3):
            self.compensates = True
            step["compensation"] = {
                "id": f"c{id}", "type": "skill", "timeout": 6, "config": {"skill": "effect", "parameters": {"value": _hole(f"steps.{id}.output")}},
            }  # fmt: skip
        steps.append(step)
        return id, f"(steps.{id}.output ?? 0)", lambda n, i: value(n, i) + number

    def _choice(self, steps: list[dict[str, Json]], needs: list[Json], expression: str, value: Any, inside: int) -> tuple[str, str, Any]:
        id = self.name("r")
        steps.append({
            "id": id, "type": "choice", "depends_on": needs, "cases": [{"name": "even", "when": f"({expression}) % 2 == 0"}],
            "default": "odd",
        })  # fmt: skip
        ends = []
        for outcome in ("even", "odd"):
            made: list[dict[str, Json]] = []
            end = self._effect(made, [{"step": id, "on": [outcome]}], expression, value, "effect")
            steps += made
            ends.append(end)
        join = self.name("j")
        (even, read_even, of_even), (odd, read_odd, of_odd) = ends
        steps.append({
            "id": join, "type": "transform", "depends_on": [even, odd], "config": {"expression": f"{read_even} + {read_odd}"},
        })  # fmt: skip
        return join, f"(steps.{join}.output ?? 0)", lambda n, i: of_even(n, i) if value(n, i) % 2 == 0 else of_odd(n, i)

    def _chain(self, expression: str, value: Any, inside: int, length: int, fatal: bool) -> tuple[list[dict[str, Json]], str, Any]:
        """Steps one after another; the last one acts, so that it gives the value."""
        steps: list[dict[str, Json]] = []
        at = ("", expression, value)
        for _ in range(length):
            at = self.add(steps, at, inside + 1, fatal)
        last = self._effect(steps, [at[0]] if at[0] else [], at[1], at[2], "effect")
        return steps, last[1], last[2]

    def _parallel(self, steps: list[dict[str, Json]], needs: list[Json], expression: str, value: Any, inside: int) -> tuple[str, str, Any]:
        id = self.name("p")
        branches, reads, models = [], [], []
        for _ in range(self.random.randrange(2, 4)):
            inner, read, model = self._chain(expression, value, inside, self.random.randrange(0, 3), fatal=True)
            branches.append({"steps": inner})
            reads.append(read)
            models.append(model)
        steps.append({"id": id, "type": "parallel", "depends_on": needs, "branches": branches})
        total = self.name("t")
        steps.append({"id": total, "type": "transform", "depends_on": [id], "config": {"expression": " + ".join(reads)}})
        return total, f"(steps.{total}.output ?? 0)", lambda n, i: sum(model(n, i) for model in models)

    def _foreach(self, steps: list[dict[str, Json]], needs: list[Json], expression: str, value: Any, inside: int) -> tuple[str, str, Any]:
        id = self.name("l")
        items = [self.random.randrange(1, 5) for _ in range(self.random.randrange(0, 4))]
        inner, _, model = self._chain("item", lambda n, i: i, inside, self.random.randrange(0, 3), fatal=True)
        steps.append({
            "id": id, "type": "foreach", "depends_on": needs, "items": items, "max_parallel": self.random.randrange(1, 4),
            "steps": inner,
        })  # fmt: skip
        total = self.name("t")
        steps.append({
            "id": total, "type": "transform", "depends_on": [id], "config": {"expression": f"{expression} + sum(steps.{id}.output)"},
        })  # fmt: skip
        return total, f"(steps.{total}.output ?? 0)", lambda n, i: value(n, i) + sum(model(n, item) for item in items)


def flow(random: Random, id: str, *, children: tuple[Flow, ...] = (), length: int = 6, fatal: bool = True) -> Flow:
    """A workflow of about `length` steps at its top, calling some of `children`."""
    builder = _Builder(random, id, 0, list(children))
    steps: list[dict[str, Json]] = []
    at: tuple[str, str, Any] = ("", "input.n", lambda n, i: n)
    for _ in range(random.randrange(max(1, length // 2), length + 1)):
        at = builder.add(steps, at, 0, fatal)
    last = builder._effect(steps, [at[0]] if at[0] else [], at[1], at[2], "effect")
    definition: dict[str, Json] = {
        "dialect": "canonical", "id": id, "inputs": {"n": {"type": "integer", "required": True}},
        "settings": {"retry": {"max_attempts": 12, "delay": 1, "max_delay": 10, "on": ["*"]}},
        "outputs": {"total": _hole(last[1])}, "steps": steps,
    }  # fmt: skip
    if random.random() < 0.5:
        definition["settings"]["checkpoint"] = random.choice([{"policy": "every_node"}, {"policy": "every_n", "every": 3}, {"policy": "on_failure"}])
    if builder.compensates and random.random() < 0.5:
        definition["settings"]["on_error"] = random.choice(["compensate", "rollback"])
    on_error = definition["settings"].get("on_error", "fail")
    extra = Random(json.dumps(steps))  # of its own, so that a seed keeps its steps
    if on_error == "rollback" or extra.random() < 0.5:
        definition["rollback"] = [{"id": "back", "type": "skill", "timeout": 6, "config": {"skill": "effect", "parameters": {"value": 1}}}]
    undoes = builder.compensates or "rollback" in definition
    for step in builder.fatal:
        if extra.random() < 0.6:
            step["on_failure"] = extra.choice(["fail", "compensate", "rollback"] if undoes else ["fail"])
    if random.random() < 0.4:
        definition["finally"] = [{"id": "end", "type": "skill", "timeout": 6, "config": {"skill": "effect", "parameters": {"value": 2}}}]
    model = last[2]
    return Flow(
        id, definition, frozenset(builder.fails), builder.approvals, undoes, on_error,
        {step["id"]: step["on_failure"] for step in builder.fatal if "on_failure" in step}, tuple(builder.children), lambda n: model(n, None),
    )  # fmt: skip
