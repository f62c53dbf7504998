"""Checks what is read of outputs whose keys are known before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from translator.diagnostics import Findings
from translator.expressions.tree import Attribute, Index, Literal, Node, ObjectOf, Slot, walk
from translator.findings import expressions as rules
from translator.model.values import expressions_of, nodes_of
from translator.model.workflow import Step, Value, Workflow
from translator.nearest import nearest

Shape = Mapping[str, Value]  # every key that there can be; a value that is no ObjectOf may have any
# All that these types ever give, whatever their configuration.
CLOSED: Mapping[str, tuple[str, ...]] = {
    "approval": ("approved", "by", "at", "comment", "answer", "decisions"),
    "parallel": ("results", "errors"),
    "email": ("sent", "message_id", "by", "to", "cc", "bcc", "refused", "attachments"),
    "command": ("exit_code", "stdout", "stderr", "stdout_truncated", "stderr_truncated", "elapsed_ms"),
}
_SIMULATED = ("simulated", "type", "config")  # what `--simulate` gives in their place


def check_outputs(workflow: Workflow, steps: Sequence[Step], findings: Findings) -> None:
    """Warnings for keys, read of outputs, that these never have. `steps` and `workflow` are resolved."""
    known = {step.id: (step, shape) for step in steps if (shape := _shape(step)) is not None}
    nodes = [node for step in steps for node in expressions_of(step)]
    if workflow.outputs is not None:
        nodes += nodes_of(workflow.outputs)
    for node in nodes:
        for here in () if isinstance(node, Literal) else walk(node):
            key = _key(here)
            if key is None or not isinstance(here, Attribute | Index):
                continue
            owner, path = _owner(here.of)
            found = known.get(owner)
            shape = _inside(found[1], path) if found is not None else None
            if found is None or shape is None or key in shape or not path and key in _SIMULATED:
                continue
            what = ".".join(("output", *path))
            meant = nearest(key, shape)
            findings.add(rules.UNKNOWN_KEY, f"{what} of the {found[0].type} {owner!r} has no {key}; it has {', '.join(shape)}",
                here.at, hint=f"did you mean {meant}?" if meant else "")


def _shape(step: Step) -> Shape | None:
    if step.type in CLOSED:
        return dict.fromkeys(CLOSED[step.type])
    value = step.config.get("value")
    return _members(value) if step.type == "transform" and set(step.config) == {"value"} else None


def _members(value: Value) -> Shape | None:
    if not isinstance(value, ObjectOf) or not all(isinstance(key, Literal) for key, _ in value.items):
        return None
    return {str(key.value): item for key, item in value.items if isinstance(key, Literal)} or None


def _inside(shape: Shape, path: tuple[str, ...]) -> Shape | None:
    found: Shape | None = shape
    for key in path:
        found = _members(found.get(key)) if found is not None else None
    return found


def _owner(node: Node) -> tuple[str, tuple[str, ...]]:
    """The step whose output is read, and the keys that lead on from there."""
    path: list[str] = []
    while (key := _key(node)) is not None and isinstance(node, Attribute | Index):
        path.append(key)
        node = node.of
    return (node.name, tuple(reversed(path))) if isinstance(node, Slot) and node.kind == "output" else ("", ())


def _key(node: Node) -> str | None:
    match node:
        case Attribute(name=name):
            return name
        case Index(key=Literal(value=str(name))):
            return name
    return None
