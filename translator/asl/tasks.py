"""Task states: steps that run in a Lambda function, child workflows, approvals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from aslant.error_names import ALL
from aslant.step_types import STEP_TYPES
from translator.asl.block import Block, Machine, State
from translator.asl.claims import short
from translator.asl.failures import CAUSE, ERROR, ERROR_OF_CHILD, error_from, error_object, hand_over, left_inside
from translator.asl.plan import Run
from translator.asl.retries import retry_rules
from translator.asl.values import Deferred, Writer, literal, query
from translator.diagnostics import NOWHERE
from translator.expressions.jsonata import text_literal
from translator.expressions.references import slots
from translator.expressions.serialize import dump
from translator.expressions.tree import Node, Slot
from translator.findings import asl as rules
from translator.model.workflow import OnFailure, Retry, Step
from translator.passes.check_steps import CAN_KEEP, GUARDS
from translator.passes.policies import FAILS, Reaction, continues, reactions

INVOKE = "arn:aws:states:::lambda:invoke"
EXECUTION = "{% $states.context.Execution.([Input.execution,Id][0]) %}"
LAMBDA_LIMIT = 900  # seconds that a Lambda function may run
CHILD_LIMIT = 604_800  # seconds for a child workflow or an approval that says nothing else: seven days
TASK_FAILED = "States.TaskFailed"  # of a child workflow: every failure but the time limit of the step itself
# What a child was started with; the answer may hold it as a text.
CHILD = query('($_i:=$states.result.Input;$type($_i)="string"?$parse($_i):$_i)')
DATA_LIMIT = "States.DataLimitExceeded"  # not covered by States.ALL


GUARDED = frozenset({"http", "skill"})        # what `settings.rate_limit` and `settings.circuit_breaker` are for

Again = Sequence[tuple[Sequence[str], str]]  # error names, and the state that makes another attempt after them
_AS_BEFORE = "{% $states.input %}"  # another attempt reads the item of the loop there too; a catcher would pass on the error


def lambda_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """A step whose function does the work."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config, secrets = writer.config(step.config)
    state = invoke(machine, writer, run, config, secrets, step.type)
    payload = state["Arguments"]["Payload"]
    rules = machine.claims.get(step.id)
    if rules:
        payload["claims"] = short(rules)
    if step.cache is not None and step.type in CAN_KEEP:
        payload["cache"] = writer.value({name: value for name, value in step.cache.items() if value is not None})
    guard = {name: dict(value) for name, value in sorted(machine.workflow.settings.other.items()) if name in GUARDS}
    if guard and step.type in GUARDED:
        payload["guard"] = guard
    return finish(machine, block, run, state, "$states.result.Payload.output", following), writer.deferred


def invoke(
    machine: Machine, writer: Writer, run: Run, config: Any, secrets: dict[str, list[Any]], kind: str,
    *, token: bool = False,
) -> State:
    """A Task state that calls the function of step type `kind`, without its continuation."""
    step = run.step
    machine.functions[kind] = kind
    limit = math.ceil(step.timeout or min(machine.workflow.settings.timeout or LAMBDA_LIMIT, LAMBDA_LIMIT))
    retry, plan = retry_rules(*retries_of(machine, step), machine.findings)
    payload: dict[str, Any] = {"step": literal(step.id), "execution": EXECUTION, "config": config}
    if kind in STEP_TYPES and STEP_TYPES[kind].folder != kind:
        payload["type"] = kind
    if token:  # an attempt of an approval is a request of its own
        payload["attempt"] = machine.attempt(step, "$states.context.State.RetryCount")
    elif plan:  # what the plan's delays go by; it begins anew when the step is entered again
        payload["attempt"] = query("$states.context.State.RetryCount")
    if run.frame.loops:
        payload["iteration"] = query(machine.iteration(writer, run.frame))
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
        "Arguments": {"FunctionName": "${" + kind + "}", "Payload": payload},
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
        Retry(max_attempts=reaction.retries + 1, on=(ALL,) if ALL in reaction.errors else reaction.errors,
              delay=base.delay if base else 1, at=step.at)
        for reaction in reactions(step, machine.workflow)
    ]
    if all(retry.max_attempts == 1 for retry in extra):
        extra = []
    return base, extra


