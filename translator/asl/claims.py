"""What a state machine reads itself of the steps' results, and how large these may be: the rest may be stored elsewhere.

A value that states only pass on, from one function to another or into the output, may be a claim (`aslant.claims`): the
function that reads it resolves it. What an expression looks into must be there. So each step is told which parts of its result
stay, and from which size on the rest is stored, so that all that comes together in one state keeps below AWS's limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from aslant.contracts import CLAIM_THRESHOLD
from aslant.step_types import STEP_TYPES
from translator.asl.plan import Fork, Gate, Plan, Run, Sequence, runs
from translator.asl.values import literal
from translator.asl.variables import Variables
from translator.expressions.functions import FUNCTIONS, find
from translator.expressions.jsonata import is_native
from translator.expressions.references import slots
from translator.expressions.tree import (
    Attribute,
    Binary,
    Call,
    Conditional,
    Index,
    ListOf,
    Literal,
    Node,
    ObjectOf,
    Slot,
    children,
)
from translator.model.values import nodes_of
from translator.model.workflow import Step, Value

TOGETHER = 200 * 1024  # bytes of results in one state: below 256 KiB, with room for what stands around them
ALL = 9 * 1024 * 1024  # bytes of results in all variables of an execution, of the 10 MiB that AWS allows
_SMALLEST = 1024

Chain = tuple[Slot, tuple[str, ...]]


@dataclass(slots=True)
class Use:
    """How one step's result is used: parts (as paths of keys) that are looked into, and parts that are only passed on."""

    keep: set[tuple[str, ...]] = field(default_factory=set)
    passed: set[tuple[str, ...]] = field(default_factory=set)
    share: int = CLAIM_THRESHOLD  # bytes that it may have
    shared: bool = False  # the results of a loop's iterations come together


def claim_rules(
    plans: Iterable[Plan | None], outputs: Value, variables: Variables, distributed: Mapping[str, Any], *, looked_into: bool
) -> dict[str, dict[str, Any]]:
    """The rules (`aslant.contracts.ClaimRules`) for each step that has some, by its id.

    `distributed` are the loops whose items a function reads, and whose results one gives. With `looked_into` the state machine
    that called this one reads its outputs.
    """
    analysis = _Analysis(variables, distributed)
    every = [*plans]
    for plan in every:
        for run in runs(plan):
            analysis.runs[run.step.id] = run
    for plan in every:
        for run in runs(plan):
            analysis.step(run.step)
        analysis.joins(plan)
    analysis.together(analysis.values(outputs, native=looked_into))
    analysis.hand_down()
    return analysis.rules()


