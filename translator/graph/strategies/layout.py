"""Layouts: a graph of steps as nested series and branches, with task tokens for the order that nesting cannot say.

Steps are numbered from 0. A *joint* is a numbered place without a step (from the number of steps on): it costs nothing, and
gives a token a place after or before several branches at once. The order of a layout is what the tree says (the parts of a
`Series` follow each other, the parts of `Branches` do not) together with its tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Leaf:
    """A step, or a joint."""

    step: int


@dataclass(frozen=True, slots=True)
class Series:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """Parts side by side. With `limit`, at most that many of them run at once; such parts hold no token."""

    parts: tuple[Tree, ...]
    limit: int | None = None


Tree = Leaf | Series | Branches


@dataclass(frozen=True, slots=True)
class Slots:
    """At most `limit` steps at once, by places that a step acquires after its waits and releases when it ends.

    Among the steps that wait for a place the one with the greatest `priority` goes first. A step with None takes no place.
    """

    limit: int
    priority: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """What a strategy makes of a graph.

    `tree` holds each of the steps `0 … steps - 1` once, and each joint `steps … steps + joints - 1` once; None without steps.
    A token `(u, v)` means: after `u` a signal is sent, and before `v` it is waited for. Tokens are sorted.
    `slots` is set when a parallel limit has to be kept by acquiring and releasing places. `vocal` are the steps that send
    their signals themselves, so that no gate is needed for them. `added` says that some step may wait for more than its
    predecessors; without, the order is exactly that of the graph.
    """

    strategy: str
    steps: int
    tree: Tree | None
    tokens: tuple[tuple[int, int], ...] = ()
    joints: int = 0
    slots: Slots | None = None
    vocal: frozenset[int] = frozenset()
    added: bool = False


def leaves(tree: Tree | None) -> list[int]:
    """The steps and joints of a tree in the order of writing."""
    found: list[int] = []
    stack = [tree] if tree is not None else []
    while stack:
        here = stack.pop()
        if isinstance(here, Leaf):
            found.append(here.step)
        else:
            stack.extend(reversed(here.parts))
    return found


def nodes(tree: Tree | None) -> Iterator[Tree]:
    """Every node of a tree, the outer ones first."""
    stack = [tree] if tree is not None else []
    while stack:
        here = stack.pop()
        yield here
        if not isinstance(here, Leaf):
            stack.extend(reversed(here.parts))


def series(parts: list[Tree]) -> Tree:
    """The parts one after the other, without a series inside of a series."""
    flat: list[Tree] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Series) else (part,))
    return flat[0] if len(flat) == 1 else Series(tuple(flat))


def branches(parts: list[Tree], limit: int | None = None) -> Tree:
    """The parts side by side, without branches inside of branches."""
    flat: list[Tree] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Branches) and part.limit is None else (part,))
    return flat[0] if len(flat) == 1 else Branches(tuple(flat), limit)


def transitions(layout: Layout) -> int:
    """How many states an execution of the layout enters when nothing fails.

    One for each step and each parallel. One for each gate: a place between two neighbours of a sequence (or at its begin
    or end) where a signal is sent, or waited for, or the one and then the other. A step of `vocal` needs none for its signals.
    """
    signals = {first for first, _ in layout.tokens if first not in layout.vocal}
    waits = {second for _, second in layout.tokens}
    slotted = {step for step, own in enumerate(layout.slots.priority) if own is not None} if layout.slots else set()
    count = 0
    stack: list[Tree] = [layout.tree] if layout.tree is not None else []
    while stack:
        here = stack.pop()
        if isinstance(here, Branches):
            count += 1
            stack.extend(here.parts)
            continue
        parts = here.parts if isinstance(here, Series) else (here,)
        open_gate = False  # a signal was sent and the state could still wait as well
        for part in parts:
            if not isinstance(part, Leaf):
                open_gate = False
                stack.append(part)
                continue
            step = part.step < layout.steps
            if (part.step in waits or part.step in slotted) and not open_gate:
                count += 1
            if step:
                count += 1
                open_gate = False
            elif part.step in waits:
                open_gate = False
            if part.step in signals or part.step in slotted:
                if not open_gate:
                    count += 1
                open_gate = True
    return count


def length(tree: Tree, seconds: Sequence[float]) -> float:
    """How long a tree takes by its own order, without tokens and joints."""
    done: dict[int, float] = {}
    for here in reversed(list(nodes(tree))):
        if isinstance(here, Leaf):
            done[id(here)] = seconds[here.step]
        else:
            lengths = [done[id(part)] for part in here.parts]
            done[id(here)] = sum(lengths) if isinstance(here, Series) else max(lengths)
    return done[id(tree)]
