"""Task states: steps that run in a Lambda function, child workflows, approvals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from aslant.error_names import ALL
from aslant.step_types import STEP_TYPES
from translator.asl.block import CAUSE, ERROR, Block, Machine, State, error_object
from translator.asl.plan import Run
from translator.asl.retries import SERVICE, retry_rules
from translator.asl.values import Deferred, Writer, literal, query
from translator.expressions.references import slots
from translator.expressions.serialize import dump
from translator.expressions.tree import Node, Slot
from translator.findings import asl as rules
from translator.model.workflow import Retry, Step
from translator.passes.policies import reactions

INVOKE = "arn:aws:states:::lambda:invoke"
ATTEMPT = "{% $states.context.State.RetryCount %}"
EXECUTION = "{% $states.context.Execution.([Input.execution,Id][0]) %}"
LAMBDA_LIMIT = 900  # seconds that a Lambda function may run
CHILD_LIMIT = 604_800  # seconds for a child workflow or an approval that says nothing else: seven days
DATA_LIMIT = "States.DataLimitExceeded"  # not covered by States.ALL


def lambda_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """A step whose function does the work."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config, secrets = writer.config(step.config)
    state = invoke(machine, writer, run, config, secrets, step.type)
    return finish(machine, block, run, state, "$states.result.Payload.output", following), writer.deferred


def invoke(
    machine: Machine, writer: Writer, run: Run, config: Any, secrets: dict[str, list[Any]], kind: str,
    *, token: bool = False,
) -> State:
    """A Task state that calls the function of step type `kind`, without its continuation."""
    step = run.step
    placeholder = f"function_{kind}"
    machine.functions[placeholder] = kind
    limit = math.ceil(step.timeout or min(machine.workflow.settings.timeout or LAMBDA_LIMIT, LAMBDA_LIMIT))
    retry, plan = retry_rules(*retries_of(machine, step), machine.findings)
    payload: dict[str, Any] = {"step": literal(step.id), "execution": EXECUTION, "config": config}
    if STEP_TYPES[kind].folder != kind:
        payload["type"] = kind
    if token or len(retry) > 1 or retry[0] != SERVICE:
        payload["attempt"] = ATTEMPT
    loops = run.frame.loops
    if loops:
        payload["iteration"] = query("[" + ",".join(writer.bind(Slot("index", loop)) for loop in loops) + "]")
    if secrets:
        payload["secrets"] = secrets
    if plan:
        payload["retry"] = plan
    if step.timeout is not None:
        payload["timeout"] = limit
    if token:
        payload["token"] = query("$states.context.Task.Token")
    state: State = {
        "Type": "Task",
        "Resource": INVOKE + (".waitForTaskToken" if token else ""),
        "Arguments": {"FunctionName": "${" + placeholder + "}", "Payload": payload},
        "TimeoutSeconds": max(1, limit),
    }
    if step.heartbeat:
        state["HeartbeatSeconds"] = min(max(1, math.ceil(step.heartbeat)), max(1, limit - 1))
    state["Retry"] = retry
    return state


def retries_of(machine: Machine, step: Step) -> tuple[Retry | None, list[Retry]]:
    """The step's own retry, and those that error handlers and `on_failure: retry` ask for.

    The workflow's default is for steps that do something themselves, not for those that hold or call others.
    """
    own = step.type in ("parallel", "foreach", "workflow")
    base = step.retry or (None if own else machine.workflow.settings.retry)
    extra = [
        Retry(max_attempts=reaction.retries + 1, on=() if ALL in reaction.errors else reaction.errors,
              delay=base.delay if base else 1, at=step.at)
        for reaction in reactions(step, machine.workflow)
        if reaction.retries
    ]
    return base, extra


def finish(
    machine: Machine, block: Block, run: Run, state: State, result: str, following: str | None,
    *, received: Mapping[Slot, str] | None = None,
) -> str:
    """Let a Task, Parallel or Map state keep its result, catch its failures, and go on. Gives its name.

    `received` are the sources of what the frames inside of it hand on.
    """
    step = run.step
    inner = received or {}
    assign = machine.assign_results(step, block, {"output": query(result)}) | machine.assign(inner, block.frame)
    catch = catchers(machine, block, run, following)
    if catch:
        state["Catch"] = catch
    if assign:
        state["Assign"] = assign
    own = {Slot("output", step.id): result, Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, {**own, **inner, **machine.own_input(block, step)})
    return machine.add(block, step, "step", state)


