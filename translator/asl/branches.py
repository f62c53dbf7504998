"""What states with branches have in common: their blocks, how they run side by side, where their results and failures are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from translator.asl import native
from translator.asl.block import Block, Machine, Origin, State
from translator.asl.failures import hand_over
from translator.asl.plan import Body, Frame, Run
from translator.asl.values import Bind, query
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Slot
from translator.model.workflow import Step


def received_from(machine: Machine, blocks: Sequence[Block]) -> dict[Slot, str]:
    """The sources of what the outputs of `blocks` hand on, for the state that runs them."""
    return {
        slot: f"$states.result[{number}]" + ("" if inner.bare else f".{machine.variables.names[slot, inner.frame]}")
        for number, inner in enumerate(blocks)
        for slot in machine.variables.exports.get(inner.frame, ())
    }


def side_by_side(machine: Machine, block: Block, maps: list[State], limit: int | None) -> State:
    """A state that runs the maps at once: a Parallel, or a Map over their numbers when only so many may run."""
    if limit is None or limit >= len(maps):
        return {"Type": "Parallel", "Branches": maps}
    states: dict[str, State] = {}
    rules = []
    for number, one in enumerate(maps):
        states |= one["States"]
        rules.append({"Condition": query(f"$states.input={number}"), "Next": one["StartAt"]})
    pick = machine.states.new(block.label or machine.workflow.id, "pick")
    last = rules.pop()
    state: State = {"Type": "Choice", "Choices": rules, "Default": last["Next"]}
    machine.origins[pick] = Origin("", "condition", machine.workflow.at)
    return {
        "Type": "Map",
        "Items": [*range(len(maps))],
        "MaxConcurrency": min(limit, native.INLINE_CONCURRENCY),
        "ItemProcessor": {
            "ProcessorConfig": {"Mode": "INLINE"}, "StartAt": pick, "States": {pick: state, **states},
        },
    }


def is_read(machine: Machine, run: Run) -> bool:
    return (Slot("output", run.step.id), run.frame) in machine.variables.names


def was_taken(choice: Step, names: frozenset[str], source: str) -> str:
    """The condition that one of the outcomes was taken, read from the choice's variable."""
    if choice.mode == "all":
        parts = [f"{source}.c{number}=true" for number, case in enumerate(choice.cases) if case.name in names]
        if choice.default in names:  # none of the others, and it ran
            none = " or ".join(f"{source}.c{number}=true" for number in range(len(choice.cases)))
            parts.append(f'($type({source})="object" and $not({none}))')
    else:
        parts = [f"{source}={text_literal(name)}" for name in sorted(names)]
    return " or ".join(parts)


def body_block(machine: Machine, body: Body, label: str, extra: Any = None, *, bare: bool = False) -> Block:
    """The block of a body: its output holds what the frame hands on; `extra` adds to it.

    With `bare`, a single value is the output itself.
    """
    frame = body.frame
    exports = machine.variables.exports.get(frame, [])
    bare = bare and len(exports) == 1

    def finish(bind: Bind) -> Any:
        if bare:
            return query(bind(exports[0]))
        output = {machine.variables.names[slot, frame]: query(bind(slot)) for slot in exports}
        return output | extra(bind) if extra is not None else output

    return Block(frame, finish, label=label, bare=bare, plan=body.plan)


def leaving(machine: Machine, frame: Frame) -> Any:
    """The output of a frame whose failures are collected: what it hands on, and the error."""

    def failed(variable: str) -> dict[str, Any]:
        kept = [machine.variables.names[slot, frame] for slot in machine.variables.exports.get(frame, ())]
        return {name: query(f"${name}") for name in kept} | {"failed": query(f"${variable}")}

    return failed


def unless_failed(machine: Machine, block: Block, label: str, errors: str, following: str | None) -> str:
    """The choice after a part whose failure is in its output: the block's own collection of errors, or what follows."""
    assert block.fail is not None
    state: State = {
        "Type": "Choice",
        "Choices": [{
            "Condition": query(f"$count(${errors})>0"), "Next": block.fail[0],
            "Assign": hand_over(machine, block, None, query(f"${errors}[0]")),
        }],
        "Default": machine.target(block, following),
    }  # fmt: skip
    name = machine.states.new(label, "joined")
    block.states[name] = state
    machine.origins[name] = Origin("", "join", machine.workflow.at)
    return name
