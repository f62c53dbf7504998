"""Escalation: after a failure people are asked whether the step is tried again, passed over, or given up."""

from __future__ import annotations

import math
from typing import Any

from aslant.error_names import ALL
from translator.asl import tasks
from translator.asl.block import Block, Machine, State
from translator.asl.failures import hand_over
from translator.asl.plan import Run
from translator.asl.replay import remaining
from translator.asl.values import literal, query
from translator.expressions.jsonata import text_literal
from translator.model.workflow import OnFailure, Retry, Step
from translator.passes.policies import Reaction, reactions

DEFAULT_LIMIT = 86_400  # seconds to wait for an answer
OPTIONS = ("retry", "skip", "abort")


def escalates(machine: Machine, step: Step) -> bool:
    return any(reaction.action == "escalate" for reaction in reactions(step, machine.workflow))


def escalated_id(step: str) -> str:
    """The id under which the question about a failed step is stored."""
    return f"{step} escalated"


def rounds(machine: Machine, step: Step) -> str:
    """The variable that counts the questions about a step; it is 0 when the step is first entered."""
    if step.id not in machine.rounds:
        machine.rounds[step.id] = machine.variables.new_name.new(f"{step.id}_rounds")
    return machine.rounds[step.id]


def begin(machine: Machine, block: Block, run: Run, main: str) -> str:
    """Lets the questions about a step whose first state is `main` lead back to it; gives the state to begin with."""
    step = run.step
    for name in machine.questions.pop(step.id, ()):
        block.states[name]["Choices"][0]["Next"] = main
    state: State = {"Type": "Pass", "Assign": {rounds(machine, step): 0}, "Next": main}
    name = machine.add(block, step, "rounds", state, "rounds")
    machine.routed.add(name)  # the state before sets the count, if there is one
    return name


def ask(
    machine: Machine, block: Block, run: Run, reaction: Reaction, error: dict[str, Any], cause: Any, following: str | None
) -> dict[str, Any]:
    """`Next` and `Assign` of a state that takes a failure: they lead to the question.

    `error` is what `errors.<step>` is to hold, as fields; `cause` is the machine's own.
    """
    step = run.step
    failure = machine.variables.new_name.new(f"{step.id}_failure")
    answer = machine.variables.new_name.new(f"{step.id}_answer")
    count = rounds(machine, step)
    known = {key: query(f"${failure}.{key}") for key in error}
    choice = _after(machine, block, run, reaction, known, failure, answer, following)
    machine.questions.setdefault(step.id, []).append(choice)

    writer = machine.writer(block, step)
    light = Run(
        Step(escalated_id(step.id), "approval", step.at, retry=Retry(max_attempts=1), on_failure=OnFailure("fail")), run.frame
    )
    message = f'{text_literal(step.label)}&" failed: "&${failure}.error&": "&$substring(${failure}.message,0,500)'
    limit = max(1, math.ceil(reaction.timeout or DEFAULT_LIMIT))
    places = machine.places(writer, run.frame)
    config: dict[str, Any] = {
        "message": query(message), "approval_type": "multiple_choice", "options": [*OPTIONS],
        "data": {**known, "round": query(f"${count}")},
    }
    if reaction.approvers:
        config["approvers"] = [literal(approver) for approver in reaction.approvers]
    state = tasks.invoke(machine, writer, light, config, {}, "approval", token=True)
    payload = state["Arguments"]["Payload"]
    payload["attempt"] = query(f"${count}-1")
    payload["timeout"] = limit
    payload["entered"] = "{% $states.context.State.EnteredTime %}"
    name = escalated_id(step.id)
    state["TimeoutSeconds"] = config["timeout"] = remaining(name, places, str(limit), 1, round=f"${count}")
    state["Assign"] = {answer: query("$states.result.answer")}
    # Nobody answered, or somebody said no: as with giving up.
    state["Catch"] = [
        {"ErrorEquals": [kind], "Assign": {answer: "abort"}, "Next": choice} for kind in (tasks.DATA_LIMIT, ALL)
    ]
    state["Next"] = choice
    question = machine.add(block, step, "escalation", state, "ask")
    return {
        "Next": question,
        "Assign": {failure: error | {"cause": cause}, count: query(f"${count}+1")},
    }


def _after(
    machine: Machine, block: Block, run: Run, reaction: Reaction, error: dict[str, Any], failure: str, answer: str,
    following: str | None,
) -> str:
    """The choice by the answer; its first way, that of another try, is set by `begin`."""
    step = run.step
    skipped = _passed_over(machine, block, run, error, following)
    if reaction.then == "continue":
        given_up = skipped
    elif block.fail is not None:
        given_up = {"Next": block.fail[0], "Assign": hand_over(machine, block, step, error)}
    else:
        state: State = {"Type": "Fail", "Error": error["error"], "Cause": query(f"${failure}.cause")}
        given_up = {"Next": machine.add(block, step, "failed", state, "failed")}
    choice: State = {
        "Type": "Choice",
        "Choices": [
            {"Condition": query(f'${answer}="retry"'), "Next": ""}, {"Condition": query(f'${answer}="skip"'), **skipped},
        ],
        "Default": given_up["Next"],
    }
    if "Assign" in given_up:
        choice["Assign"] = given_up["Assign"]
    return machine.add(block, step, "escalation", choice, "answer")


def _passed_over(machine: Machine, block: Block, run: Run, error: dict[str, Any], following: str | None) -> dict[str, Any]:
    assign: dict[str, Any] = {}
    for body in run.bodies:
        assign |= machine.variables.skipped(body.plan, block.frame)
    for slot, name in machine.variables.own(run.step.id, block.frame):
        assign[name] = {"status": "failed", "error": error}.get(slot.kind)
    return {"Next": machine.target(block, following)} | ({"Assign": assign} if assign else {})