def finish(
    machine: Machine, block: Block, run: Run, state: State, result: str, following: str | None,
    *, received: Mapping[Slot, str] | None = None, inner: Sequence[Block] = (), again: Again = (),
    suffix: str = "",
) -> str:
    """Let a Task, Parallel or Map state keep its result, catch its failures, and go on. Gives its name.

    `received` are the sources of what the frames inside of it hand on, `inner` the blocks of these frames, `again` the
    states that a failed child goes to for another attempt.
    """
    step = run.step
    given = received or {}
    results = {"output": query(result)} | ({"child": CHILD} if step.type == "workflow" else {})
    assign = machine.assign_results(step, block, results) | machine.assign(given, block.frame)
    catch = catchers(machine, block, run, following, inner=inner, again=again)
    if catch:
        state["Catch"] = catch
    if assign:
        state["Assign"] = assign
    own = {Slot("output", step.id): result, Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, {**own, **given, **machine.own_input(block, step)})
    return machine.add(block, step, "step", state, suffix)


def catchers(
    machine: Machine, block: Block, run: Run, following: str | None, output: Any = None, inner: Sequence[Block] = (),
    again: Again = (),
) -> list[dict[str, Any]]:
    """What a failure of the step leads to. `output` is what the step leaves behind when the workflow goes on."""
    step = run.step
    found: list[dict[str, Any]] = []
    questions: dict[Reaction, dict[str, Any]] = {}
    from translator.asl.escalations import ask

    def catcher(names: list[str], reaction: Reaction) -> dict[str, Any]:
        if reaction.action != "escalate":
            return _catcher(machine, block, run, names, reaction.action, following, output, inner)
        if reaction not in questions:
            error = error_from(machine, inner, step) if inner else error_object(step)
            questions[reaction] = ask(machine, block, run, reaction, error, CAUSE, following)
        return {"ErrorEquals": names, **questions[reaction]}

    of_child = child_failures(machine, block, run, following, again) if step.type == "workflow" else None
    for names, state in again:
        direct = [name for name in names if name.startswith("States.") and name != TASK_FAILED]
        if direct:
            found.append({"ErrorEquals": direct, "Output": _AS_BEFORE, "Next": state})
    for reaction in reactions(step, machine.workflow):
        names = [name for name in reaction.errors if name != ALL]
        if of_child is not None:  # other names are those of steps in the child, which are told apart in a state of their own
            names = [name for name in names if name.startswith("States.") and name != TASK_FAILED]
            if not names and ALL not in reaction.errors:
                continue
        if ALL in reaction.errors:
            found += [of_child] if of_child else []
            return [*found, catcher([DATA_LIMIT], reaction), catcher([ALL], reaction)]
        found.append(catcher(names, reaction))
    if of_child is not None:
        found.append(of_child)
    if block.fail is not None:
        found += [catcher([name], FAILS) for name in (DATA_LIMIT, ALL)]
    return found


def child_failures(
    machine: Machine, block: Block, run: Run, following: str | None, again: Again
) -> dict[str, Any] | None:
    """The catcher of a failed child: a Choice by the child's own error; None when no reaction names an error.

    The machine itself knows every failure of a child as States.TaskFailed only.
    """
    from translator.asl.escalations import ask

    step = run.step
    wanted = reactions(step, machine.workflow)
    if not step.wait_for_completion or not again and (not wanted or {ALL, TASK_FAILED} & set(wanted[0].errors)):
        return None
    variable = machine.variables.new_name.new(f"{step.id}_failure")
    about = error_object(step)
    error = {key: query(f"${variable}.{key}") for key in about}

    def leads_to(reaction: Reaction) -> dict[str, Any]:
        if reaction.action == "escalate":
            return ask(machine, block, run, reaction, error, query(f"${variable}.cause"), following)
        if reaction.action == "continue":
            assign = {
                name: {"status": "failed", "error": error}.get(slot.kind)
                for slot, name in machine.variables.own(step.id, block.frame)
            }
            return {"Next": machine.target(block, following)} | ({"Assign": assign} if assign else {})
        if block.fail is not None:
            return {"Next": block.fail[0], "Assign": hand_over(machine, block, step, error)}
        state: State = {"Type": "Fail", "Error": error["error"], "Cause": query(f"${variable}.cause")}
        return {"Next": machine.add(block, step, "failed", state, "failed")}

    def known(names: Sequence[str]) -> str:
        return query(f"${variable}.error in [{','.join(map(text_literal, names))}]")

    choices: list[dict[str, Any]] = [{"Condition": known(names), "Next": state} for names, state in again]
    last: dict[str, Any] | None = None
    for reaction in wanted:
        if {ALL, TASK_FAILED} & set(reaction.errors):
            last = leads_to(reaction)
            break
        choices.append({"Condition": known(reaction.errors), **leads_to(reaction)})
    last = last or leads_to(FAILS)
    choice: State = {"Type": "Choice", "Choices": choices, "Default": last["Next"]}
    if "Assign" in last:
        choice["Assign"] = last["Assign"]
    return {
        "ErrorEquals": [TASK_FAILED],
        "Assign": {variable: about | {"cause": CAUSE}} | machine.entry(block, step),  # later the input is the error
        **({"Output": _AS_BEFORE} if again else {}),
        "Next": machine.add(block, step, "join", choice, "why"),
    }


