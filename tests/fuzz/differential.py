"""One differential case: an expression and data, through the reference and both JSONata engines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.fuzz.engines import NodeEngine, Outcome, agree, local, reference
from tests.fuzz.generate import INPUTS, VARIABLES
from translator.diagnostics import NOWHERE, Findings
from translator.expressions.jsonata import NotNative, write
from translator.expressions.parser import parse
from translator.expressions.resolve import Names, resolve
from translator.expressions.serialize import dump, load
from translator.expressions.tree import Node, Slot
from translator.expressions.unparse import unparse

NAMES = Names(inputs=INPUTS, variables=VARIABLES)


class Disagreement(AssertionError):
    """What the engines made of the same expression and data."""


@dataclass(frozen=True)
class Case:
    """A resolved expression, its text, its JSONata (None: not native) and the value of each variable."""

    node: Node
    source: str
    code: str | None
    data: dict[str, Any]
    expected: Outcome


def prepare(tree: Node, data: dict[str, Any]) -> Case:
    """Through every stage that has a text: writing and reading again must change nothing."""
    source = unparse(tree)
    findings = Findings()
    again = parse(source, NOWHERE, findings)
    if again != tree:
        raise Disagreement(f"read again as another tree: {source}\n{tree}\n{again}\n{list(findings)}")
    node = resolve(tree, NAMES, findings)
    if findings.items:
        raise Disagreement(f"findings for {source}: {findings.items}")
    if load(json.loads(json.dumps(dump(node)))) != node:
        raise Disagreement(f"not the same after JSON: {source}")
    expected = reference(node, lambda slot: data[_variable(slot)])
    try:
        code = write(node, _bind, type_of=_type_of, declared=INPUTS)
    except NotNative:
        code = None
    return Case(node, source, code, data, expected)


def _variable(slot: Slot) -> str:
    return "input" if slot.kind == "input" else slot.name


def _bind(slot: Slot) -> str:
    return "$states.context.Execution.Input.input" if slot.kind == "input" else f"${slot.name}"


def bindings(data: dict[str, Any]) -> dict[str, Any]:
    """The data as JSONata variables, the input where a state machine has it."""
    return {**data, "states": {"context": {"Execution": {"Input": {"input": data["input"]}}}}}


def _type_of(slot: Slot) -> str | None:
    return INPUTS.get(slot.name) if slot.kind == "input" else None


def check(cases: Iterable[Case], node_engine: NodeEngine) -> int:
    """Raises `Disagreement` for the first case on which engines differ; gives the number of native ones."""
    native = [case for case in cases if case.code is not None]
    answers = node_engine.run([(str(case.code), bindings(case.data)) for case in native])
    for case, original in zip(native, answers, strict=True):
        port = local(str(case.code), bindings(case.data))
        if not agree(case.expected, original) or not agree(case.expected, port):
            raise Disagreement(
                f"expression: {case.source}\ndata: {json.dumps(case.data)}\nJSONata: {case.code}\n"
                f"reference: {case.expected}\nlocal engine: {port}\nJSONata 2.0.6: {original}"
            )
    return len(native)
