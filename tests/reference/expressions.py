"""What a workflow's expressions are worth: names looked up where they stand, values by the reference evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from translator.diagnostics import NOWHERE, Findings
from translator.expressions.evaluate import evaluate
from translator.expressions.parser import parse
from translator.expressions.tree import Attribute, Comprehension, Index, Literal, Name, Slot
from translator.model.values import is_node

Lookup = Callable[[str, str], Any]  # (kind, name): output, status or error of a step; or a bare name with kind `name`


def value_of(value: Any, lookup: Lookup) -> Any:
    """A structure with its expressions evaluated. Raises aslant.errors.ExpressionError."""
    if isinstance(value, Mapping):
        return {key: value_of(item, lookup) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [value_of(item, lookup) for item in value]
    if not is_node(value):
        return value
    return evaluate(_resolved(value, frozenset()), lambda slot: lookup(slot.kind, slot.name))


def parsed(text: Any) -> Any:
    """The expression that a setting holds as a text."""
    findings = Findings()
    node = parse(text.value if isinstance(text, Literal) else text, NOWHERE, findings)
    assert node is not None, findings.sorted()
    return node


def true(value: Any) -> bool:
    """False are: false, null, 0, "", [], {}."""
    return value not in (False, None, 0, "") and value != [] and value != {}


def _resolved(node: Any, local: frozenset[str]) -> Any:
    """The tree with slots in place of names: `steps.<id>.<part>`, `errors.<id>`, and bare names."""
    match node:
        case Attribute(of=(Attribute(of=Name(name="steps"), name=id) | Index(of=Name(name="steps"), key=Literal(value=id))), name=part):
            return Slot(part, str(id))
        case Attribute(of=Name(name="errors"), name=id):
            return Slot("error", id)
        case Name(name=name):
            return Slot("local" if name in local else "name", name)
        case Comprehension(name=name):
            inner = local | {name}
            condition = None if node.condition is None else _resolved(node.condition, inner)
            return replace(node, source=_resolved(node.source, local), element=_resolved(node.element, inner), condition=condition)
    if isinstance(node, tuple):
        return tuple(_resolved(item, local) for item in node)
    if not is_dataclass(node) or not is_node(node):
        return node
    return replace(node, **{  # type: ignore[type-var]
        field.name: _resolved(getattr(node, field.name), local) for field in fields(node) if field.name != "at"
    })
