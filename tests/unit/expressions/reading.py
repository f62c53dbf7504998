"""What the tests share: from a text to a tree, a value, or findings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from translator.diagnostics import Diagnostic, Findings, Position
from translator.expressions.evaluate import evaluate
from translator.expressions.parser import parse
from translator.expressions.resolve import Names, resolve
from translator.expressions.template import parse_template
from translator.expressions.tree import Node, Slot

START = Position(1, 1)


def tree(text: str, ids: tuple[str, ...] = ()) -> Node:
    findings = Findings()
    node = parse(text, START, findings, ids)
    assert node is not None, findings.items
    return node


def problems(text: str, names: Names | None = None, at: Position = START) -> tuple[Diagnostic, ...]:
    """The findings for an expression; its names are resolved only if `names` is given."""
    findings = Findings()
    node = parse(text, at, findings)
    if node is not None and names is not None:
        resolve(node, names, findings)
    return findings.sorted()


def value(text: str, data: Mapping[str, Any] | None = None) -> Any:
    """The value of an expression whose bare names are variables."""
    return _value(tree(text), data or {})


def rendered(text: str, data: Mapping[str, Any] | None = None) -> Any:
    findings = Findings()
    node = parse_template(text, START, findings)
    assert not findings.items, findings.items
    return _value(node, data or {})


def _value(node: Node, data: Mapping[str, Any]) -> Any:
    findings = Findings()
    resolved = resolve(node, Names(variables=data.keys()), findings)
    assert not findings.items, findings.items
    return evaluate(resolved, lambda slot: _read(slot, data))


def _read(slot: Slot, data: Mapping[str, Any]) -> Any:
    assert slot.kind == "var", slot
    return data[slot.name]
