"""Approval steps: a task that waits for a person's answer, and what happens when nobody answers."""

from __future__ import annotations

import json
import math
from typing import Any

from translator.asl import tasks
from translator.asl.block import Block, Machine, State
from translator.asl.failures import hand_over
from translator.asl.plan import Run
from translator.asl.replay import remaining
from translator.asl.values import Deferred, Writer, literal, query
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Literal, Slot
from translator.model.workflow import Step, Value

DEFAULT_LIMIT = 3600  # seconds to wait for an answer
ESCALATED = "!escalated"  # after the step's id, in `execution.entered`: the second question has a deadline of its own

# A refused approval's cause is its decision as JSON.
DECISION = query(
    '($cause:=$exists($states.errorOutput.Cause)?$states.errorOutput.Cause:"";'
    "$states.errorOutput.Error=\"ApprovalRejected\" and $contains($cause,'\"approved\"')?$parse($cause):null)"
)


def approval_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """The gate. `auto_approve: true` needs none; an expression there decides when the step starts."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    automatic = _plain(step, "auto_approve", False)
    if automatic is True:
        return _answered(machine, block, run, following, {"approved": True, "by": "auto"}, "step"), writer.deferred
    gate = _gate(machine, block, run, following, writer, escalated=False)
    node = step.config.get("auto_approve")
    if node is None or isinstance(node, bool | Literal):
        return gate, writer.deferred
    from translator.asl.native import as_condition

    passed = _answered(machine, block, run, following, {"approved": True, "by": "auto"}, "step", "approved")
    state: State = {
        "Type": "Choice",
        "Choices": [{"Condition": query(writer.source(as_condition(node))), "Next": passed}],
        "Default": gate,
    }
    return machine.add(block, step, "condition", state, "auto"), writer.deferred


def _question(step: Step) -> str:
    """What people are asked when the definition does not say."""
    return f"Approve {step.label}?" if _plain(step, "approval_type", "approve_reject") == "approve_reject" \
        else f"{step.label}: an answer is needed."


def _gate(
    machine: Machine, block: Block, run: Run, following: str | None, writer: Writer, *, escalated: bool
) -> str:
    step = run.step
    asked: dict[str, Value] = {"message": Literal(_question(step), at=step.at), **step.config}
    config, secrets = writer.config({k: v for k, v in asked.items() if k != "auto_approve"})
    if escalated:
        config["approvers"] = config.get("escalate_to") or []
    state = tasks.invoke(machine, writer, run, config, secrets, "approval", token=True)
    payload = state["Arguments"]["Payload"]
    if escalated:  # a further attempt, so that it is a request of its own
        retry = tasks.retries_of(machine, step)[0]
        payload["attempt"] = machine.attempt(step, f"$states.context.State.RetryCount+{retry.max_attempts if retry else 1}")
    limit = math.ceil(step.timeout or _plain(step, "timeout", None) or DEFAULT_LIMIT)
    # The request expires when the machine stops waiting, whichever of the two limits was written.
    payload["timeout"] = max(1, limit)
    payload["entered"] = "{% $states.context.State.EnteredTime %}"
    places = machine.places(writer, run.frame)
    name = step.id + (ESCALATED if escalated else "")
    state["TimeoutSeconds"] = config["timeout"] = remaining(name, places, str(max(1, limit)), 1)
    entry = machine.entry(block, step)
    catch: list[dict[str, Any]] = []
    if _plain(step, "on_reject", "fail") == "continue":
        catch.append({
            "ErrorEquals": ["ApprovalRejected"],
            "Assign": entry | machine.assign_results(step, block, {"output": DECISION}),
            "Next": machine.target(block, following),
        })
    expired = {"ErrorEquals": ["States.Timeout"], "Next": _expired(machine, block, run, following, writer, escalated)}
    if machine.is_direct(block, step):  # the next state reads the item from its input as well
        expired["Output"] = "{% $states.input %}"
    catch.append(expired)
    catch += tasks.catchers(machine, block, run, following, DECISION)
    result = "$states.result"
    assign = machine.assign_results(step, block, {"output": query(result)})
    state["Catch"] = catch
    if assign:
        state["Assign"] = assign
    own = {Slot("output", step.id): result, Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, own | machine.own_input(block, step))
    return machine.add(block, step, "escalated" if escalated else "step", state, "escalated" if escalated else "")


def _expired(
    machine: Machine, block: Block, run: Run, following: str | None, writer: Writer, escalated: bool
) -> str:
    """The state to go to when nobody answered in time. What the function evaluated for the first question holds on."""
    step = run.step
    policy = _plain(step, "on_timeout", "reject")
    if policy == "approve":
        return _answered(machine, block, run, following, {"approved": True, "by": "timeout"}, "expired", "expired")
    if policy == "escalate" and not escalated:
        return _gate(machine, block, run, following, writer, escalated=True)
    if policy == "cancel":
        if block.fail is not None:
            error = {"error": "Cancelled", "message": "nobody answered the approval in time", "step": literal(step.id)}
            handing: State = {"Type": "Pass", "Assign": hand_over(machine, block, step, error), "Next": block.fail[0]}
            return machine.add(block, step, "failed", handing, "expired")
        state: State = {"Type": "Fail", "Error": "Cancelled", "Cause": "nobody answered the approval in time"}
        return machine.add(block, step, "failed", state, "expired")
    if _plain(step, "on_reject", "fail") == "continue":
        return _answered(machine, block, run, following, {"approved": False, "by": "timeout"}, "expired", "expired")
    return _refused(machine, block, run, following)


def _refused(machine: Machine, block: Block, run: Run, following: str | None) -> str:
    """A failure named ApprovalExpired, which the step's own handling may take."""
    from translator.passes.policies import reactions

    step = run.step
    names = {"ApprovalExpired", "States.ALL"}
    for reaction in reactions(step, machine.workflow):
        if not names & set(reaction.errors):
            continue
        if reaction.action == "escalate":
            from translator.asl.escalations import ask

            error = {"error": "ApprovalExpired", "message": "nobody answered in time", "step": literal(step.id)}
            question = ask(machine, block, run, reaction, error, "nobody answered the approval in time", following)
            return machine.add(block, step, "lapsed", {"Type": "Pass", **question}, "expired")
        if reaction.action != "continue":
            break
        assign = machine.entry(block, step)
        kept: dict[str, Any] = {
            "status": "failed",
            "error": {"error": "ApprovalExpired", "message": "nobody answered in time", "step": literal(step.id)},
            "output": {"approved": False, "by": "timeout"},
        }
        for slot, name in machine.variables.own(step.id, block.frame):
            assign[name] = kept.get(slot.kind)
        passing: State = {"Type": "Pass"} | ({"Assign": assign} if assign else {})
        own = {Slot(kind, step.id): _source(value) for kind, value in kept.items()}
        own[Slot("error", step.id)] = (
            f'{{"error":"ApprovalExpired","message":"nobody answered in time","step":{text_literal(step.id)}}}'
        )
        machine.go(block, passing, following, own | machine.own_input(block, step))
        return machine.add(block, step, "lapsed", passing, "expired")
    if block.fail is not None:
        error = {"error": "ApprovalExpired", "message": "nobody answered in time", "step": literal(step.id)}
        failed: State = {
            "Type": "Pass", "Assign": hand_over(machine, block, step, error), "Next": block.fail[0],
        }
        return machine.add(block, step, "failed", failed, "expired")
    state: State = {"Type": "Fail", "Error": "ApprovalExpired", "Cause": "nobody answered the approval in time"}
    return machine.add(block, step, "failed", state, "expired")


def _answered(
    machine: Machine, block: Block, run: Run, following: str | None, answer: dict[str, Any], role: str, suffix: str = ""
) -> str:
    step = run.step
    assign = machine.assign_results(step, block, {"output": answer})
    state: State = {"Type": "Pass"} | ({"Assign": assign} if assign else {})
    own = {Slot("output", step.id): _source(answer), Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, own | machine.own_input(block, step))
    return machine.add(block, step, role, state, suffix)


def _source(value: Any) -> str:
    return json.dumps(value)


def _plain(step: Step, key: str, default: Any) -> Any:
    value = step.config.get(key, default)
    return value.value if isinstance(value, Literal) else value
