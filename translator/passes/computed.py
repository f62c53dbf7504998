"""Transforms and aggregates that the state machine can compute itself: their configuration becomes one `value`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from translator.diagnostics import Findings
from translator.expressions.lexer import Ids, ids_of
from translator.expressions.parser import parse
from translator.expressions.rewrite import rewrite
from translator.expressions.tree import (
    Call,
    Compare,
    Comprehension,
    Conditional,
    ListOf,
    Literal,
    Name,
    Node,
    walk,
)
from translator.findings import expressions as rules
from translator.model.workflow import Step, Workflow
from translator.passes.fold import as_node
from translator.source import position_of

_AGGREGATES = {"sum": "sum", "max": "max", "min": "min", "average": "avg"}
_TRANSFORM_KEYS = frozenset({"operation", "expression", "data", "input_format", "output_format", "language"})


def prepare_computed(workflow: Workflow, findings: Findings, known: Iterable[str] = ()) -> Workflow:
    """The workflow with the expressions of its transforms parsed, and moved into `config.value` where that says it all.

    `known` are more ids that expressions may name.
    """
    ids = ids_of([*known, *(name for step in workflow.all_steps() for name in (step.id, step.output_key) if name)])
    return replace(
        workflow,
        steps=_steps(workflow.steps, ids, findings),
        finally_=_steps(workflow.finally_, ids, findings),
    )


def _steps(steps: tuple[Step, ...], ids: Ids, findings: Findings) -> tuple[Step, ...]:
    return tuple(_step(step, ids, findings) for step in steps)


def _step(step: Step, ids: Ids, findings: Findings) -> Step:
    if step.type == "parallel":
        return replace(step, branches=tuple(_steps(branch, ids, findings) for branch in step.branches))
    if step.type == "foreach":
        return replace(step, steps=_steps(step.steps, ids, findings))
    value = None
    if step.type == "transform":
        value = _transform(step, ids, findings)
        if value is None:
            _report_outer(step, ids, findings)
    elif step.type == "aggregate":
        value = _aggregate(step)
    return step if value is None else replace(step, config={"value": value})


def _transform(step: Step, ids: Ids, findings: Findings) -> Node | None:
    config = step.config
    if not set(config) <= _TRANSFORM_KEYS:
        return None
    formats = {_text(config.get(key)) for key in ("input_format", "output_format")}
    operation = (_text(config.get("operation")) or "transform").lower()
    if not formats <= {"", "json"} or operation == "reduce":
        return None
    written = config.get("expression")
    data = as_node(config["data"]) if "data" in config else None
    if written is None:
        return data
    if isinstance(written, Literal):
        if not isinstance(written.value, str):
            return written
        at = position_of(step.source, ("config", "expression"))
        node = parse(written.value, at, findings, ids)
        if node is None:
            return Literal(None, at)
    else:
        node = as_node(written)
    if operation in ("map", "filter"):
        if data is None or any(part == Name("index") for part in walk(node)):
            return None
        element: Node = node if operation == "map" else Name("item", node.at)
        condition = None if operation == "map" else _with_data(node, data)
        return Comprehension(_with_data(element, data), "item", data, condition, node.at)
    return node if data is None else _with_data(node, data)


_OUTER = frozenset({
    "steps", "nodes", "tasks", "vars", "variables", "state", "context", "secrets", "env", "workflow", "execution", "errors",
})
_INPUT = frozenset({"input", "inputs", "parameters"})


def _report_outer(step: Step, ids: Ids, findings: Findings) -> None:
    """Findings about an expression that the function evaluates: mistakes in it, and names that the function is not given."""
    written = step.config.get("expression")
    if "script" in step.config or not isinstance(written, Literal) or not isinstance(written.value, str):
        return
    node = parse(written.value, position_of(step.source, ("config", "expression")), findings, ids)
    each = (_text(step.config.get("operation")) or "transform").lower() in ("map", "filter", "reduce")
    parts = [*walk(node)] if node is not None else []
    outer = (_OUTER | _INPUT if each else _OUTER) - {part.name for part in parts if isinstance(part, Comprehension)}
    for part in parts:
        if isinstance(part, Name) and part.name in outer:
            findings.add(rules.UNKNOWN_NAME, f"the name {part.name} is not known in an expression that a function evaluates",
                part.at, hint="put what it reads into `data`")


def _with_data(node: Node, data: Node) -> Node:
    return rewrite(node, lambda part: data if part == Name("data") else None)


def _aggregate(step: Step) -> Node | None:
    """Figures over a list that is written out; null results of steps that did not run are left out."""
    config = step.config
    function = _AGGREGATES.get(_text(config.get("aggregation")))
    results = config.get("results")
    if function is None or not isinstance(results, list) or not set(config) <= {"aggregation", "results", "format"}:
        return None
    if _text(config.get("format")) not in ("", "json"):
        return None
    at = step.at
    numbers = Comprehension(
        Name("x", at), "x", Call("flatten", (as_node(results),), at), Compare(Name("x", at), (("!=", Literal(None)),)), at
    )
    if function == "sum":
        return Call("sum", (numbers,), at)
    empty = Compare(numbers, (("==", ListOf(())),), at)
    return Conditional(empty, Literal(None, at), Call(function, (numbers,), at), at)


def _text(value: Any) -> str:
    plain = value.value if isinstance(value, Literal) else value
    return plain if isinstance(plain, str) else ""
