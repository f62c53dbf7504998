"""The order that tokens give, read from a finished machine. Shares nothing with what made it.

A gate is right when as many signals are sent as its wait needs, each from a state of its own, and when no way through the
machine passes by any of these states, failures aside: then the wait ends, and what follows it follows every signal. One signal
less is sent where the gate's turn has to come as well; then the turn is over on every way on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

FUNCTION = "${gate}"
Path = tuple[tuple[str, int], ...]


class States(Protocol):
    """One `States` map, as `check.py` has it."""

    path: Path
    states: Mapping[str, Any]
    start: str


@dataclass(slots=True)
class _Gate:
    bit: int
    need: int = 0
    turn: Mapping[str, Any] | None = None
    waits: list[tuple[Path, str]] = field(default_factory=list)
    signals: dict[str, list[tuple[Path, str]]] = field(default_factory=dict)


@dataclass(slots=True)
class Tokens:
    """`failing`: states that only failures lead to."""

    maps: Mapping[Path, States]
    failing: Set[str]
    _gates: dict[str, _Gate] = field(default_factory=dict)
    _endings: dict[str, list[tuple[Path, str, Mapping[str, Any]]]] = field(default_factory=dict)  # of turns, by gate
    _before: dict[tuple[Path, str], int] = field(default_factory=dict)  # gates waited for before a state
    _after: dict[tuple[Path, str], int] = field(default_factory=dict)  # gates signalled after a state
    _follow: list[int] = field(default_factory=list)  # by gate: what is signalled after its wait

    def __post_init__(self) -> None:
        for path, one in self.maps.items():
            for name, state in one.states.items():
                config = _config(state)
                if config is None:
                    continue
                for signal in config.get("signals", ()):
                    self._gate(signal["gate"]).signals.setdefault(signal["by"], []).append((path, name))
                    self._gate(signal["gate"]).need = signal["need"]
                if "wait" in config:
                    gate = self._gate(config["wait"]["gate"])
                    gate.waits.append((path, name))
                    gate.need = config["wait"]["need"]
                    gate.turn = config["wait"].get("turn")
                if "gives" in config:
                    self._endings.setdefault(config["gives"]["gate"], []).append((path, name, config["gives"]))
        if self._gates:
            self._spread()

    def problems(self) -> Iterator[str]:
        """What is wrong with the gates."""
        for name, gate in self._gates.items():
            if len(gate.waits) != 1:
                yield f"{len(gate.waits)} states wait at the gate {name!r}"
            yield from self._turn_problems(name, gate)
            if len(gate.signals) != gate.need - (gate.turn is not None):
                yield f"the gate {name!r} needs {gate.need} signals and gets {len(gate.signals)}"
            if not gate.signals:
                continue  # nobody but the gate itself asks for its turn, so it may be passed by
            places = [*gate.waits, *(place for sent in gate.signals.values() for place in sent)]
            if len(set(places)) < len(places) or any(len(sent) > 1 for sent in gate.signals.values()):
                yield f"a signal of the gate {name!r} is sent twice"
            shared = _shared([path for path, _ in places])
            for path, state in places:
                config = _config(self.maps[path].states[state]) or {}
                if any(
                    one["need"] != gate.need for one in (*config.get("signals", ()), config.get("wait", {"need": gate.need}))
                    if one.get("gate") == name
                ) or any(one.get("turn") != gate.turn for one in config.get("signals", ()) if one["gate"] == name):
                    yield f"the state {state!r} has another number of signals for the gate {name!r}"
                if self._passed_by(path, state, shared):
                    yield f"there is a way around the state {state!r}, and others wait for it"
                if self._capped(path, shared):
                    yield f"the state {state!r} waits for branches that may not have started"

    def _turn_problems(self, name: str, gate: _Gate) -> Iterator[str]:
        endings = self._endings.get(name, [])
        if len(endings) != (gate.turn is not None):
            yield f"the turn of the gate {name!r} ends in {len(endings)} states"
        for around, ending, given in endings:
            if gate.turn is not None and given != {**gate.turn, "gate": name}:
                yield f"the state {ending!r} ends another turn than {name!r} was given"
            for path, state in gate.waits:
                if path != around or self._passed_by(path, ending, len(path), state):
                    yield f"there is a way from the state {state!r} that does not end its turn"

    def ordered(self, first: tuple[Path, str], second: tuple[Path, str]) -> bool:
        """Whether tokens let the second state start only after the first one has ended."""
        wanted = self._before.get(second, 0)
        seen, fresh = 0, self._after.get(first, 0)
        while fresh and not fresh & wanted:
            seen |= fresh
            following = 0
            while fresh:
                bit = fresh & -fresh
                following |= self._follow[bit.bit_length() - 1]
                fresh ^= bit
            fresh = following & ~seen
        return bool(fresh & wanted)

    def _gate(self, name: str) -> _Gate:
        return self._gates.setdefault(name, _Gate(1 << len(self._gates)))

    def _passed_by(self, path: Path, state: str, shared: int, start: str = "") -> bool:
        """Whether the state, or what holds it inside of what all of the gate's states share, is not on every way.

        Ways begin where the frame does, or at `start`.
        """
        places = [(path[:depth], name) for depth, (name, _) in enumerate(path) if depth >= shared] + [(path, state)]
        for around, name in places:
            one = self.maps[around]
            stack, seen = [start or one.start] if one.start != name else [], set()
            while stack:
                here = stack.pop()
                if here in seen or here in self.failing:
                    continue
                seen.add(here)
                found = one.states[here]
                if found.get("End") is True or found["Type"] == "Succeed":
                    return True
                stack.extend(target for target in targets(found) if target != name)
        return False

    def _capped(self, path: Path, shared: int) -> bool:
        return any(
            self.maps[path[:depth]].states[name]["Type"] == "Map" for depth, (name, _) in enumerate(path) if depth >= shared
        )

    def _spread(self) -> None:
        waited: dict[tuple[Path, str], int] = {}
        signalled: dict[tuple[Path, str], int] = {}
        for gate in self._gates.values():
            for path, state in gate.waits:
                _mark(waited, path, state, gate.bit)
            for sent in gate.signals.values():
                for path, state in sent:
                    _mark(signalled, path, state, gate.bit)
        for path, one in sorted(self.maps.items(), key=lambda item: len(item[0])):
            outer = (path[:-1], path[-1][0]) if path else None
            order = _topological(one)
            before = dict.fromkeys(order, self._before.get(outer, 0) if outer else 0)
            for name in order:
                mask = before[name] | waited.get((path, name), 0)
                self._before[path, name] = before[name]
                for target in targets(one.states[name]):
                    if target in before:
                        before[target] |= mask
            ending = self._after.get(outer, 0) if outer else 0
            for name in reversed(order):
                mask = ending
                for target in targets(one.states[name]):
                    mask |= self._after.get((path, target), 0) | signalled.get((path, target), 0)
                self._after[path, name] = mask
        self._follow = [
            self._after.get(gate.waits[0], 0) if gate.waits else 0 for gate in self._gates.values()
        ]  # fmt: skip


def targets(state: Mapping[str, Any]) -> list[str]:
    found = [rule["Next"] for rule in (*state.get("Choices", ()), *state.get("Catch", ()))]
    return found + [state[key] for key in ("Next", "Default") if key in state]


def _config(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    arguments = state.get("Arguments")
    if state["Type"] != "Task" or not isinstance(arguments, Mapping) or arguments.get("FunctionName") != FUNCTION:
        return None
    config: Mapping[str, Any] = arguments["Payload"]["config"]
    return config


def _mark(masks: dict[tuple[Path, str], int], path: Path, state: str, bit: int) -> None:
    """Notes a gate for the state and for everything around it."""
    for depth, (name, _) in enumerate(path):
        masks[path[:depth], name] = masks.get((path[:depth], name), 0) | bit
    masks[path, state] = masks.get((path, state), 0) | bit


def _shared(paths: list[Path]) -> int:
    """How many of the states around them all have in common, the state with the branches in which they differ included."""
    depth = 0
    while all(len(path) > depth for path in paths) and len({path[depth] for path in paths}) == 1:
        depth += 1
    if all(len(path) > depth for path in paths) and len({path[depth][0] for path in paths}) == 1:
        depth += 1
    return depth


def _topological(one: States) -> list[str]:
    """The states in an order in which ways onwards lead; ways back to another attempt aside."""
    order: list[str] = []
    state: dict[str, int] = {}
    stack = [one.start]
    while stack:
        name = stack[-1]
        if state.get(name) is None:
            state[name] = 0
            stack.extend(target for target in targets(one.states[name]) if target in one.states and target not in state)
            continue
        stack.pop()
        if state[name] == 0:
            state[name] = 1
            order.append(name)
    return order[::-1]
