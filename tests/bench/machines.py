"""A discrete-event simulator of emitted state machines: Tasks take the time that they are given, gates wait for signals.

It reads the machine and the map from states to steps, nothing else of the compiler. Expressions are not evaluated: who runs
the simulator says which steps a condition skips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

from aslant.gates import Pool, turned
from translator.asl.block import Origin

GATE = "${gate}"
_NEVER = float("inf")


@dataclass(slots=True)
class Run:
    """`start`, `end` and `status` by step; a `makespan` below 0 says that something waits for ever."""

    start: dict[str, float] = field(default_factory=dict)
    end: dict[str, float] = field(default_factory=dict)
    status: dict[str, str] = field(default_factory=dict)
    makespan: float = -1.0
    failed: bool = False
    states: int = 0
    most: int = 0  # steps at once


@dataclass(slots=True, eq=False)
class _Walk:
    """One `States` map on the way."""

    moves: Iterator[tuple[str, Any]]
    parent: _Walk | None
    children: list[_Walk] = field(default_factory=list)
    ready: list[Mapping[str, Any]] = field(default_factory=list)  # branches that a limit holds back
    open: int = 0
    stopped: bool = False


class _Failed(Exception):
    pass


class Machine:
    """Runs a definition and its parts. `seconds` by step; `fails` and `skips` are steps; each state takes `state` more, each token `hop`."""

    def __init__(
        self, definition: Mapping[str, Any], origins: Mapping[str, Origin], seconds: Mapping[str, float], *,
        fails: frozenset[str] = frozenset(), skips: frozenset[str] = frozenset(), state: float = 0.0,
        hop: Callable[[], float] = lambda: 0.0, parts: Mapping[str, Any] | None = None,
    ) -> None:
        self.parts = parts or {}
        self.definition, self.origins, self.seconds = definition, origins, seconds
        self.fails, self.skips, self.state, self.hop = fails, skips, state, hop
        self.run = Run()
        self.done: dict[str, set[str]] = {}
        self.arrived: dict[str, set[str]] = {}
        self.blocked: dict[str, tuple[int, _Walk]] = {}
        self.pools: dict[str, Pool] = {}
        self.running = 0
        self.events: list[tuple[float, int, Callable[[], None]]] = []
        self.number, self.now = 0, 0.0

    def result(self) -> Run:
        self._begin(self.definition, None)
        while self.events and self.run.makespan < 0:
            self.now, _, what = heappop(self.events)
            what()
        return self.run

    def _at(self, delay: float, what: Callable[[], None]) -> None:
        self.number += 1
        heappush(self.events, (self.now + delay, self.number, what))

    def _begin(self, states: Mapping[str, Any], parent: _Walk | None) -> _Walk:
        walk = _Walk(iter(()), parent)
        walk.moves = self._walk(states, walk)
        if parent is not None:
            parent.children.append(walk)
        self._at(0.0, lambda: self._go(walk))
        return walk

    def _go(self, walk: _Walk, error: bool = False) -> None:
        """Lets a walk go on until it waits for something."""
        if walk.stopped:
            return
        try:
            kind, what = walk.moves.throw(_Failed()) if error else next(walk.moves)  # type: ignore[attr-defined]
        except StopIteration:
            self._ended(walk)
            return
        except _Failed:
            self._broken(walk)
            return
        if kind == "after":
            self._at(what, lambda: self._go(walk))
        elif kind == "token":
            gate, need, turn = what
            count = len(self.arrived.get(gate, ()))
            if count >= need:
                self._at(0.0, lambda: self._go(walk))
                return
            self.blocked[gate] = (need, walk)
            if turn is not None and count == need - 1:
                self._turn(turn, asks=(turn["priority"], gate))
        else:
            branches, at_once = what
            walk.open = len(branches)
            walk.children, walk.ready = [], list(branches[at_once:])
            for branch in branches[:at_once]:
                self._begin(branch, walk)

    def _ended(self, walk: _Walk) -> None:
        walk.stopped = True
        if walk.parent is None:
            self.run.makespan = self.now
            return
        walk.parent.open -= 1
        if walk.parent.ready:
            self._begin(walk.parent.ready.pop(0), walk.parent)
        if not walk.parent.open:
            parent = walk.parent
            self._at(0.0, lambda: self._go(parent))

    def _broken(self, walk: _Walk) -> None:
        walk.stopped = True
        parent = walk.parent
        if parent is None:
            self.run.failed, self.run.makespan = True, self.now
            return
        stack = list(parent.children)
        while stack:
            one = stack.pop()
            one.stopped = True
            stack.extend(one.children)
        self._go(parent, error=True)

    def _signal(self, gate: str, by: str, need: int = 0, turn: Mapping[str, Any] | None = None) -> None:
        self.arrived.setdefault(gate, set()).add(by)
        count = len(self.arrived[gate])
        if gate in self.blocked and count >= self.blocked[gate][0]:
            self._go(self.blocked.pop(gate)[1])
        elif turn is not None and gate in self.blocked and count == need - 1:
            self._turn(turn, asks=(turn["priority"], gate))

    def _turn(self, of: Mapping[str, Any], asks: tuple[float, str] | None = None, gives: str | None = None) -> None:
        self.pools[of["pool"]], told = turned(self.pools.get(of["pool"], Pool()), of["limit"], asks=asks, gives=gives)
        for gate in told:
            self._at(self.hop(), lambda gate=gate: self._signal(gate, "turn"))  # type: ignore[misc]

    def _walk(self, machine: Mapping[str, Any], walk: _Walk) -> Iterator[tuple[str, Any]]:
        name = machine["StartAt"]
        while True:
            state, origin = machine["States"][name], self.origins[name]
            self.run.states += 1
            kind = state["Type"]
            yield "after", self.state
            following = state.get("Next")
            if kind == "Fail":
                raise _Failed
            if kind == "Choice":
                skipped = origin.role == "condition" and origin.step in self.skips
                following = state["Default"] if skipped else state["Choices"][0]["Next"]
                if skipped:
                    self.run.status[origin.step] = "skipped"
                    self.run.start[origin.step] = self.run.end[origin.step] = self.now
            elif kind == "Parallel":
                try:
                    yield "fork", (state["Branches"], len(state["Branches"]))
                except _Failed:
                    following = _caught(state)
            elif kind == "Map":
                try:
                    yield "fork", (_iterations(state), state["MaxConcurrency"])
                except _Failed:
                    following = _caught(state)
            elif kind == "Task" and "StateMachineArn" in state["Arguments"]:
                try:
                    yield "fork", ([self.parts[state["Arguments"]["StateMachineArn"][2:-1]]], 1)
                except _Failed:
                    following = str(state["Catch"][0]["Next"])
            elif kind == "Task" and state["Arguments"]["FunctionName"] == GATE:
                yield from self._gate(state["Arguments"]["Payload"]["config"])
            elif kind == "Task":
                step = origin.step
                self.run.start[step] = self.now
                self.running += 1
                self.run.most = max(self.run.most, self.running)
                yield "after", self.seconds[step]
                self.running -= 1
                self.run.end[step] = self.now
                self.run.status[step] = "failed" if step in self.fails else "completed"
                if step in self.fails:
                    following = _caught(state)
            if following is None:
                return
            name = following

    def _gate(self, config: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        if "gives" in config:
            self._turn(config["gives"], gives=config["gives"]["gate"])
        for one in config.get("signals", ()):
            self._at(self.hop(), lambda one=one: self._signal(one["gate"], one["by"], one["need"], one.get("turn")))  # type: ignore[misc]
        if "wait" in config:
            wait = config["wait"]
            yield "token", (wait["gate"], wait["need"], wait.get("turn"))


def _iterations(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """A bounded Map over the numbers of its branches, each as a machine of its own."""
    inner = state["ItemProcessor"]
    pick = inner["States"][inner["StartAt"]]
    starts = [*(rule["Next"] for rule in pick["Choices"]), pick["Default"]]
    assert state["Items"] == [*range(len(starts))]
    return [{"StartAt": start, "States": inner["States"]} for start in starts]


def _caught(state: Mapping[str, Any]) -> str:
    for rule in state.get("Catch", ()):
        if "States.ALL" in rule["ErrorEquals"]:
            return str(rule["Next"])
    raise _Failed