def _catcher(
    machine: Machine, block: Block, run: Run, names: list[str], action: str, following: str | None, output: Any,
    inner: Sequence[Block],
) -> dict[str, Any]:
    step = run.step
    if action == "continue":
        assign: dict[str, Any] = machine.entry(block, step)
        for body in run.bodies:
            assign |= machine.variables.skipped(body.plan, block.frame)
        for slot, value in left_inside(machine, inner).items():
            if (slot, block.frame) in machine.variables.names:
                assign[machine.variables.names[slot, block.frame]] = value
        for slot, name in machine.variables.own(step.id, block.frame):
            assign[name] = {"status": "failed", "error": error_object(step), "output": output}.get(slot.kind)
        rule: dict[str, Any] = {"ErrorEquals": names, "Next": machine.target(block, following)}
    elif block.fail is not None:
        error = error_from(machine, inner, step) if inner else error_object(step)
        assign = hand_over(machine, block, step, error, left_inside(machine, inner))
        rule = {"ErrorEquals": names, "Next": block.fail[0]}
    else:
        name, variable = fail_state(machine, block, step)
        assign = {variable: {"error": ERROR_OF_CHILD if step.type == "workflow" else ERROR, "cause": CAUSE}}
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
    machine: Machine, block: Block, run: Run, deferred: Deferred, main: str, following: str | None, *, passed: bool = False,
    role: str = "evaluate",
) -> str:
    """A state before the step's `main` one, for what JSONata cannot say. Its input passes through.

    With the role `condition` it is not said that the step comes next.

    `following` is where the workflow goes on when this fails and the step's failures are taken that way. With `passed` the
    values go to a function, so that they may be claims.
    """
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config = evaluation(writer, deferred.expressions)
    for node, reason in zip(deferred.expressions, deferred.reasons, strict=True):
        at = getattr(node, "at", NOWHERE)  # values that were put together have no place of their own
        machine.findings.add(rules.LAMBDA_EXPRESSION, f"{step.id!r}: {reason}", step.at if at == NOWHERE else at)
    state = invoke(machine, writer, run, config, {}, "transform")
    if step.id in machine.recorded_items:
        state["Arguments"]["Payload"]["part"] = "items"  # the name under which a rollback finds them
    state["Arguments"]["Payload"]["claims"] = {"open": [""]} if passed else {"keep": [""]}
    state["Output"] = "{% $states.input %}"
    state["Assign"] = {deferred.name: "{% $states.result.Payload.output %}"}
    catch = catchers(machine, block, run, following)
    if catch:
        state["Catch"] = catch
    state["Next"] = main
    return machine.add(block, step, role, state, "evaluate")


def record_state(machine: Machine, block: Block, run: Run, following: str | None) -> str:
    """A state after a step that no function runs, which records that it completed, and its output, for a rollback."""
    step = run.step
    # It only notes what is known: a function that is killed at it must not fail the workflow.
    kept = Step(step.id, "transform", step.at, retry=Retry(max_attempts=4), timeout=60.0, on_failure=OnFailure("fail"))
    light = Run(kept, run.frame)
    writer = machine.writer(block, step)
    left = {Slot(kind, step.id) for kind in ("output", "child")}
    read: list[Node] = [slot for slot, _ in machine.variables.own(step.id, run.frame) if slot in left]
    state = invoke(machine, writer, light, evaluation(writer, read), {}, "transform")
    # The record is that of the step itself, which began before the call.
    state["Arguments"]["Payload"] |= {
        "type": step.type, "part": "", "entered": query(writer.bind(Slot("began", step.id))),
    }
    if block.fail is not None:
        state["Catch"] = handed_over(machine, block, light)
    machine.go(block, state, following)
    name = machine.add(block, step, "record", state, "record")
    if not continues(step, machine.workflow):
        return name
    completed = query(f'{writer.bind(Slot("status", step.id))}="completed"')
    choice: State = {
        "Type": "Choice", "Choices": [{"Condition": completed, "Next": name}], "Default": machine.target(block, following),
    }
    return machine.add(block, step, "record", choice, "recorded")


def handed_over(machine: Machine, block: Block, run: Run) -> list[dict[str, Any]]:
    """Catchers for every failure of a state beside the steps, in a block that collects failures."""
    return [_catcher(machine, block, run, [kind], "fail", None, None, ()) for kind in (DATA_LIMIT, ALL)]


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
