"""Puts in what is known before anything runs: variables, the workflow's own data, statuses that are certain."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from translator.expressions.jsonata import is_native
from translator.expressions.references import is_deterministic
from translator.expressions.rewrite import rewrite
from translator.expressions.tree import Attribute, Binary, Compare, Conditional, ListOf, Literal, Node, ObjectOf, Slot, walk
from translator.graph.scope import Graph, Scope
from translator.model.values import is_node, map_expressions, map_nodes
from translator.model.workflow import Step, Value, Workflow
from translator.passes.policies import continues, continues_around

# What `execution.<name>` reads, by what a state machine knows of its execution.
EXECUTION = {"id": "id", "name": "id", "arn": "arn", "started_at": "started_at", "start_time": "started_at"}
ERROR_FIELDS = ("error", "message", "step")


_LARGEST = 100  # nodes of a variable's expression that is written out at each place


def fold(workflow: Workflow, graph: Graph) -> Workflow:
    """The workflow, and the steps in `graph`, with everything known put in.

    The workflow's `variables` are then those that must be evaluated once, when an execution starts.
    """
    folder = _Folder(workflow, graph)
    for scope in graph.scopes():
        for index in scope:
            step = scope.steps[index]
            scope.steps[index] = folder.step(step, late=is_late(scope, graph))
    return replace(
        workflow,
        variables=folder.evaluated,
        outputs=None if workflow.outputs is None else map_nodes(workflow.outputs, folder.plain),
        notifications=tuple(
            replace(note, config=map_nodes(note.config, folder.late)) for note in workflow.notifications
        ),
    )


def is_late(scope: Scope, graph: Graph) -> bool:
    """Whether the scope is `finally` or inside of it, where the body may have failed."""
    while scope.owner is not None:
        scope = scope.owner[0]
    return scope is graph.finally_


class _Folder:
    def __init__(self, workflow: Workflow, graph: Graph) -> None:
        self.workflow = workflow
        self.graph = graph
        self.about = {
            "id": workflow.id, "name": workflow.name, "version": workflow.version, "description": workflow.description,
        }
        self.values: dict[str, Node] = {}
        self.evaluated: dict[str, Value] = {}
        for name, value in workflow.variables.items():
            node = rewrite(as_node(value), self.give)
            if _can_be_put_in(node):
                self.values[name] = node
            else:
                self.evaluated[name] = node
                self.values[name] = Slot("output", variable_step(workflow, name))

    def step(self, step: Step, *, late: bool) -> Step:
        return map_expressions(step, self.late if late else self.plain)

    def plain(self, node: Node) -> Node:
        return node if isinstance(node, Literal) else rewrite(node, self.give)

    def late(self, node: Node) -> Node:
        return node if isinstance(node, Literal) else rewrite(node, self.give_late)

    def give(self, node: Node) -> Node | None:
        match node:
            case Attribute(of=Slot(kind="workflow"), name=name, at=at):
                return Literal(self.about.get(name), at)
            case Attribute(of=Slot(kind="execution"), name=name, at=at):
                return Slot("meta", EXECUTION[name], at) if name in EXECUTION else Literal(None, at)
            case Attribute(of=of, name=name, at=at) if _starts_with_variable(of):
                owner = rewrite(of, self.give)
                if isinstance(owner, ObjectOf):
                    return next((value for key, value in owner.items if key == Literal(name)), Literal(None, at))
                return Attribute(owner, name, at)
            case Slot(kind="workflow", at=at):
                return ObjectOf(tuple((Literal(key), Literal(value)) for key, value in self.about.items()), at)
            case Slot(kind="execution", at=at):
                return ObjectOf(tuple((Literal(key), Slot("meta", EXECUTION[key])) for key in ("id", "started_at")), at)
            case Slot(kind="var", name=name, at=at):
                return self.values.get(name, Literal(None, at))
            case Slot(kind="status", name=name, at=at) if self.certain(name):
                return Literal("completed", at)
            case Slot(kind="error", name=name, at=at) if not self.may_continue(name):
                return Literal(None, at)
        return None

    def give_late(self, node: Node) -> Node | None:
        match node:
            case Attribute(of=Slot(kind="execution"), name="error", at=at):
                return Slot("failure", "", at)
            case Attribute(of=Slot(kind="execution"), name="status", at=at):
                failed = Compare(Slot("failure", "", at), (("!=", Literal(None, at)),), at)
                return Conditional(failed, Literal("failed", at), Literal("completed", at), at)
            case Slot(kind="status", name=name) if self.in_body(name):
                return node
            case Slot(kind="error", name=name, at=at) if self.in_body(name):
                failure = Slot("failure", "", at)
                own = Compare(Attribute(failure, "step", at), (("==", Literal(name)),), at)
                error = ObjectOf(tuple((Literal(key), Attribute(failure, key, at)) for key in ERROR_FIELDS), at)
                ended = Conditional(own, error, Literal(None, at), at)
                return Binary("??", node, ended, at) if self.may_continue(name) else ended
        return self.give(node)

    def in_body(self, step_id: str) -> bool:
        scope, _ = self.graph.where[step_id]
        return not is_late(scope, self.graph)

    def may_continue(self, step_id: str) -> bool:
        scope, index = self.graph.where[step_id]
        return continues_around(scope, index, self.workflow)

    def certain(self, step_id: str) -> bool:
        """Whether the step has completed whenever something after it runs."""
        here: tuple[Scope, int] | None = self.graph.where[step_id]
        while here is not None:
            scope, index = here
            step = scope.steps[index]
            if scope.live[index] is not None or step.when is not None or continues(step, self.workflow):
                return False
            here = scope.owner
        return True


def variable_step(workflow: Workflow, name: str) -> str:
    """The id of the step that evaluates a variable."""
    return f"{workflow.id} variable {name}"


def _can_be_put_in(node: Node) -> bool:
    """Whether a variable's expression may stand wherever the variable is read: small, native, and always the same."""
    count = sum(1 for _ in islice(walk(node), _LARGEST + 1))
    return count <= _LARGEST and is_deterministic(node) and is_native(node)


def _starts_with_variable(node: Node) -> bool:
    while isinstance(node, Attribute):
        node = node.of
    return isinstance(node, Slot) and node.kind == "var"


def as_node(value: Value) -> Node:
    """A structure as one expression."""
    if isinstance(value, dict):
        return ObjectOf(tuple((Literal(key), as_node(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ListOf(tuple(as_node(item) for item in value))
    return value if is_node(value) else Literal(value)
