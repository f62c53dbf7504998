"""What expressions of compensations and rollback steps read: values that the rollback finds in the step records.

A compensation sees what its step saw, and the step's own output. Values of the execution that is undone come from a step of
the rollback that reads them (`VALUES` for the undo at hand, `READ` for the rollback steps).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from translator.diagnostics import Findings, Position
from translator.expressions.resolve import Names
from translator.expressions.rewrite import rewrite
from translator.expressions.tree import Attribute, Index, Literal, Node, Slot
from translator.findings import graph as rules
from translator.graph.scope import Graph, Scope
from translator.model.values import map_expressions
from translator.model.workflow import UNDO_LOOP, Step, Workflow
from translator.passes.resolve import STEP_KINDS, Place, Resolver
from translator.rollback.build import LATE, READ, VALUES, Undoing, undo_id

_LOOP_KINDS = frozenset({"item", "index"})


@dataclass(slots=True)
class Reads:
    """What is read of the execution, by the step that is undone; under the empty text what rollback steps read, and under
    `LATE` what `finally` does.

    `steps` are ids of steps, `items` ids of loops.
    """

    steps: dict[str, set[str]] = field(default_factory=dict)
    items: dict[str, set[str]] = field(default_factory=dict)

    def all_steps(self, but: str) -> set[str]:
        return {name for owner, names in self.steps.items() if owner != but for name in names}

    def all_items(self) -> set[str]:
        return {name for names in self.items.values() for name in names}

    def of(self, owner: str) -> tuple[list[str], list[str]]:
        return sorted(self.steps.get(owner, ())), sorted(self.items.get(owner, ()))


def resolve_undoing(undoing: Undoing, graph: Graph, workflow: Workflow, main: Graph, findings: Findings) -> Reads:
    """Resolves the steps in `graph`, that of the rollback; gives what they read of an execution of `workflow`."""
    reads = Reads()
    resolver = _UndoResolver(undoing, graph, Resolver(workflow, main, findings), findings)
    for scope in graph.scopes():
        resolver.check_writers(scope)
        for index in scope:
            step = scope.steps[index]
            if undoing.is_ours(step):
                continue
            owner = resolver.owner(scope, index)
            if owner == LATE:  # resolved where it is written
                inside, at = main.where[step.id]
                ids = frozenset(main.ids - undoing.late)
                scope.steps[index] = map_expressions(_as_resolved(step, inside.steps[at]), _mover(owner, ids, reads, {}))
                continue
            names = undoing.renamed.get(owner, {})
            move = _mover(owner, frozenset(main.ids), reads, names)
            scope.steps[index] = map_expressions(resolver.step(scope, index), move)
    return reads


def _as_resolved(step: Step, resolved: Step) -> Step:
    """The step with the expressions of the other, which is the same one in the graph of its own workflow."""
    return replace(
        step, when=resolved.when, cases=resolved.cases, config=resolved.config, items=resolved.items,
        seconds=resolved.seconds, until=resolved.until, input=resolved.input,
    )


def read_variables(graph: Graph, undoing: Undoing, known: Iterable[str], reads: Reads) -> None:
    """Lets what is left of variables after folding (steps of the execution that evaluated them) be read from the records."""
    ids = frozenset(known)
    for scope in graph.scopes():
        for index in scope:
            if not undoing.is_ours(scope.steps[index]):
                move = _mover(owner_in(graph, undoing, scope, index), ids, reads, {})
                scope.steps[index] = map_expressions(scope.steps[index], move)


def owner_in(graph: Graph, undoing: Undoing, scope: Scope, index: int) -> str:
    """The step that the compensation around a place undoes; empty for a rollback step, LATE for one of `finally`."""
    if _is_late(undoing, scope.steps[index]):
        return LATE
    while scope.owner is not None:
        outer, at = scope.owner
        if outer.steps[at].id == UNDO_LOOP:
            # the choice behind an edge with a condition belongs to no compensation, and inside of this loop there is none
            return next((step for step in undoing.undone if undo_id(step) == scope.steps[index].id), "")
        scope, index = outer, at
    return ""


def _is_late(undoing: Undoing, step: Step) -> bool:
    """Whether it is a step of `finally`, or the choice behind the edges of one that have conditions."""
    return step.id in undoing.late or not undoing.is_ours(step) and step.type == "choice" and any(
        edge.step in undoing.late and step.id.startswith(f"{edge.step} edges") for edge in step.depends_on
    )


def _mover(owner: str, main: frozenset[str], reads: Reads, renamed: Mapping[str, str]) -> Callable[[Node], Node]:
    source = Slot("output", LATE if owner == LATE else VALUES if owner else READ)

    def give(node: Node) -> Node | None:
        match node:
            case Attribute(of=Slot(kind="execution"), name="error", at=at):
                return Attribute(Slot("rollback", "", at), "error", at)
            case Attribute(of=Slot(kind="execution"), name="status", at=at):
                return Literal("cancelled" if owner == LATE else "rolling_back", at)
            case Slot(kind=kind, name=name, at=at) if kind in STEP_KINDS and name in renamed:
                return Slot(kind, renamed[name], at)
            case Slot(kind=kind, name=name, at=at) if kind in STEP_KINDS and name in main:
                reads.steps.setdefault(owner, set()).add(name)
                return Index(Attribute(source, kind, at), Literal(name), at)
            case Slot(kind=kind, name=name, at=at) if kind in _LOOP_KINDS and name in main:
                reads.items.setdefault(owner, set()).add(name)
                return Index(Attribute(source, kind, at), Literal(name), at)
        return None

    return lambda node: node if isinstance(node, Literal) else rewrite(node, give)


class _UndoResolver(Resolver):
    def __init__(self, undoing: Undoing, graph: Graph, main: Resolver, findings: Findings) -> None:
        super().__init__(undoing.workflow, graph, findings)
        self.undoing = undoing
        self.main = main

    def owner(self, scope: Scope, index: int) -> str:
        return owner_in(self.graph, self.undoing, scope, index)

    def names(self, place: Place) -> Names:
        assert place.index is not None
        owner = self.owner(place.scope, place.index)
        here = super().names(place)
        around = self.main.names(Place(*self.main.graph.where[owner]) if owner else Place(self.main.graph.body, None))
        loops = {name: slot for name, slot in here.loops.items() if slot.name != UNDO_LOOP}
        state = _Both(here.state, around.state)
        if owner:
            step = self.undoing.undone[owner]
            inner = self.undoing.renamed[owner]
            state = _Both({step.output_key: Slot("output", owner)} if step.output_key else {}, around.state)
        else:
            inner = {step: step for step in self.graph.ids if not self.undoing.is_ours_id(step)}
        return replace(
            around, steps=frozenset(around.steps) | set(inner), state=state, loops={**around.loops, **loops}, errors=None
        )

    def check_read(self, target: str, at: Position, place: Place) -> None:
        assert place.index is not None
        owner = self.owner(place.scope, place.index)
        renamed = self.undoing.renamed.get(owner, {})
        if target in renamed:
            super().check_read(renamed[target], at, place)
            return
        if target not in self.main.graph.where:
            super().check_read(target, at, place)
            return
        mine = loops_of(self.main.graph, owner) if owner else ()
        theirs = loops_of(self.main.graph, target)
        if theirs != mine[: len(theirs)]:
            loop = next(loop for loop in theirs if loop not in mine)
            self.findings.add(
                rules.INSIDE_LOOP,
                f"{target!r} is inside of the loop {loop!r} and cannot be read from outside", at,
                hint="give the step inside of the loop a compensation of its own",
            )


class _Both(Mapping[str, Node]):
    """What the first has, else what the second has."""

    def __init__(self, first: Mapping[str, Node], second: Mapping[str, Node]) -> None:
        self.first, self.second = first, second

    def __getitem__(self, key: str) -> Node:
        return self.first[key] if key in self.first else self.second[key]

    def __contains__(self, key: object) -> bool:
        return key in self.first or key in self.second

    def __iter__(self) -> Iterator[str]:
        return iter({**self.first, **self.second})

    def __len__(self) -> int:
        return len({*self.first, *self.second})


def loops_of(graph: Graph, step: str) -> tuple[str, ...]:
    """The loops around a step, outermost first; none for a step that the graph does not know."""
    found: list[str] = []
    scope, _ = graph.where.get(step, (graph.body, 0))
    while scope.owner is not None:
        scope, index = scope.owner
        if scope.steps[index].type == "foreach":
            found.append(scope.steps[index].id)
    return tuple(reversed(found))
