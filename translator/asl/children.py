"""Child workflows: executions of their own, with checked inputs and names that never meet."""

from __future__ import annotations

import math
from typing import Any

from translator.asl import tasks
from translator.asl.block import Block, Machine, State
from translator.asl.plan import Run
from translator.asl.retries import retry_rules
from translator.asl.values import Deferred, Writer, query
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Literal, Node, Slot
from translator.expressions.types import kind
from translator.model.values import constant
from translator.model.workflow import Workflow
from translator.passes.fold import as_node

_WANTED = {
    "string": "a text", "number": "a number", "integer": "an integer", "boolean": "true or false", "array": "a list",
    "object": "an object",
}


def child_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """A child workflow: an execution of its own, whose name tells parent, step, iteration and attempt apart."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    placeholder = "workflow_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in step.workflow)
    while machine.workflows.get(placeholder, step.workflow) != step.workflow:
        placeholder += "_"
    machine.workflows[placeholder] = step.workflow
    given: Any = step.input if step.input is not None else {}
    child = machine.children.get(step.workflow)
    defaults: dict[str, Any] = {}
    if child is not None and child.inputs:
        defaults = {k: as_literals(spec["default"]) for k, spec in child.inputs.items() if spec.get("default") is not None}
    if isinstance(given, dict):
        given = {key: value for key, value in defaults.items() if key not in given} | given
        value = _written_out(writer, given, child)
    else:
        value = _computed(writer, as_node(given), defaults, child)
    iteration = "[" + ",".join(writer.bind(Slot("index", loop)) for loop in run.frame.loops) + "]"
    name = (
        f'"{_ascii(step.id)}-"&$hash($string([$states.context.Execution.Id,{text_literal(step.id)},{iteration},'
        '$states.context.State.RetryCount]),"MD5")'
    )
    # The parent's tenant and user, and an id of its own: requests and idempotency keys of children must not meet.
    version = f'"version":{text_literal(child.version)},' if child is not None else ""
    execution = (
        f'$merge([$states.context.Execution.Input.execution,{{"id":{name},"workflow":{text_literal(step.workflow)},{version}'
        f'"parent":{{"execution":$states.context.Execution.Id,"step":{text_literal(step.id)},"iteration":{iteration},'
        '"attempt":$states.context.State.RetryCount}}])'
    )
    limit = math.ceil(step.timeout or machine.workflow.settings.timeout or tasks.CHILD_LIMIT)
    retry, _ = retry_rules(*tasks.retries_of(machine, step), machine.findings, service=False)
    state: State = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution" + (".sync:2" if step.wait_for_completion else ""),
        "Arguments": {
            "StateMachineArn": "${" + placeholder + "}",
            "Name": query(name),
            "Input": {
                "input": value,
                "context": query("$merge([$states.context.Execution.Input.context])"),
                "execution": query(execution),
            },
        },
        "TimeoutSeconds": max(1, limit),
    }
    if retry:
        state["Retry"] = retry
    result = "$states.result.Output" if step.wait_for_completion else '{"execution":$states.result.ExecutionArn}'
    return tasks.finish(machine, block, run, state, result, following), writer.deferred


def _written_out(writer: Writer, given: dict[str, Any], child: Workflow | None) -> Any:
    """The input as an object whose keys are known; what is computed is checked against the child's declaration."""
    declared = (child.inputs or {}) if child is not None else {}
    found: dict[str, Any] = {}
    for key, value in given.items():
        wanted = declared.get(key, {}).get("type")
        node = as_node(value)
        if wanted not in _WANTED or constant(value)[0] or kind(node, writer.type_of) == wanted:
            found[key] = writer.value(value)
            continue
        refuse = f"$error({text_literal(_refusal(child, key, wanted))})"
        found[key] = query(f"($given:={writer.source(node)};{_fits('$given', wanted)}?$given:{refuse})")
    return found


def _computed(writer: Writer, given: Node, defaults: dict[str, Any], child: Workflow | None) -> str:
    """The input as one expression, with the child's defaults below it; its types are checked when it is known."""
    source = writer.source(given)
    if defaults:
        source = f"$merge([{writer.source(as_node(defaults))},{source}])"
    checks = []
    for key, spec in ((child.inputs or {}) if child is not None else {}).items():
        wanted = spec.get("type")
        if wanted in _WANTED:
            value = f"$lookup($given,{text_literal(key)})"
            missing = "false" if spec.get("required") else f"$exists({value})=false"
            refuse = f"$error({text_literal(_refusal(child, key, wanted))})"
            checks.append(f"({missing} or {_fits(value, wanted)})=false?{refuse}:")
    return query(f"($given:={source};{''.join(checks)}$given)" if checks else source)


def _fits(value: str, wanted: str) -> str:
    """The condition that a value has a declared type."""
    if wanted == "integer":
        return f'($type({value})="number"?$floor({value})={value}:false)'
    return f'$type({value})="{wanted}"'


def _refusal(child: Workflow | None, key: str, wanted: str) -> str:
    return f"the workflow {child.id if child else ''} refuses its input {key}: {_WANTED[wanted]} is wanted"


def as_literals(value: Any) -> Any:
    """Plain JSON as a `Value`: its texts become literals."""
    if isinstance(value, str):
        return Literal(value)
    if isinstance(value, dict):
        return {key: as_literals(item) for key, item in value.items()}
    return [as_literals(item) for item in value] if isinstance(value, list) else value


def _ascii(text: str) -> str:
    return "".join(c if c.isascii() and (c.isalnum() or c == "_") else "-" for c in text)[:40].strip("-") or "child"
