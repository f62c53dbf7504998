"""How each scope of a machine is laid out: which strategy, where tokens are, and why there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from translator.graph.arranging import arranged
from translator.graph.scope import Graph, Scope
from translator.graph.strategies.dag import topological
from translator.graph.strategies.layout import Layout
from translator.graph.strategies.routes import Routes, points
from translator.model.workflow import Step, Workflow
from translator.passes.policies import reactions

if TYPE_CHECKING:
    from translator.asl.plan import Frame


@dataclass(frozen=True, slots=True)
class Turn:
    """A step's turn among those of which at most `limit` run at once. Its waiting point is `gate`."""

    pool: str
    gate: str
    limit: int
    priority: float


@dataclass(frozen=True, slots=True, eq=False)
class Token:
    """A signal that is sent at the place `by` and waited for at the waiting point `gate`, which needs `need` of them.

    With `turn` the waiting point's turn has to come as well, which is one of `need`.
    """

    by: str
    gate: str
    need: int
    turn: Turn | None = None


@dataclass(slots=True)
class Wired:
    """A scope with tokens; they are numbered as in its layout. Frames are known once the plan is made."""

    scope: Scope
    layout: Layout
    tokens: list[Token]
    routes: Routes
    signals: dict[int, list[Token]] = field(default_factory=dict)  # place -> tokens that are sent after it
    waits: dict[int, list[Token]] = field(default_factory=dict)  # place -> tokens that are waited for before it
    across: dict[int, list[int]] = field(default_factory=dict)  # place -> the other ends of its tokens
    sent_in: dict[Token, Frame] = field(default_factory=dict)
    waited_in: dict[Token, Frame] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """What a scope's order became: its key, the strategy, how many tokens, and why it has none if it might have had."""

    scope: str
    strategy: str
    tokens: int
    added: bool
    reason: str = ""
    turns: int = 0  # steps that wait for their turn, where at most so many run at once


