"""Child workflows: executions of their own, with checked inputs and names that never meet."""

from __future__ import annotations

import math
from typing import Any

from aslant.error_names import ALL, NEVER_RETRIED, RETRYABLE
from translator.asl import tasks
from translator.asl.block import Block, Machine, State
from translator.asl.plan import Run
from translator.asl.replay import EXECUTION_ID, execution_name
from translator.asl.retries import delays, retry_rules, whole
from translator.asl.values import Deferred, Writer, query
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Literal, Node
from translator.expressions.types import kind
from translator.model.values import constant
from translator.model.workflow import UNDO_LOOP, Retry, Step, Workflow
from translator.passes.fold import as_node

_WANTED = {
    "string": "a text", "number": "a number", "integer": "an integer", "boolean": "true or false", "array": "a list",
    "object": "an object",
}


_REF = '"$ref":"s3://'  # how a claim begins in JSON
# The output of a child, where the machine looks into it: parts of it may be stored elsewhere.
_WHOLE = (
    f"($given:=$states.result.Output;$contains($string($given),{text_literal(_REF)})?"
    '$error("what the workflow gives is too large to be looked into by the state machine"):$given)'
)


def child_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """A child workflow: an execution of its own, whose name tells parent, step, iteration and attempt apart."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    if UNDO_LOOP in step.labels:
        return _undo(machine, block, run, writer, following), writer.deferred
    placeholder = _placeholder("workflow", machine.workflows, step.workflow)
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
    iteration = machine.iteration(writer, run.frame)
    base, extra = tasks.retries_of(machine, step)
    every = [retry for retry in ([base] if base else []) + extra if retry.max_attempts > 1]
    # A child's own error is in the cause only, where `Retry` does not look: such attempts are states of their own.
    named = [retry for retry in every if not {ALL, tasks.TASK_FAILED} & set(retry.on)] if step.wait_for_completion else []
    own = base if base in every and base not in named else None
    more = [retry for retry in extra if retry in every and retry not in named]
    rules, _ = retry_rules(own, more, machine.findings, service=False)
    version = f'"version":{text_literal(child.version)},' if child is not None else ""
    limit = math.ceil(step.timeout or machine.workflow.settings.timeout or tasks.CHILD_LIMIT)
    result = "$states.result.Output" if step.wait_for_completion else '{"execution":$states.result.ExecutionArn}'
    if step.wait_for_completion and machine.claims.get(step.id, {}).get("keep"):
        result = _WHOLE

    def attempt(number: int) -> State:
        counted = "$states.context.State.RetryCount" + (f"+{number}" if number else "")
        if step.id in machine.rounds:  # another try after an escalation is another child
            counted += f"+1000*${machine.rounds[step.id]}"
        name = (
            f'"{_ascii(step.id)}-"&$hash($string([{EXECUTION_ID},{text_literal(step.id)},{iteration},'
            f'{counted}]),"MD5")'
        )
        # The parent's tenant and user, and an id of its own: requests and idempotency keys of children must not meet.
        execution = (
            f'$merge([$states.context.Execution.Input.execution,{{"id":{name},"workflow":{text_literal(step.workflow)},'
            f'{version}"parent":{{"execution":{EXECUTION_ID},"step":{text_literal(step.id)},'
            f'"iteration":{iteration},"attempt":{counted}}}}}])'
        )
        state: State = {
            "Type": "Task",
            "Resource": "arn:aws:states:::states:startExecution" + (".sync:2" if step.wait_for_completion else ""),
            "Arguments": {
                "StateMachineArn": "${" + placeholder + "}",
                "Name": query(execution_name(name)),
                "Input": {
                    "input": value,
                    "context": query("$merge([$states.context.Execution.Input.context])"),
                    "execution": query(execution),
                },
            },
            "TimeoutSeconds": max(1, limit),
        }
        return state | ({"Retry": rules} if rules else {})

    last = max((retry.max_attempts for retry in named), default=1)
    apart = max((retry.max_attempts for retry in every if retry not in named), default=1)  # attempts that one state makes
    suffix = f"attempt {last}" if last > 1 else ""
    entry = tasks.finish(machine, block, run, attempt((last - 1) * apart), result, following, suffix=suffix)
    for number in range(last - 1, 0, -1):
        again = [
            (names, _pause(machine, block, step, retry, number, entry))
            for retry in named
            if retry.max_attempts > number
            and (names := [name for name in retry.on or RETRYABLE if name not in NEVER_RETRIED])
        ]
        state = attempt((number - 1) * apart)
        suffix = f"attempt {number}" if number > 1 else ""
        entry = tasks.finish(machine, block, run, state, result, following, again=again, suffix=suffix)
    return entry, writer.deferred


def _undo(machine: Machine, block: Block, run: Run, writer: Writer, following: str | None) -> str:
    """The rollback of the execution of a child that had completed, by the child's own machine for that."""
    about = writer.source(run.step.input)
    iteration = machine.iteration(writer, run.frame)
    counted = f"[$states.context.Execution.Id,$child.execution.id,{iteration}]"
    state: State = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": "${" + _placeholder("rollback", machine.rollbacks, run.step.workflow) + "}",
            "Name": query(f'($child:={about};"undo-"&$hash($string({counted}),"MD5"))'),
            "Input": query(f'$merge([{about},{{"rollback":{{"by":"parent","action":"rollback"}}}}])'),
        },
        "TimeoutSeconds": tasks.CHILD_LIMIT,
    }
    return tasks.finish(machine, block, run, state, "$states.result.Output", following)


def _placeholder(prefix: str, taken: dict[str, str], workflow: str) -> str:
    """The placeholder of a workflow's machine, noted in `taken`."""
    name = f"{prefix}_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in workflow)
    while taken.get(name, workflow) != workflow:
        name += "_"
    taken[name] = workflow
    return name


def _pause(machine: Machine, block: Block, step: Step, retry: Retry, number: int, following: str) -> str:
    """The pause after attempt `number`."""
    seconds = whole(delays(retry)[number - 1])
    state: State = {
        "Type": "Wait", "Seconds": query(f"$ceil($random()*{seconds})") if retry.jitter else seconds, "Next": following,
    }
    return machine.add(block, step, "join", state, "pause")


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
