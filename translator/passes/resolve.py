"""Gives every name in every expression its meaning, and checks that what is read can have run before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from translator.diagnostics import Findings, Position
from translator.expressions.references import slots
from translator.expressions.resolve import Names, resolve
from translator.expressions.tree import Attribute, Call, Compare, Conditional, Literal, Node, ObjectOf, Slot
from translator.findings import graph as rules
from translator.graph.scope import Graph, Scope
from translator.model.values import map_expressions, map_nodes
from translator.model.workflow import Step, Value, Workflow
from translator.passes.fold import is_late
from translator.passes.policies import continues_around

STEP_KINDS = frozenset({"output", "status", "error"})


def resolve_names(workflow: Workflow, graph: Graph, findings: Findings) -> Workflow:
    """The workflow with resolved expressions; the steps in `graph` are replaced by resolved ones."""
    resolver = Resolver(workflow, graph, findings)
    for scope in graph.scopes():
        resolver.check_writers(scope)
        for index in scope:
            scope.steps[index] = resolver.step(scope, index)
    end = Place(graph.body, None)
    return replace(
        workflow,
        variables=resolver.variables(),
        outputs=None if workflow.outputs is None else resolver.value(workflow.outputs, end),
        notifications=tuple(
            replace(note, config=resolver.value(note.config, end)) for note in workflow.notifications
        ),
    )


@dataclass(frozen=True, slots=True)
class Place:
    """Where an expression is evaluated: before a step of a scope, or at the scope's end (`index` is None)."""

    scope: Scope
    index: int | None

    def enclosing(self) -> Iterator[tuple[Scope, int | None]]:
        """This place and the places of the steps around it, innermost first."""
        scope, index = self.scope, self.index
        yield scope, index
        while scope.owner is not None:
            scope, index = scope.owner
            yield scope, index


class _State(Mapping[str, Node]):
    """Output keys as they read at one place: the last step before it that wrote the key."""

    def __init__(self, resolver: Resolver, place: Place) -> None:
        self.resolver = resolver
        self.place = place

    def __getitem__(self, key: str) -> Node:
        found = self.resolver.written(key, self.place)
        if found is None:  # what is read then cannot have run: `check_read` says so
            scope, index = self.resolver.writers[key][0]
            return Slot("output", scope.steps[index].id)
        return found

    def __contains__(self, key: object) -> bool:
        return key in self.resolver.writers

    def __iter__(self) -> Iterator[str]:
        return iter(self.resolver.writers)

    def __len__(self) -> int:
        return len(self.resolver.writers)