@dataclass(slots=True)
class Ordering:
    """`kinds`: those of loops' items that are executions of their own."""

    graph: Graph
    workflow: Workflow
    kinds: Mapping[str, Any] = field(default_factory=dict)
    wired: dict[str, Wired] = field(default_factory=dict)
    arrangements: list[Arrangement] = field(default_factory=list)
    layouts: dict[str, Layout] = field(default_factory=dict)  # by the scope's key
    turns: dict[str, Turn] = field(default_factory=dict)  # by step

    def layout(self, scope: Scope, limit: int | None) -> Layout | None:
        reason = self.obstacle(scope)
        instant = {number for number, step in enumerate(scope.steps) if is_instant(step)}
        layout = arranged(scope, self.workflow.settings.strategy, limit, express=bool(reason), instant=instant,
            durations=self._durations(scope, instant))
        if layout is None:
            return None
        self.layouts[scope.key] = layout
        if not reason and layout.added and limit is not None:
            reason = f"at most {limit} steps run at once"
        turns = _turns(scope, layout)
        self.turns |= turns
        if layout.strategy:
            self.arrangements.append(
                Arrangement(scope.key, layout.strategy, len(layout.tokens), layout.added, reason, len(turns))
            )
        if layout.tokens:
            self.wired[scope.key] = _wired(scope, layout, turns)
        return layout

    def obstacle(self, scope: Scope) -> str:
        """Why branches in this scope cannot wait for each other; empty if they can.

        A retry enters all branches again, and what they signalled before would count as signalled by the new ones.
        """
        if self.workflow.settings.execution == "express":
            return "an Express execution waits for no token"
        here: Scope | None = scope
        while here is not None and here.owner is not None:
            around, index = here.owner
            step = around.steps[index]
            if step.id in self.kinds and self.kinds[step.id].kind == "EXPRESS":
                return f"each item of {step.id!r} is an Express execution"
            if _entered_again(step, self.workflow):
                return f"{step.id!r} may be tried again"
            here = around
        return ""

    def _durations(self, scope: Scope, instant: Set[int]) -> list[float] | None:
        """What is known of how long the scope's steps take; the middle of that for the others. None without anything known."""
        known = self.workflow.settings.durations
        given = sorted(known[step.id] for step in scope.steps if step.id in known)
        if not given:
            return None
        return [
            known.get(step.id, 0.0 if number in instant else given[len(given) // 2]) for number, step in enumerate(scope.steps)
        ]

    def between(self, source: str, reader: str) -> tuple[Wired, list[Token]] | None:
        """The tokens along which what a step gives comes to another one; None where it needs none."""
        around = dict(self._around(reader))
        for key, place in self._around(source):
            if key in around:
                wired = self.wired.get(key)
                if wired is None or place == around[key]:
                    return None
                path = wired.routes.path(place, around[key])
                return (wired, [wired.tokens[at] for at in path]) if path else None
        return None

    def _around(self, step: str) -> Iterator[tuple[str, int]]:
        """The scopes that a step is in, innermost first, each with what holds it there. Steps of the compiler are in none."""
        here = self.graph.where.get(step)
        while here is not None:
            yield here[0].key, here[1]
            here = here[0].owner


def longest(scope: Scope, layouts: Mapping[str, Layout], known: Mapping[str, float]) -> float:
    """How long a scope takes with unlimited workers: in seconds where durations are known of some steps, in steps otherwise.

    A loop counts as one iteration.
    """
    layout = layouts.get(scope.key)
    if layout is None:
        return 0.0
    preds = points(layout)
    succs: list[list[int]] = [[] for _ in preds]
    for point, near in enumerate(preds):
        for other in near:
            succs[other].append(point)
    usual = sorted(known.values())[len(known) // 2] if known else 1.0
    ends = [0.0] * len(preds)
    for point in topological(preds, succs):
        own = 0.0
        if point < len(scope.steps):
            step, inner = scope.steps[point], scope.inner.get(point)
            own = max((longest(one, layouts, known) for one in inner), default=0.0) if inner else known.get(
                step.id, 0.0 if is_instant(step) else usual
            )
        ends[point] = max((ends[other] for other in preds[point]), default=0.0) + own
    return max(ends)


def is_instant(step: Step) -> bool:
    """Whether the machine itself does the step, at once."""
    return step.type == "choice" or (step.type in ("transform", "aggregate") and "value" in step.config)


def _entered_again(step: Step, workflow: Workflow) -> bool:
    if step.retry is not None and step.retry.max_attempts > 1:
        return True
    return any(reaction.retries or reaction.action == "escalate" for reaction in reactions(step, workflow))


def _turns(scope: Scope, layout: Layout) -> dict[str, Turn]:
    if layout.slots is None:
        return {}
    return {
        step.id: Turn(f"*{scope.key}", f"={step.id}", layout.slots.limit, priority)
        for step, priority in zip(scope.steps, layout.slots.priority, strict=True) if priority is not None
    }


def _wired(scope: Scope, layout: Layout, turns: Mapping[str, Turn]) -> Wired:
    names: dict[int, str] = {}
    for ends in layout.tokens:
        for place in ends:
            joint = place >= len(scope.steps)
            names[place] = f"{place} of {scope.key}" if joint else scope.steps[place].id
    need: dict[int, int] = {}
    for _, target in layout.tokens:
        need[target] = need.get(target, 0) + 1
    prefix = {place: f"{'+' if place >= len(scope.steps) else '='}{name}" for place, name in names.items()}
    waiting = {place: turns.get(scope.steps[place].id) for place in need if place < len(scope.steps)}
    tokens = [
        Token(prefix[source], prefix[target], need[target] + (waiting.get(target) is not None), waiting.get(target))
        for source, target in layout.tokens
    ]
    wired = Wired(scope, layout, tokens, Routes(layout))
    for token, (source, target) in zip(tokens, layout.tokens, strict=True):
        wired.signals.setdefault(source, []).append(token)
        wired.waits.setdefault(target, []).append(token)
        wired.across.setdefault(source, []).append(target)
        wired.across.setdefault(target, []).append(source)
    return wired
