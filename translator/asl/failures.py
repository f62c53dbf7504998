"""What a failure leaves behind: the error as a value, the step that it came from, and what is known of the other steps.

Variables of a frame are lost when a state inside of it fails the Parallel or Map around. So where somebody outside asks,
failures of Tasks end their frame in a `Fail` state whose cause tells the step and the statuses. Choice, Pass and Wait
have no Catch: their failure names the state, and what that says about steps is known at compile time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from translator.asl.block import Block, Machine, Origin
from translator.asl.plan import Plan, Run
from translator.asl.plan import Sequence as InOrder
from translator.asl.values import literal, query
from translator.asl.variables import unset
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Slot
from translator.model.workflow import Step
from translator.passes.policies import continues

_ERROR = "$states.errorOutput.Error"
_CAUSE = '($exists($states.errorOutput.Cause)?$states.errorOutput.Cause:"")'
CAUSE = query(_CAUSE)
_UNIFIED = '{0}="States.QueryEvaluationError"?"ExpressionError":{0}'
ERROR = query(_UNIFIED.format(_ERROR))  # one name, whether the machine or a function evaluated the expression

# The cause of `States.TaskFailed` for a child is its DescribeExecution as JSON; a long one may be cut off.
# https://docs.aws.amazon.com/step-functions/latest/dg/connect-stepfunctions.html
_OBJECT = '$substring($_c,0,1)="{" and $substring($_c,-1)="}"'
_CHILD = f"$contains($_c,'\"ExecutionArn\"') and {_OBJECT}"
ERROR_OF_CHILD = query(
    f"($_n:=function($_e,$_c){{{_CHILD}?($_d:=$parse($_c);"
    '$_n($exists($_d.Error)?$_d.Error:$_d.Status="TIMED_OUT"?"States.Timeout":"Cancelled",'
    f'$exists($_d.Cause)?$_d.Cause:"")):{_UNIFIED.format("$_e")}}};$_n({_ERROR},{_CAUSE}))'
)
_CHILD_ID = query(f"($_c:={_CAUSE};{_CHILD}?[$parse($_c).Name,null][0]:null)")
# A function's error comes as JSON, a child execution's as a description of it, the service's own as text.
MESSAGE = query(
    f"($_m:=function($_c){{$contains($_c,'\"errorMessage\"') and {_OBJECT}?$parse($_c).errorMessage:"
    f'{_CHILD}?($_d:=$parse($_c);$exists($_d.Cause)?$_m($_d.Cause):""):$_c}};$_m({_CAUSE}))'
)

_MARK = '{"failedStep":'  # how the cause of an inner block's `Fail` state begins
_SHORT = 500  # characters of the messages of errors before that one
_LONGEST = 4_000  # characters of a message there, so that the cause keeps below 32,768 however much is escaped
_NATIVE = "An error occurred while executing the state '"  # how AWS begins the cause of an expression that fails
_STATE = (
    f"$substring($_c,0,{len(_NATIVE)})={text_literal(_NATIVE)}"
    f"?$substringBefore($substring($_c,{len(_NATIVE)}),\"' (entered at\"):\"\""
)


def error_object(step: Step) -> dict[str, str]:
    """What `errors.<step>` holds: the error's name, its message, and the step's id; a child workflow's execution too."""
    if step.type == "workflow":
        return {"error": ERROR_OF_CHILD, "message": MESSAGE, "step": literal(step.id), "execution": _CHILD_ID}
    return {"error": ERROR, "message": MESSAGE, "step": literal(step.id)}


def error_from(machine: Machine, inner: Sequence[Block], step: Step | None = None) -> dict[str, str]:
    """The same for a failure inside of the given blocks, with the step that it came from; `step` where nothing tells."""
    return {"error": ERROR_OF_CHILD, "message": MESSAGE, "step": query(_failed_step(machine, inner, step))}


def _failed_step(machine: Machine, inner: Sequence[Block], step: Step | None) -> str:
    otherwise = text_literal(step.id if step is not None else "")
    states = {name: machine.origins[name].step for block in inner for name in _natives(machine, block)}
    if states:
        steps = "{" + ",".join(f"{text_literal(name)}:{text_literal(of)}" for name, of in states.items()) + "}"
        otherwise = f"[$lookup({steps},{_STATE}),{otherwise}][0]"
    return f"($_c:={_CAUSE};$substring($_c,0,{len(_MARK)})='{_MARK}'?$parse($_c).failedStep:{otherwise})"