def catchers(
    machine: Machine, block: Block, run: Run, following: str | None, output: Any = None
) -> list[dict[str, Any]]:
    """What a failure of the step leads to. `output` is what the step leaves behind when the workflow goes on."""
    step = run.step
    found: list[dict[str, Any]] = []
    for reaction in reactions(step, machine.workflow):
        names = [name for name in reaction.errors if name != ALL]
        if ALL in reaction.errors:
            found += [_catcher(machine, block, run, [DATA_LIMIT], reaction.action, following, output)]
            found += [_catcher(machine, block, run, [ALL], reaction.action, following, output)]
            return found
        found.append(_catcher(machine, block, run, names, reaction.action, following, output))
    if block.fail is not None:
        found += [_catcher(machine, block, run, [name], "fail", following, output) for name in (DATA_LIMIT, ALL)]
    return found


def _catcher(
    machine: Machine, block: Block, run: Run, names: list[str], action: str, following: str | None, output: Any
) -> dict[str, Any]:
    step = run.step
    if action == "continue":
        assign: dict[str, Any] = machine.entry(block, step)
        for body in run.bodies:
            assign |= machine.variables.skipped(body.plan, block.frame)
        for slot, name in machine.variables.own(step.id, block.frame):
            assign[name] = {"status": "failed", "error": error_object(step), "output": output}.get(slot.kind)
        rule: dict[str, Any] = {"ErrorEquals": names, "Next": machine.target(block, following)}
    elif block.fail is not None:
        state, variable = block.fail
        assign = {variable: error_object(step)}
        rule = {"ErrorEquals": names, "Next": state}
    else:
        name, variable = fail_state(machine, block, step)
        assign = {variable: {"error": ERROR, "cause": CAUSE}}
        rule = {"ErrorEquals": names, "Next": name}
    if assign:
        rule["Assign"] = assign
    return rule


def fail_state(machine: Machine, block: Block, step: Step) -> tuple[str, str]:
    """A state that ends with the error that its variable holds, and that variable."""
    variable = machine.variables.new_name.new(f"{step.id}_failure")
    state: State = {"Type": "Fail", "Error": f"{{% ${variable}.error %}}", "Cause": f"{{% ${variable}.cause %}}"}
    return machine.add(block, step, "failed", state, "failed"), variable


def evaluate_state(
    machine: Machine, block: Block, run: Run, deferred: Deferred, main: str, following: str | None
) -> str:
    """A state before the step's `main` one, for what JSONata cannot say. Its input passes through.

    `following` is where the workflow goes on when this fails and the step's failures are taken that way.
    """
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config = evaluation(writer, deferred.expressions)
    for node, reason in zip(deferred.expressions, deferred.reasons, strict=True):
        machine.findings.add(rules.LAMBDA_EXPRESSION, f"{step.id!r}: {reason}", getattr(node, "at", step.at))
    state = invoke(machine, writer, run, config, {}, "transform")
    state["Output"] = "{% $states.input %}"
    state["Assign"] = {deferred.name: "{% $states.result.Payload.output %}"}
    catch = catchers(machine, block, run, following)
    if catch:
        state["Catch"] = catch
    state["Next"] = main
    return machine.add(block, step, "evaluate", state, "evaluate")


def evaluation(writer: Writer, nodes: list[Node]) -> dict[str, Any]:
    """The configuration of a transform step that evaluates expressions: their trees, and the values they read."""
    values: dict[str, Any] = {}
    for node in nodes:
        for slot in sorted(slots(node), key=lambda slot: (slot.kind, slot.name)):
            if slot.kind not in ("env", "secret"):
                values[f"{slot.kind}:{slot.name}"] = writer.field(slot)
    trees = {f"e{number}": _as_value(dump(node)) for number, node in enumerate(nodes)}
    return {"evaluate": {"expressions": trees, "slots": values}}


def _as_value(value: Any) -> Any:
    """Plain JSON as a field's value: texts in it are data."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {key: _as_value(item) for key, item in value.items()}
    return [_as_value(item) for item in value] if isinstance(value, list) else value