class Resolver:
    def __init__(self, workflow: Workflow, graph: Graph, findings: Findings) -> None:
        self.workflow = workflow
        self.graph = graph
        self.findings = findings
        self.writers: dict[str, list[tuple[Scope, int]]] = {}
        for scope in graph.scopes():
            for index in scope:
                if key := scope.steps[index].output_key:
                    self.writers.setdefault(key, []).append((scope, index))

    def variables(self) -> dict[str, Value]:
        """A variable may read the input, and variables that are written before it."""
        found: dict[str, Value] = {}
        for key, value in self.workflow.variables.items():
            found[key] = self.variable(value, Names(inputs=self.workflow.inputs, variables=frozenset(found)))
        return found

    def variable(self, value: Value, names: Names) -> Value:
        return map_nodes(value, lambda node: self.one(node, names))

    def names(self, place: Place) -> Names:
        loops: dict[str, Slot] = {}
        innermost: dict[str, Slot] = {}  # what `item` and `index` are where no loop around gives them these names
        for scope, _ in reversed([*place.enclosing()]):
            if scope.owner is not None:
                owner = scope.owner[0].steps[scope.owner[1]]
                if owner.type == "foreach":
                    item, index = Slot("item", owner.id), Slot("index", owner.id)
                    innermost = {"item": item, "index": index}
                    loops |= {owner.item_name: item, owner.index_name: index}
        return Names(
            inputs=self.workflow.inputs,
            variables=frozenset(self.workflow.variables),
            steps=self.graph.ids,
            state=_State(self, place),
            loops=innermost | loops,
            bare={},
            errors=lambda at: self.errors(place, at),
        )

    def errors(self, place: Place, at: Position) -> Node:
        """The object of all errors that there are at a place, by step. At the end, also what the body failed with."""
        parts: list[Node] = []

        def add(key: Node, error: Node) -> None:
            missing = Compare(error, (("==", Literal(None, at)),), at)
            parts.append(Conditional(missing, ObjectOf((), at), ObjectOf(((key, error),), at), at))

        for scope in self.graph.scopes():
            for index, step in enumerate(scope.steps):
                if continues_around(scope, index, self.workflow) and self.settled(scope, index, place) is not None:
                    add(Literal(step.id, at), Slot("error", step.id, at))
        if is_late(place.scope, self.graph):
            failure = Attribute(Slot("execution", "", at), "error", at)
            add(Attribute(failure, "step", at), failure)
        return Call("merge", (ObjectOf((), at), *parts), at) if parts else ObjectOf((), at)

    def step(self, scope: Scope, index: int) -> Step:
        step = scope.steps[index]
        place = Place(scope, index)
        names = self.names(place)

        return map_expressions(step, lambda node: self.checked(node, names, place))

    def value(self, value: Value, place: Place) -> Value:
        names = self.names(place)
        return map_nodes(value, lambda node: self.checked(node, names, place))

    def checked(self, node: Node, names: Names, place: Place) -> Node:
        if isinstance(node, Literal):
            return node
        found = self.one(node, names)
        for slot in sorted(slots(found), key=lambda slot: (slot.kind, slot.name)):
            if slot.kind in STEP_KINDS:
                self.check_read(slot.name, slot.at, place)
        return found

    def one(self, node: Node, names: Names) -> Node:
        return node if isinstance(node, Literal) else resolve(node, names, self.findings)

    def check_read(self, target: str, at: Position, place: Place) -> None:
        """A step may be read once it is settled, from its own scope or from scopes inside and around it."""
        where = self.graph.where.get(target)
        if where is None:
            return
        scope, index = where
        above: dict[int, int | None] = {id(around): at_index for around, at_index in place.enclosing()}
        while id(scope) not in above:
            if scope.owner is None:
                if scope is self.graph.body or place.index is None:  # read from `finally`, or from the end
                    return
                break
            owner_scope, owner_index = scope.owner
            owner = owner_scope.steps[owner_index]
            if owner.type == "foreach":
                self.findings.add(
                    rules.INSIDE_LOOP,
                    f"{target!r} is inside of the loop {owner.id!r} and cannot be read from outside",
                    at,
                    hint=f"read steps.{owner.id}.output, the list of the loop's results",
                )
                return
            scope, index = owner_scope, owner_index
        else:
            reader = above[id(scope)]
            if reader is None or scope.precedes(index, reader):
                return
        self.findings.add(
            rules.NOT_RUN_BEFORE,
            f"{target!r} cannot have run before this is evaluated",
            at,
            hint=f"let the step depend on {target!r}",
        )

    def settled(self, scope: Scope, index: int, place: Place) -> tuple[Scope, int] | None:
        """The step of a scope around `place` that holds the given step, when it is settled before; else None."""
        above = {id(around): at_index for around, at_index in place.enclosing()}
        while id(scope) not in above:
            if scope.owner is None:
                return (scope, index) if scope is self.graph.body or place.index is None else None
            if scope.owner[0].steps[scope.owner[1]].type == "foreach":
                return None
            scope, index = scope.owner
        reader = above[id(scope)]
        return (scope, index) if reader is None or scope.precedes(index, reader) else None

    def written(self, key: str, place: Place) -> Node | None:
        """What `state.<key>` reads: the output of the last writer before, or of an earlier one if that was skipped."""
        found = []
        for scope, index in self.writers.get(key, ()):
            holder = self.settled(scope, index, place)
            if holder is not None:
                found.append((holder, scope, index))
        if not found:
            return None
        found.sort(key=lambda item: item[0][0].rank[item[0][1]], reverse=True)
        writers: list[str] = []
        for _, scope, index in found:
            writers.append(scope.steps[index].id)
            if scope.live[index] is None and scope.steps[index].when is None:
                break
        result: Node = Slot("output", writers[-1])
        for writer in reversed(writers[:-1]):
            skipped = Compare(Slot("status", writer), (("==", Literal("skipped")),))
            result = Conditional(skipped, result, Slot("output", writer))
        return result

    def check_writers(self, scope: Scope) -> None:
        """Two steps that may run side by side must not write the same output key."""
        for key, places in self.writers.items():
            here = [(*found, writer) for writer in places if (found := _inside(scope, writer)) is not None]
            for position, (second, second_branch, second_place) in enumerate(here):
                for first, first_branch, first_place in here[:position]:
                    if first == second:
                        if first_branch is second_branch or first_branch is None or second_branch is None:
                            continue
                    elif scope.precedes(first, second) or scope.precedes(second, first) or scope.disjoint(
                        scope.live[first], scope.live[second]
                    ):
                        continue
                    one, two = _step(first_place), _step(second_place)
                    self.findings.add(
                        rules.WRITTEN_TWICE,
                        f"{one.id!r} and {two.id!r} both write {key!r} and may run side by side",
                        two.at,
                        hint="give them different keys, or an order",
                        related=((f"{one.id!r}", one.at),),
                    )


def _inside(scope: Scope, place: tuple[Scope, int]) -> tuple[int, Scope | None] | None:
    """The step of `scope` that is, or holds, the step at `place`, and the body that holds it there (a branch)."""
    here, index = place
    body: Scope | None = None
    while here is not scope:
        if here.owner is None:
            return None
        body = here
        here, index = here.owner
    return index, body


def _step(place: tuple[Scope, int]) -> Step:
    return place[0].steps[place[1]]
