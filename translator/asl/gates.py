"""Gates: states in which a branch tells others how far it has come, and waits until they have come far enough."""

from __future__ import annotations

from typing import Any

from translator.asl import tasks
from translator.asl.block import Block, Machine, Origin, State
from translator.asl.ordering import Turn
from translator.asl.plan import Gate, Run
from translator.asl.values import literal, query
from translator.expressions.tree import Slot
from translator.model.workflow import OnFailure, Retry, Step

# What the function reports when DynamoDB or Step Functions did not answer; a signal or wait that comes twice counts once.
_TRIED = Retry(max_attempts=6, delay=1, on=("NetworkError", "RateLimited", "ServerError", "StepTimeout"))


def gate_state(machine: Machine, block: Block, gate: Gate, following: str | None) -> str:
    """One state for everything at this place. Its name tells what it waits for, or else who signals."""
    names = machine.variables.names
    bind = machine.bind(block.frame)
    token_frames = machine.variables.waited_in
    config: dict[str, Any] = {"machine": query(bind(Slot("meta", "arn")))}
    if gate.gives is not None:
        config["gives"] = {**_turn(gate.gives), "gate": literal(gate.gives.gate)}
    if gate.signals:
        config["signals"] = [
            {
                "gate": literal(token.gate), "by": literal(token.by), "need": token.need,
                **({"turn": _turn(token.turn)} if token.turn is not None else {}),
                "values": {
                    names[slot, token_frames[token]]: query(bind(slot))
                    for slot in machine.variables.sent.get(token, ())
                },
            }
            for token in gate.signals
        ]  # fmt: skip
    received: dict[Slot, str] = {}
    if gate.waits:
        first = gate.waits[0]
        config["wait"] = {
            "gate": literal(first.gate), "need": first.need, **({"turn": _turn(first.turn)} if first.turn is not None else {}),
        }
        for token in gate.waits:
            for slot in machine.variables.sent.get(token, ()):
                received[slot] = f"$states.result.{names[slot, block.frame]}"
    elif gate.takes is not None:
        config["wait"] = {"gate": literal(gate.takes.gate), "need": 1, "turn": _turn(gate.takes)}
    name = _name(gate)
    step = Step(name, "transform", machine.workflow.at, retry=_TRIED, on_failure=OnFailure("fail"))
    run = Run(step, block.frame)
    state: State = tasks.invoke(machine, machine.writer(block, step), run, config, {}, "gate", token="wait" in config)
    state["Arguments"]["Payload"].pop("attempt", None)
    if "wait" in config:
        state["TimeoutSeconds"] = tasks.CHILD_LIMIT
    assign = {names[slot, block.frame]: query(source) for slot, source in received.items()}
    if assign:
        state["Assign"] = assign
    for slot in received:
        block.emitted.setdefault(slot.name, len(block.emitted))  # a failure before this state leaves it unset
    if block.fail is not None:
        state["Catch"] = tasks.handed_over(machine, block, run)
    machine.go(block, state, following, received)
    full = machine.states.new(name)
    block.states[full] = state
    machine.origins[full] = Origin("", "gate", machine.workflow.at)
    return full


def _turn(turn: Turn) -> dict[str, Any]:
    return {"pool": literal(turn.pool), "limit": turn.limit, "priority": turn.priority}


def _name(gate: Gate) -> str:
    if gate.waits:
        return f"{gate.waits[0].gate[1:]} waits"
    if gate.takes is not None:
        return f"{gate.takes.gate[1:]} waits"
    if gate.signals:
        return f"{gate.signals[0].by[1:]} signals"
    return f"{gate.gives.gate[1:]} ends its turn" if gate.gives is not None else "gate"
