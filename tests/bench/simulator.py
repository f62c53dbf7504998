"""A discrete-event simulator of layouts and the order that a layout keeps, from trees and tokens alone.

Nothing here knows how a strategy works: it only reads what a layout says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from translator.graph.strategies.layout import Branches, Layout, Leaf, Series, Tree


@dataclass(slots=True)
class Run:
    """What a simulated execution did; times are in seconds. `start` and `end` are of steps, -1 for what never came."""

    start: list[float]
    end: list[float]
    makespan: float = -1.0
    states: int = 0
    most: int = 0  # steps at once

    @property
    def finished(self) -> bool:
        """False: something waits for ever."""
        return self.makespan >= 0


# What a branch asks of the simulator: to go on after a time, after its tokens, in a place, after branches of its own.
Ask = tuple[str, float | int | Branches]


@dataclass(slots=True, eq=False)
class _Branch:
    """A sequence on the way: the machine itself, or a branch of a Parallel that goes on when all its branches have ended."""

    walk: Iterator[Ask]
    parent: _Branch | None
    children: int = 0
    ready: list[Tree] = field(default_factory=list)  # branches that a limit holds back, the next one last


class Simulator:
    """Runs a layout. `state` is what each state takes beside the step's own time, `hop` how long a token travels."""

    def __init__(self, layout: Layout, durations: Sequence[float], state: float = 0.0, hop: float = 0.0) -> None:
        self.layout, self.durations, self.state, self.hop = layout, durations, state, hop
        self.run = Run([-1.0] * layout.steps, [-1.0] * layout.steps)
        self.targets: dict[int, list[int]] = {}
        self.need: dict[int, int] = {}
        for source, target in layout.tokens:
            self.targets.setdefault(source, []).append(target)
            self.need[target] = self.need.get(target, 0) + 1
        self.gated = frozenset(self.need)
        self.blocked: dict[int, _Branch] = {}
        self.queue: list[tuple[float, int, _Branch]] = []  # steps that wait for a place
        self.free = layout.slots.limit if layout.slots else 0
        self.running = 0
        self.now = 0.0
        self.number = 0
        self.events: list[tuple[float, int, _Branch | int]] = []  # a branch goes on, or a token arrives

    def result(self) -> Run:
        if self.layout.tree is None:
            self.run.makespan = 0.0
            return self.run
        self._begin(self.layout.tree, None)
        while self.events:
            self.now, _, what = heappop(self.events)
            if isinstance(what, _Branch):
                self._go(what)
                continue
            self.need[what] -= 1
            if not self.need[what] and what in self.blocked:
                self._go(self.blocked.pop(what))
        return self.run

    def _at(self, moment: float, what: _Branch | int) -> None:
        self.number += 1
        heappush(self.events, (moment, self.number, what))

    def _begin(self, tree: Tree, parent: _Branch | None) -> None:
        self._at(self.now, _Branch(self._walk(tree.parts if isinstance(tree, Series) else (tree,)), parent))

    def _go(self, branch: _Branch) -> None:
        """Lets a branch go on until it has to wait for something."""
        kind, what = next(branch.walk, ("end", 0))
        if kind == "after":
            assert isinstance(what, float)
            self._at(self.now + what, branch)
        elif kind == "token":
            assert isinstance(what, int)
            if self.need[what]:
                self.blocked[what] = branch
            else:
                self._at(self.now, branch)
        elif kind == "place":
            assert isinstance(what, int) and self.layout.slots
            heappush(self.queue, (-(self.layout.slots.priority[what] or 0.0), what, branch))
            self._fill()
        elif kind == "fork":
            assert isinstance(what, Branches)
            branch.children = len(what.parts)
            at_once = what.limit or len(what.parts)
            branch.ready = list(reversed(what.parts[at_once:]))
            for part in what.parts[:at_once]:
                self._begin(part, branch)
        elif branch.parent is None:
            self.run.makespan = self.now
        else:
            parent = branch.parent
            parent.children -= 1
            if parent.ready:
                self._begin(parent.ready.pop(), parent)
            if not parent.children:
                self._at(self.now, parent)

    def _fill(self) -> None:
        while self.free and self.queue:
            self.free -= 1
            self._at(self.now, heappop(self.queue)[2])

    def _walk(self, parts: Sequence[Tree]) -> Iterator[Ask]:
        run, slots = self.run, self.layout.slots
        shared = False  # the last state was a signal; it can wait as well
        for part in parts:
            if isinstance(part, Branches):
                run.states += 1
                shared = False
                yield "after", self.state
                yield "fork", part
                continue
            assert isinstance(part, Leaf), "a series directly inside of a series"
            step = part.step < self.layout.steps
            placed = step and slots is not None and slots.priority[part.step] is not None
            if part.step in self.gated or placed:
                if not shared:
                    run.states += 1
                    yield "after", self.state
                shared = False
                if part.step in self.gated:
                    yield "token", part.step
                if placed:
                    yield "place", part.step
            if step:
                run.states += 1
                shared = False
                run.start[part.step] = self.now
                self.running += 1
                run.most = max(run.most, self.running)
                yield "after", self.durations[part.step] + self.state
                self.running -= 1
                run.end[part.step] = self.now
            if part.step in self.targets or placed:
                silent = part.step in self.layout.vocal and not placed  # the step's own state sends the signals
                if not shared and not silent:
                    run.states += 1
                    yield "after", self.state
                shared = not silent
                for target in self.targets.get(part.step, ()):
                    self._at(self.now + self.hop, target)
                if placed:
                    self.free += 1
                    self._fill()