def _natives(machine: Machine, block: Block) -> Iterator[str]:
    """The states of a block that may fail without a Catch."""
    for name, state in block.states.items():
        if state["Type"] in ("Choice", "Pass", "Wait") and name in block.places and machine.origins[name].step:
            yield name


def name_failed_steps(machine: Machine, inner: Block, label: str) -> None:
    """Let failures leave the block with the id of their step, and the statuses and errors that are read outside of it."""
    variable = machine.variables.new_name.new(f"{label}_failure")
    name = machine.states.new(label, "failed")
    left = ",".join(
        f'"{own}":{"$" + own if slot.kind == "status" else _shortened(own)}'
        for slot, own in _exports(machine, inner) if slot.kind in ("status", "error")
    )
    cause = f'{_MARK}${variable}.step,"errorMessage":$substring(${variable}.message,0,{_LONGEST})'
    cause += f',"left":{{{left}}}}}' if left else "}"
    inner.states[name] = {"Type": "Fail", "Error": query(f"${variable}.error"), "Cause": query(f"$string({cause})")}
    machine.origins[name] = Origin("", "failed", machine.workflow.at)
    inner.fail = (name, variable)


def _shortened(variable: str) -> str:
    short = f'{{"error":${variable}.error,"message":$substring(${variable}.message,0,{_SHORT}),"step":${variable}.step}}'
    return f"(${variable}=null?null:{short})"


def hand_over(
    machine: Machine, block: Block, step: Step | None, error: Any, inner: Mapping[Slot, Any] | None = None
) -> dict[str, Any]:
    """The `Assign` of a state that takes the failure of `step` to where the block collects them.

    Afterwards everything that the block hands on is assigned. `inner` is what is known of steps inside of the step.
    """
    assert block.fail is not None
    assign = {block.fail[1]: error}
    for slot, name in _exports(machine, block):
        if inner is not None and slot in inner:
            assign[name] = inner[slot]
        elif step is not None and slot.name == step.id:
            assign[name] = {"status": "failed", "error": error}.get(slot.kind)
        elif slot.name in block.emitted:  # what would have come later
            assign[name] = unset(slot)
    return assign


def left_inside(machine: Machine, inner: Sequence[Block]) -> dict[Slot, Any]:
    """What can be told of the steps that the blocks hand on, when one of these blocks has failed."""
    return {slot: _left(machine, block, slot, name) for block in inner for slot, name in _exports(machine, block)}


def _left(machine: Machine, block: Block, slot: Slot, name: str) -> Any:
    if slot.kind not in ("status", "error"):
        return None
    carried = f"[$parse($_c).left.{name},null][0]" if block.fail is not None else "null"
    known: dict[str, list[str]] = {"skipped": [], "failed": [], "completed": []}
    certain = slot.name in {run.step.id for run in _always(block.plan, machine)}
    for state in _natives(machine, block):
        if machine.origins[state].step == slot.name:
            known["failed"].append(state)
        elif block.emitted.get(slot.name, block.places[state]) < block.places[state]:
            known["skipped"].append(state)
        elif certain:
            known["completed"].append(state)
    values = {status: f'"{status}"' for status in known}
    if slot.kind == "error":
        values = {"failed": f'{{"error":"ExpressionError","message":$_c,"step":{text_literal(slot.name)}}}'}
    tests = "".join(
        f"$_s in [{','.join(map(text_literal, known[status]))}]?{value}:"
        for status, value in values.items() if known[status]
    )
    native = f"($_s:={_STATE};{tests}null)" if tests else "null"
    return query(f"($_c:={_CAUSE};$substring($_c,0,{len(_MARK)})='{_MARK}'?{carried}:{native})")


def _exports(machine: Machine, block: Block) -> list[tuple[Slot, str]]:
    variables = machine.variables
    return [(slot, variables.names[slot, block.frame]) for slot in variables.exports.get(block.frame, ())]


def tells_statuses(machine: Machine, block: Block) -> bool:
    """Whether somebody outside of the block asks how its steps ended."""
    return any(slot.kind in ("status", "error") for slot, _ in _exports(machine, block))


def _always(plan: Plan | None, machine: Machine) -> Iterator[Run]:
    """The steps of a frame that complete whenever something after them runs."""
    for part in plan.parts if isinstance(plan, InOrder) else (plan,):
        if isinstance(part, Run) and part.step.when is None and not continues(part.step, machine.workflow):
            yield part
        elif isinstance(part, InOrder):
            yield from _always(part, machine)