class _Analysis:
    def __init__(self, variables: Variables, distributed: Mapping[str, Any]) -> None:
        self.variables = variables
        self.distributed = distributed
        self.runs: dict[str, Run] = {}
        self.uses: dict[str, Use] = {}

    def use(self, step: str) -> Use:
        return self.uses.setdefault(step, Use())

    def step(self, step: Step) -> None:
        for node in (step.when, *(case.when for case in step.cases)):
            if node is not None:
                self.look(node)
        function = step.type in STEP_TYPES and not STEP_TYPES[step.type].native
        computed = step.type in ("transform", "aggregate") and "value" in step.config
        read: list[Slot] = []
        for key, value in step.config.items():
            native = not function or computed or (step.type, key) == ("approval", "auto_approve")
            read += self.values(value, native=native)
        if step.items is not None:
            read += self.values(step.items, native=step.id not in self.distributed)
        if step.input is not None:
            read += self.values(step.input, native=True)
        for value in (step.seconds, step.until):
            if value is not None:
                self.values(value, native=True)
        self.together(read)

    def values(self, value: Value, *, native: bool) -> list[Slot]:
        """What the expressions of a structure read. With `native` the state machine looks into what they name."""
        read: list[Slot] = []
        for node in nodes_of(value):
            named = slots(node)
            if not named:
                continue
            read += named
            if not is_native(node) or self._is_large(node):  # a function evaluates it, and is given whole values
                for slot in named:
                    if slot.kind == "output":
                        self.use(slot.name).passed.add(())
            elif native:
                self.look(node)
            else:
                self.hand_on(node)
        return read

    def hand_on(self, node: Node) -> None:
        """An expression whose value goes on to a function. What it is put together of is not looked into."""
        stack = [node]
        while stack:
            here = stack.pop()
            chain = chain_of(here)
            if chain is not None:
                self.use(chain[0].name).passed.add(chain[1])
            elif (branch := self._branch(here)) is not None:
                for use, path in branch:
                    use.passed.add(path)
            elif isinstance(here, ListOf) or (isinstance(here, Binary) and here.op == "??"):
                stack.extend(children(here))
            elif isinstance(here, ObjectOf):
                for key, value in here.items:
                    self.look(key)
                    stack.append(value)
            elif isinstance(here, Conditional):
                self.look(here.test)
                stack += [here.then, here.other]
            else:
                self.look(here)

    def look(self, node: Node) -> None:
        """An expression that the state machine evaluates."""
        if not is_native(node) or self._is_large(node):
            self.values(node, native=False)
            return
        stack = [node]
        while stack:
            here = stack.pop()
            chain = chain_of(here)
            if chain is not None:
                self.use(chain[0].name).keep.add(chain[1])
            elif (branch := self._branch(here)) is not None:
                for use, path in branch:
                    use.keep.add(path)
            elif isinstance(here, Call) and find(here.name) is FUNCTIONS["len"] and self._is_counted(here):
                continue  # the elements are only counted
            else:
                stack.extend(children(here))

    def _branch(self, node: Node) -> list[tuple[Use, tuple[str, ...]]] | None:
        """What an expression such as `steps.p.output.results[1].output.k` reads of what makes up that branch's result; nothing
        of it where it asks how the branch ended. None for an expression that is none of these.
        """
        path: list[str] = []
        while isinstance(node, Attribute):
            path.insert(0, node.name)
            node = node.of
        if not path or not isinstance(node, Index) or not isinstance(node.key, Literal):
            return None
        chain, number = chain_of(node.of), node.key.value
        run = self.runs.get(chain[0].name) if chain is not None and chain[1] == ("results",) else None
        if run is None or run.step.type != "parallel" or type(number) is not int or not 0 <= number < len(run.bodies):
            return None
        self.use(run.step.id)  # what its branches give is part of a result
        if path[0] != "output":
            return []
        last = run.bodies[number].last
        return [(self.use(step.id), tuple(path[1:]) if len(last) == 1 else ()) for step in last]

    def _is_large(self, node: Node) -> bool:
        """Whether only a function looks into it (`Writer.large`)."""
        return not isinstance(node, Slot) and any(
            slot.kind == "output" and slot.name in self.distributed for slot in slots(node)
        )

    def _is_counted(self, call: Call) -> bool:
        """Whether it is the number of a loop's results, or of a parallel's."""
        chain = chain_of(call.args[0]) if len(call.args) == 1 else None
        run = self.runs.get(chain[0].name) if chain is not None else None
        if run is None or chain is None:
            return False
        self.use(run.step.id)
        if run.step.type == "parallel":
            return chain[1] == ("results",)
        return run.step.type == "foreach" and not chain[1] and run.step.id not in self.distributed

    def together(self, read: Iterable[Slot]) -> None:
        """The results among these slots stand in one state."""
        names = {slot.name for slot in read if slot.kind == "output"}
        for name in names:
            use = self.use(name)
            use.share = min(use.share, TOGETHER // len(names))

    def joins(self, plan: Plan | None) -> None:
        """What frames hand on comes together in the state around them."""
        stack: list[Plan | None] = [plan]
        while stack:
            here = stack.pop()
            bodies = here.bodies if isinstance(here, Run | Fork) else ()
            if bodies:
                handed = [slot for body in bodies for slot in self.variables.exports.get(body.frame, ())]
                if isinstance(here, Run) and here.step.type == "parallel":
                    handed += [Slot("output", step.id) for body in bodies for step in body.last]
                self.together(handed)
                stack.extend(body.plan for body in bodies)
            elif isinstance(here, Sequence):
                stack.extend(here.parts)
            elif isinstance(here, Gate):
                for tokens in (here.signals, here.waits):
                    self.together([slot for token in tokens for slot in self.variables.sent.get(token, ())])
            elif here is not None and not isinstance(here, Run):
                stack.extend(_inside(here))

    def hand_down(self) -> None:
        """What is said of a loop or parallel holds for the steps that make up its result."""
        for name, run in self.runs.items():  # outer before inner
            use = self.uses.get(name)
            if use is None or not run.bodies or name in self.distributed:
                continue
            for body in run.bodies:
                for step in body.last:
                    inner = self.use(step.id)
                    inner.shared |= run.step.type == "foreach" or use.shared
                    inner.share = min(inner.share, use.share)
                    if any(run.step.type != "parallel" or path[:1] != ("errors",) for path in use.keep):
                        inner.keep.add(())
                    inner.passed.add(())

    def rules(self) -> dict[str, dict[str, Any]]:
        kept = sum(1 for slot, _ in self.variables.names if slot.kind == "output")
        most = max(_SMALLEST, ALL // max(1, kept))
        found: dict[str, dict[str, Any]] = {}
        for name, use in self.uses.items():
            rules: dict[str, Any] = {}
            keep = _outermost(use.keep)
            around = {path[:-1] for path in use.passed if path}
            if keep:
                rules["keep"] = [_pointer(path) for path in keep]
            if around and () not in use.keep:
                rules["open"] = sorted({_pointer(path) for path in around})
            if use.shared:
                rules["shared"] = True
            share = max(_SMALLEST, min(use.share, most))
            if share < CLAIM_THRESHOLD:
                rules["over"] = share
            if rules:
                found[name] = rules
        return found


def short(rules: Mapping[str, Any]) -> Mapping[str, Any] | int:
    """The rules as a payload has them: a number of KiB for the most frequent ones, since every step pays for their bytes."""
    if rules.keys() == {"open", "over"} and rules["open"] == [""]:
        return int(rules["over"]) // 1024
    return rules


def within(rules: Mapping[str, Any], key: str) -> dict[str, Any]:
    """The rules for a result that is the value of `key` in what the function gives."""
    inner = {name: [f"/{key}{path}" for path in rules[name]] for name in ("keep", "open") if name in rules}
    return {**rules, **inner, "open": sorted({"", *inner.get("open", ())})}


def chain_of(node: Node) -> Chain | None:
    """The result of a step, or a part of it by its keys: `steps.a.output.b.c`."""
    path: list[str] = []
    while isinstance(node, Attribute):
        path.append(node.name)
        node = node.of
    return (node, tuple(reversed(path))) if isinstance(node, Slot) and node.kind == "output" else None


def _outermost(paths: set[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The paths that are not inside of another one."""
    return sorted(path for path in paths if not any(path[:end] in paths for end in range(len(path))))


def _pointer(path: tuple[str, ...]) -> str:
    return literal("".join("/" + key.replace("~", "~0").replace("/", "~1") for key in path))


def _inside(plan: Any) -> Iterator[Plan | None]:
    if hasattr(plan, "arms"):
        yield from (arm for _, arm in plan.arms)
    elif hasattr(plan, "plan"):
        yield plan.plan