# The order of a layout


def ancestors(preds: Sequence[Sequence[int]]) -> list[int]:
    """Who comes before each step, as bit masks; ValueError if steps wait for each other."""
    waiting = [len(set(sources)) for sources in preds]
    after: list[list[int]] = [[] for _ in preds]
    for step, sources in enumerate(preds):
        for source in set(sources):
            after[source].append(step)
    masks = [0] * len(preds)
    ready = [step for step, number in enumerate(waiting) if not number]
    for step in ready:
        for target in after[step]:
            masks[target] |= masks[step] | 1 << step
            waiting[target] -= 1
            if not waiting[target]:
                ready.append(target)
    if len(ready) < len(preds):
        raise ValueError("the order has a cycle")
    return masks


def order_of(layout: Layout) -> list[int]:
    """Which steps come before each step by the tree and the tokens, as bit masks."""
    preds: list[list[int]] = [[] for _ in range(layout.steps + layout.joints)]
    # A tree node runs between two points of its own.
    stack: list[tuple[Tree, int | None, int | None]] = [] if layout.tree is None else [(layout.tree, None, None)]
    while stack:
        tree, entry, out = stack.pop()
        if isinstance(tree, Leaf):
            if entry is not None:
                preds[tree.step].append(entry)
            if out is not None:
                preds[out].append(tree.step)
        elif isinstance(tree, Branches):
            stack.extend((part, entry, out) for part in tree.parts)
        else:
            for position, part in enumerate(tree.parts):
                leave = out
                if position + 1 < len(tree.parts):
                    preds.append([])
                    leave = len(preds) - 1
                stack.append((part, entry, leave))
                entry = leave
    for source, target in layout.tokens:
        preds[target].append(source)
    steps = (1 << layout.steps) - 1
    return [mask & steps for mask in ancestors(preds)[: layout.steps]]


def ideal(preds: Sequence[Sequence[int]], durations: Sequence[float]) -> tuple[list[float], float]:
    """When each step ends with unlimited workers and no overhead, and when all have ended."""
    ends: list[float] = [-1.0] * len(preds)
    for step in topological(preds):
        ends[step] = max((ends[source] for source in preds[step]), default=0.0) + durations[step]
    return ends, max(ends, default=0.0)


def topological(preds: Sequence[Sequence[int]]) -> list[int]:
    left = [len(sources) for sources in preds]
    after: list[list[int]] = [[] for _ in preds]
    for step, sources in enumerate(preds):
        for source in sources:
            after[source].append(step)
    ready = [step for step, number in enumerate(left) if not number]
    for step in ready:
        for target in after[step]:
            left[target] -= 1
            if not left[target]:
                ready.append(target)
    return ready
