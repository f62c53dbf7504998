"""Loops as Distributed Maps: each item is an execution of its own, read from S3, its result written there.

    <loop> items ─▶ <loop> spread (the Map) ─▶ <loop> (what the items gave, in their order, or how the first of them failed)
                    item: … the body … ─▶ (when it fails) <loop> note ─▶ <loop> noted

A function evaluates the list and puts it into the bucket, since it may be larger than a state takes; another call reads the
results. An item's failure is noted before it ends the Map, because the Map itself only says that one has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from translator.asl import tasks
from translator.asl.block import APART, Block, Machine, Origin, State
from translator.asl.distribution import Distribution, length_of
from translator.asl.failures import ERROR_OF_CHILD, MESSAGE
from translator.asl.plan import Run
from translator.asl.retries import retry_rules
from translator.asl.values import query
from translator.expressions.tree import Slot
from translator.findings import asl as rules
from translator.model.workflow import OnFailure, Retry, Step
from translator.passes.fold import as_node

_INPUT = "$states.context.Execution.([Input.execution,{\"id\":Id}][0])"
# Without what earlier runs have waited for, which may be long, where nothing waits.
_BRIEF = f'$sift({_INPUT},function($v,$k){{$k!="entered"}})'
_WAITING = frozenset({"wait", "approval", "workflow"})
_FAILED = ["States.ExceedToleratedFailureThreshold"]


def note_failure(machine: Machine, inner: Block, run: Run) -> None:
    """Let failures of the body end its execution after they were noted."""
    step = run.step
    variable = machine.variables.new_name.new(f"{step.id}_failure")
    failed, note = machine.states.new(step.id, "noted"), machine.states.new(step.id, "note")
    error = {key: query(f"${variable}.{key}") for key in ("error", "message")}
    inner.states[failed] = {"Type": "Fail", "Error": error["error"], "Cause": error["message"]}
    light = Run(_light(step), inner.frame)
    writer = machine.writer(inner, step, {Slot("index", step.id): f"{APART}.index"})
    state = tasks.invoke(machine, writer, light, {"action": "note", "error": error}, {}, "loop")
    inner.states[note] = state | {"Next": failed, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": failed}]}
    for name in (failed, note):
        machine.origins[name] = Origin("", "failed", step.at)
    inner.fail = (note, variable)


def spread(
    machine: Machine, block: Block, run: Run, following: str | None, processor: State, *, wanted: bool
) -> str:
    """The three states of a loop whose body is made. `wanted`: somebody reads what the items give."""
    step, how = run.step, machine.distributed[run.step.id]
    machine.findings.add(rules.DISTRIBUTED, f"{step.id!r} runs as a Distributed Map: {how.why}", step.at)
    ran, listed = (machine.variables.new_name.new(f"{step.id}_{name}") for name in ("run", "items"))
    collect = _collect(machine, block, run, following, ran, wanted)
    where = f'$substringAfter($lookup(${listed},"$ref"),"s3://")'
    bucket, key = query(f'$substringBefore({where},"/")'), f'$substringAfter({where},"/")'
    state: State = {
        "Type": "Map",
        "ItemReader": {
            "Resource": "arn:aws:states:::s3:getObject", "ReaderConfig": {"InputType": "JSON"},
            "Arguments": {"Bucket": bucket, "Key": query(key)},
        },
        "ItemSelector": _selector(machine, run),
        "MaxConcurrency": how.concurrency,
        "ItemProcessor": {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": how.kind}, **processor},
        "ResultWriter": {
            "Resource": "arn:aws:states:::s3:putObject",
            "Arguments": {"Bucket": bucket, "Prefix": query(f'{key}&"-results"')},
            "WriterConfig": {"OutputType": "JSON", "Transformation": "COMPACT"},
        },
        "Assign": {ran: {"key": query("$states.result.ResultWriterDetails.Key"), "error": None}},
        "Catch": [
            {"ErrorEquals": [kind], "Assign": {ran: {"key": None, "error": {"error": ERROR_OF_CHILD, "message": MESSAGE}}},
             "Next": collect}
            for kind in (tasks.DATA_LIMIT, "States.ALL")
        ],
        "Next": collect,
    }  # fmt: skip
    base, extra = tasks.retries_of(machine, step)
    every = [replace(retry, on=tuple(_FAILED)) for retry in ([base] if base else []) + extra if retry.max_attempts > 1]
    if every:
        state["Retry"] = retry_rules(every[0], [], machine.findings, service=False)[0]
    name = machine.add(block, step, "evaluate", state, "spread")
    known = length_of(step, machine.workflow)
    if known is not None:
        machine.lengths[name] = known
    return _items(machine, block, run, name, following, listed, how)


def _light(step: Step) -> Step:
    """The step as what a function does for it: tried once, and nothing but its errors."""
    return Step(step.id, "transform", step.at, retry=Retry(max_attempts=1), on_failure=OnFailure("fail"))


def _items(
    machine: Machine, block: Block, run: Run, following: str, after: str | None, listed: str, how: Distribution
) -> str:
    """The state in which a function evaluates the list of items and stores it."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config = tasks.evaluation(writer, [as_node(step.items)])
    config["evaluate"]["lists"] = {"e0": step.batch_size}
    state = tasks.invoke(machine, writer, Run(_light(step), run.frame), config, {}, "transform")
    state["Arguments"]["Payload"] |= {"part": "items", "claims": {"open": [""], "over": 0}}
    state["Output"] = "{% $states.input %}"
    state["Assign"] = {listed: query("$states.result.Payload.output.e0")}
    catch = tasks.catchers(machine, block, run, after)
    if catch:
        state["Catch"] = catch
    state["Next"] = following
    return machine.add(block, step, "evaluate", state, "items")


def _selector(machine: Machine, run: Run) -> dict[str, Any]:
    """The input of an item's execution: that of a machine, with the item and what its states read of those around."""
    waits = any(step.type in _WAITING for step in _all_steps(run.step))
    return {
        "item": query("$states.context.Map.Item.Value"), "index": query("$states.context.Map.Item.Index"),
        "execution": query(_INPUT if waits else _BRIEF), **machine.given(run.bodies[0].frame),
    }


def _all_steps(step: Step) -> list[Step]:
    found = [inner for steps in step.inner() for inner in steps]
    return found + [deeper for inner in found for deeper in _all_steps(inner)]


def _collect(
    machine: Machine, block: Block, run: Run, following: str | None, ran: str, wanted: bool
) -> str:
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    config: Mapping[str, Any] = {
        "action": "collect", "results": query(f"${ran}.key"), "error": query(f"${ran}.error"), "wanted": wanted,
    }
    state = tasks.invoke(machine, writer, Run(_light(step), run.frame), config, {}, "loop")
    claims = machine.claims.get(step.id)
    if claims:
        state["Arguments"]["Payload"]["claims"] = claims
    return tasks.finish(machine, block, run, state, "$states.result.Payload.output", following)
