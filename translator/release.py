"""What is known at run time of one compiled version: see `aslant.releases.Release`."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aslant.releases import Release, ReleaseSettings, StateFacts, StepFacts
from translator.asl.inputs import looked_into
from translator.asl.machine import notification_step
from translator.asl.names import VariableNames
from translator.expressions.references import slots
from translator.expressions.serialize import dump
from translator.graph.scope import Scope
from translator.model.values import is_node, nodes_of, reads_of
from translator.model.workflow import Step
from translator.passes.fold import as_node, variable_step
from translator.passes.triggers import event_facts, trigger_facts, trigger_names, webhook_facts
from translator.pipeline import Compilation
from translator.rollback.build import has_ending, has_undoing

# What decides what a step does once it runs. When and how often it runs, and what a failure leads to, is not among it:
# a result that is there stays right when only those change.
_DECIDES = (
    "type", "config", "cases", "default", "mode", "items", "seconds", "until", "workflow", "input",
    "wait_for_completion", "wait_for_all", "batch_size", "on_item_error",
)  # fmt: skip
_NATIVE = frozenset({"Pass", "Map", "Parallel"})  # states that compute their step's output themselves
_READS = frozenset({"output", "status", "error"})


def release_of(
    compilation: Compilation, *, machine: str, rollback: str = "", retention: float | None = None, parts: Sequence[str] = (),
) -> Release:
    """The facts of a version whose state machine is `machine` (an ARN), and that of its `Compilation.rollback` `rollback`.

    `retention`: seconds that an ended execution is kept. `parts`: ARNs of the machines that run parts of it.
    """
    workflow = compilation.workflow
    steps = _steps(compilation)
    release = Release(
        workflow=workflow.id,
        version=workflow.version,
        hash=_hash(compilation.definition),
        machine=machine,
        steps=steps,
        states=_states(compilation, steps),
        settings=_settings(compilation, retention),
        inputs=None if workflow.inputs is None else {name: dict(spec) for name, spec in workflow.inputs.items()},
    )
    release["looked_into"] = inputs_looked_into(compilation)
    if workflow.triggers:
        release["named"] = trigger_names(workflow)
    if triggers := trigger_facts(workflow):
        release["triggers"] = triggers
    if webhooks := webhook_facts(workflow):
        release["webhooks"] = webhooks
    if events := event_facts(workflow):
        release["events"] = events
    if parts:
        release["parts"] = [*parts]
    if rollback and has_undoing(workflow):
        release["rollback"] = rollback
    if rollback and has_ending(workflow):
        release["ending"] = rollback
    return release


def inputs_looked_into(compilation: Compilation) -> list[str]:
    """The inputs that the state machines of a workflow look into, by JSON pointer."""
    whole = [compilation, *([compilation.rollback] if compilation.rollback is not None else [])]
    return looked_into(
        [machine for one in whole for machine in (one.definition, *one.parts.values())],
        ["rollback", *(name for one in whole for name in one.parts)],
    )


def _settings(compilation: Compilation, retention: float | None) -> ReleaseSettings:
    given = compilation.workflow.settings
    settings = ReleaseSettings()
    if given.checkpoint is not None:
        checkpoint: dict[str, Any] = {"policy": given.checkpoint.get("policy") or "every_node"}
        for key, name in (("every", "every"), ("interval", "seconds")):
            if given.checkpoint.get(key) is not None:
                checkpoint[name] = given.checkpoint[key]
        settings["checkpoint"] = checkpoint
    after = [step.id for step in compilation.workflow.all_steps() if step.checkpoint]
    if after:
        settings["checkpoint"] = {"policy": "none"} | settings.get("checkpoint", {}) | {"after": after}
    if given.sla is not None:
        settings["sla"] = given.sla
    if given.timeout is not None:
        settings["timeout"] = given.timeout
    if given.other.get("concurrency") is not None:
        settings["concurrency"] = int(given.other["concurrency"])
    if given.other.get("priority") in ("low", "normal", "high"):
        settings["priority"] = str(given.other["priority"])
    if retention is not None:
        settings["retention"] = retention
    return settings


def _states(compilation: Compilation, steps: Mapping[str, StepFacts]) -> dict[str, StateFacts]:
    """States by name. What belongs to no step of the definition (the choice behind an edge's condition) has none."""
    facts: dict[str, StateFacts] = {}
    for state, origin in compilation.source_map.items():
        facts[state] = {"step": origin.step if origin.step in steps else "", "role": origin.role}
    choices = {step.id: step for scope in compilation.graph.scopes() for step in scope.steps if step.type == "choice"}
    alone = {id for scope in compilation.graph.scopes() if (id := _only_last(scope))}
    keys = {step.id: step.output_key or step.id for scope in compilation.graph.scopes() for step in scope.steps}
    for name, body in _states_of(compilation.definition, *compilation.parts.values()):
        fact = facts.get(name)
        if fact is not None and body["Type"] == "Choice" and fact["role"] == "step" and fact["step"] in choices:
            outcomes = _outcomes(choices[fact["step"]], body)
            if outcomes:
                fact["outcomes"] = outcomes
        if fact is not None and fact["role"] == "step" and fact["step"] in steps and _computes(body):
            output = _output(fact["step"], body)
            given = body.get("Output")
            under = given.get("output") if isinstance(given, dict) else None
            if not output and body["Type"] == "Pass" and under is not None:
                key = keys.get(fact["step"], "")
                if fact["step"] in alone:
                    output = "output"  # what its branch or iteration gives is what the step does
                elif isinstance(under, dict) and key in under:
                    output, fact["under"] = key, "output"  # it ends its branch with others, and all give something
            if output:
                fact["output"] = output
    return facts


def _only_last(scope: Scope) -> str:
    """The step that a scope ends with; empty when there are several."""
    last = [step.id for step, following in zip(scope.steps, scope.succs, strict=True) if not following]
    return last[0] if len(last) == 1 else ""


def _computes(state: Mapping[str, Any]) -> bool:
    """Whether only the history tells what a state's step gives: no function records it."""
    if state["Type"] != "Task":
        return state["Type"] in _NATIVE
    payload = state["Arguments"].get("Payload")
    return payload is None or "token" in payload or "part" not in payload and [*payload["config"]] == ["evaluate"]


def _output(step: str, state: Mapping[str, Any]) -> str:
    """The variable, or the key of its output, in which a state leaves what its step gives; empty when nobody reads it.

    Names of such variables are made of the step's id (`VariableNames`), with a number where it is needed more than once.
    """
    name = re.compile(re.escape(VariableNames().new(step)) + r"(_\d+)?")
    for taken in (state.get("Assign"), state.get("Output")):
        found = [
            key for key, value in (taken.items() if isinstance(taken, dict) else ())
            if value is not None and name.fullmatch(key)
        ]  # fmt: skip
        if len(found) == 1:
            return str(found[0])
    return ""


def _outcomes(choice: Step, state: Mapping[str, Any]) -> dict[str, str]:
    """The outcome of a choice by the state that it leads to; a state that several outcomes lead to is not there."""
    if choice.mode != "first" or len(state["Choices"]) != len(choice.cases):
        return {}
    pairs = [(rule["Next"], case.name) for rule, case in zip(state["Choices"], choice.cases, strict=True)]
    pairs.append((state["Default"], choice.default))
    found: dict[str, set[str]] = {}
    for target, outcome in pairs:
        found.setdefault(target, set()).add(outcome)
    return {target: next(iter(outcomes)) for target, outcomes in found.items() if len(outcomes) == 1}


def _states_of(*definitions: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    stack = [*definitions]
    while stack:
        for name, state in stack.pop()["States"].items():
            yield name, state
            stack += [*state.get("Branches", ()), *([state["ItemProcessor"]] if "ItemProcessor" in state else ())]


def _steps(compilation: Compilation) -> dict[str, StepFacts]:
    workflow, graph = compilation.workflow, compilation.graph
    facts: dict[str, StepFacts] = {}
    for name, value in workflow.variables.items():
        step = Step(id=variable_step(workflow, name), type="transform", config={"value": as_node(value)})
        facts[step.id] = _facts(step, {slot.name for node in nodes_of(value) for slot in slots(node) if slot.kind in _READS})
    _scope(graph.body, facts, graph.ids, before=set(), around=[])
    body = {step.id for step in graph.body.steps if step.id in graph.ids}  # what runs at the end waits for all of it
    before_end = set(facts)
    if graph.finally_ is not None:
        _scope(graph.finally_, facts, graph.ids, before=body, around=[])
    for number, note in enumerate(workflow.notifications):
        step = notification_step(note, number)
        facts[step.id] = _facts(step, _reads(step) | body)
    for name in facts.keys() - before_end:
        facts[name]["last"] = True
    if workflow.outputs is not None and f"{workflow.id} output" in {origin.step for origin in compilation.source_map.values()}:
        step = Step(id=f"{workflow.id} output", type="transform", config={"value": as_node(dict(workflow.outputs))})
        facts[step.id] = _facts(step, _reads(step))
    for name, fact in facts.items():
        if name not in graph.where:
            fact["hidden"] = True
        fact["after"] = [name for name in fact["after"] if name in facts]
    return facts


def _scope(
    scope: Scope, facts: dict[str, StepFacts], own: frozenset[str], *, before: set[str], around: list[Step]
) -> None:
    """Notes the steps of a scope. `before`: what the steps around them wait for; `around`: those steps."""
    guards = {step.id: step for step in scope.steps if step.id not in own}
    for index, step in enumerate(scope.steps):
        if step.id in guards:
            continue
        after = before | _reads(step)
        for edge in step.depends_on:
            guard = guards.get(edge.step)
            if guard is None:
                after.add(edge.step)
                continue
            after |= {source.step for source in guard.depends_on}
            after |= {
                slot.name for case in guard.cases if case.name in edge.on
                for slot in slots(case.when) if slot.kind in _READS
            }  # fmt: skip
        inner = scope.inner.get(index, [])
        children = [child.id for part in inner for child in part.steps if child.id in own]
        entry = _facts(step, after | set(children), around)
        if children:
            entry["children"] = children
        facts[step.id] = entry
        for part in inner:
            _scope(part, facts, own, before=after, around=[*around, step])


def _reads(step: Step) -> set[str]:
    return {slot.name for slot in reads_of(step) if slot.kind in _READS}


def _facts(step: Step, after: set[str], around: list[Step] | None = None) -> StepFacts:
    loops = [outer for outer in around or () if outer.type == "foreach"]
    decides = {name: _plain(getattr(step, name)) for name in _DECIDES}
    # What an iteration's indexes mean, is a matter of the loops around, their order, their items and the size of batches.
    decides["loops"] = [[loop.id, _plain(loop.items), loop.batch_size] for loop in loops]
    entry = StepFacts(type=step.type, hash=_hash(decides), after=sorted(after - {step.id}))
    if loops:
        entry["loops"] = [loop.id for loop in loops]
    if step.compensation is not None:
        entry["undo"] = True
    choice = step.config.get("on_reject")
    if step.type == "approval" and getattr(choice, "value", choice) == "continue":
        entry["accepts"] = ["ApprovalRejected"]
    if step.type == "workflow":
        entry["workflow"] = step.workflow
    return entry


def _plain(value: Any) -> Any:
    """A value of the model as JSON without positions; expressions as arrays."""
    if is_node(value):
        return dump(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "when"):  # a case of a choice
        return [value.name, dump(value.when)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _hash(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()
