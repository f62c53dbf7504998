"""What a workflow's declared inputs make certain about its expressions."""

from __future__ import annotations

from translator.expressions.tree import Slot
from translator.expressions.types import TypeOf
from translator.model.workflow import Workflow

_TYPES = {"integer": "number"} | {name: name for name in ("number", "string", "boolean", "array", "object")}


def type_of_inputs(workflow: Workflow) -> TypeOf:
    """The JSON types of references; an input's only when it cannot be missing."""
    types: dict[str, str] = {}
    for name, spec in (workflow.inputs or {}).items():
        kind = _TYPES.get(spec.get("type") or "any")
        if kind is not None and (spec.get("required") or spec.get("default") is not None):
            types[name] = kind

    def type_of(slot: Slot) -> str | None:
        if slot.kind == "input":
            return types.get(slot.name) if slot.name else "object"
        return {"status": "string", "index": "number", "meta": "string"}.get(slot.kind)

    return type_of


def required_inputs(workflow: Workflow) -> frozenset[str]:
    """The inputs without which no execution starts."""
    return frozenset(
        name
        for name, spec in (workflow.inputs or {}).items()
        if spec.get("required") and spec.get("default") is None
    )
