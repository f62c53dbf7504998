"""The whole state machine: the body, what happens when it fails, `finally`, and the output."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from aslant.error_names import ALL
from translator.asl.block import Block, Machine, Origin, State, close
from translator.asl.branches import body_block
from translator.asl.claims import claim_rules
from translator.asl.distribution import Distribution, distribute
from translator.asl.emit import emit
from translator.asl.estimate import byte_size
from translator.asl.failures import CAUSE, error_from, left_inside, name_failed_steps, tells_statuses
from translator.asl.fuse import fuse
from translator.asl.limits import HANDLED, MAX_BYTES, MAX_EVENTS
from translator.asl.native import is_computed
from translator.asl.ordering import Arrangement, Ordering
from translator.asl.parts import AIM, Cut
from translator.asl.plan import Body, Frame, Plan, Planner, Run, Sequence, last_steps, may_fail_natively, runs
from translator.asl.recall import recall
from translator.asl.tasks import CHILD_LIMIT, DATA_LIMIT
from translator.asl.values import CONTEXT, Bind, Nowhere, Writer, query
from translator.asl.variables import Variables, collect_reads, collect_results, find_direct
from translator.diagnostics import Findings
from translator.expressions.failing import may_fail
from translator.expressions.jsonata import LONGEST_NAME, NotNative
from translator.expressions.references import slots
from translator.expressions.tree import Attribute, Binary, Compare, Slot, walk
from translator.graph.scope import Graph
from translator.graph.strategies.layout import Layout
from translator.model.inputs import required_inputs, type_of_inputs
from translator.model.values import expressions_of, nodes_of
from translator.model.workflow import UNDO_LOOP, Notification, OnFailure, Step, Value, Workflow
from translator.passes.fold import as_node, variable_step
from translator.passes.policies import continues, reactions
from translator.source import position_of

COMMENT_LIMIT = 200
_STARTING = ("StepFunctions.ExecutionLimitExceededException", "StepFunctions.SdkClientException")
FAILURE = Slot("failure", "")
_TRIES = 4  # that a machine is cut smaller, since what its states have is only estimated before


@dataclass(frozen=True, slots=True)
class Emitted:
    definition: dict[str, Any]
    origins: Mapping[str, Origin]
    functions: Mapping[str, str]
    workflows: Mapping[str, str]
    rollbacks: Mapping[str, str]
    lengths: Mapping[str, int]  # how many items the loops in these states have, where that is known
    parts: Mapping[str, Mapping[str, Any]]  # placeholder -> a state machine that runs a part of the body
    arrangements: tuple[Arrangement, ...] = ()  # of the scopes that are not series-parallel
    layouts: Mapping[str, Layout] = field(default_factory=dict)  # by the scope's key
    sizes: tuple[int, ...] = ()  # bytes of each of `machines`

    @property
    def machines(self) -> tuple[Mapping[str, Any], ...]:
        """All definitions, the main one first."""
        return (self.definition, *self.parts.values())


def emit_machine(
    workflow: Workflow, graph: Graph, children: Mapping[str, Workflow], findings: Findings, *,
    recorded: frozenset[str] = frozenset(), items: frozenset[str] = frozenset(),
    undone_children: frozenset[str] = frozenset(), rolls_back: bool = False, called: bool = False,
    limit: int = MAX_BYTES, fused: bool = True,
) -> Emitted:
    """The state machine of a checked workflow. Lambda and child machine names are placeholders (`${http}`).

    `recorded` and `items`: see `Machine`; `undone_children` are steps whose child is recorded too. With `rolls_back` a failure
    starts the machine that undoes (`${rollback}`). `called`: others call the workflow, and may look into what it gives.

    Beyond `HANDLED` of AWS's limit, or of `limit` bytes, parts of it become machines of their own (`parts.py`).
    """
    distributed = distribute(workflow, graph)
    about = _Asked(
        workflow, graph, children, findings, recorded, items, undone_children, rolls_back, called, distributed, fused
    )
    aim = Cut(workflow, distributed, AIM * limit, AIM * MAX_EVENTS)
    size, events = aim.whole(graph.body)
    whole = workflow.settings.execution == "express" or (size <= limit and events <= HANDLED * MAX_EVENTS)
    emitted = _emit(about, None if whole else aim)
    for _ in range(_TRIES):
        largest = max(emitted.sizes)
        if largest <= HANDLED * limit or workflow.settings.execution == "express":
            break
        if not whole and largest == emitted.sizes[0]:
            break  # it does little more than to start the others
        if not whole:
            aim = replace(aim, bytes=aim.bytes * AIM * limit / largest, _known={})
        whole = False
        emitted = _emit(about, aim)
    return emitted


class _Asked(NamedTuple):
    """What a machine is made of; see `emit_machine`."""

    workflow: Workflow
    graph: Graph
    children: Mapping[str, Workflow]
    findings: Findings
    recorded: frozenset[str]
    items: frozenset[str]
    undone_children: frozenset[str]
    rolls_back: bool
    called: bool
    distributed: dict[str, Distribution]
    fused: bool


def _emit(asked: _Asked, cut: Cut | None) -> Emitted:
    workflow, graph, children, findings, recorded, items, undone_children, rolls_back, called, distributed, fused = asked
    ordering = Ordering(graph, workflow, distributed)
    planner = Planner(ordering, workflow, distributed, cut)
    outer = planner.frame(None)
    guarded = rolls_back or bool(workflow.finally_ or any("failed" in note.on for note in workflow.notifications))
    # Where each state's own Catch takes what may fail, and nothing reads what is left, nothing has to stand around them.
    bare = rolls_back and not workflow.finally_ and not workflow.notifications and not may_fail_natively(graph.body)
    inner = planner.frame(outer) if guarded and not bare else outer
    plan = planner.scope(graph.body, inner, workflow.settings.max_parallel)
    ending = _ending(planner, workflow, graph, outer)
    beginning = _beginning(planner, workflow, outer)
    variables = Variables(planner.frame_of, planner.loop_frame, ordering=ordering)
    for part in (plan, *ending):
        find_direct(part, variables)
    for frame, run in [*variables.direct.items()]:
        if any(reaction.action == "escalate" for reaction in reactions(run.step, workflow)):
            del variables.direct[frame]  # it may be entered again, and then its input is another one
    for part in (*beginning, plan, *ending):
        collect_reads(part, variables)
    outputs = _outputs(workflow, graph)
    last = _output_step(outputs, workflow, frozenset(distributed))
    if last is not None:  # what JSONata cannot say is evaluated by a step of its own
        planner.frame_of[last.id] = outer
        outputs = Slot("output", last.id)
    for part in (Run(last, outer),) if last is not None else ():
        collect_reads(part, variables)
    for node in nodes_of(outputs):
        for slot in sorted(slots(node), key=lambda slot: (slot.kind, slot.name)):
            variables.read(slot, outer)
    _read_recorded(recorded, graph, workflow, variables)
    for child in sorted(undone_children):
        variables.read(Slot("child", child), variables.frame_of[child])
    for part in (plan, *ending):
        collect_results(part, variables)
    every = [*beginning, plan, *ending, *([Run(last, outer)] if last is not None else [])]
    machine = Machine(
        workflow, variables, findings, own_steps=graph.ids, children=children, recorded=recorded, recorded_items=items,
        claims=claim_rules(every, outputs, variables, distributed, looked_into=called), distributed=distributed,
    )
    label = workflow.id
    def finish(bind: Bind) -> Any:
        types = type_of_inputs(workflow), required_inputs(workflow)
        return Writer(bind, Nowhere(), findings, *types, large=frozenset(distributed)).value(outputs)

    block = Block(outer, finish, label=label)
    finale = emit(machine, block, Run(last, outer), None) if last is not None else None
    total = not any(may_fail(node) for node in nodes_of(outputs))
    if bare:
        start = _undone(machine, block, plan, finale, total=total)
    elif guarded:
        start = _guarded(machine, block, Body(inner, plan), ending, finale, rolls_back=rolls_back, total=total)
    else:
        start = emit(machine, block, _joined(plan, ending), finale)
    for part in reversed(beginning):
        start = emit(machine, block, part, start)
    definition: dict[str, Any] = {"Comment": _comment(workflow), "QueryLanguage": "JSONata"}
    if workflow.settings.timeout is not None:
        definition["TimeoutSeconds"] = max(1, math.ceil(workflow.settings.timeout))
    definition |= close(block, start)
    for one in (definition, *machine.parts.values()) if fused else ():
        fuse(one, machine.origins, machine.total, machine.routed, machine.asked)
    return Emitted(
        definition, machine.origins, machine.functions, machine.workflows, machine.rollbacks,
        machine.lengths, machine.parts, tuple(ordering.arrangements), ordering.layouts,
        tuple(map(byte_size, (definition, *machine.parts.values()))),
    )


def _read_recorded(recorded: frozenset[str], graph: Graph, workflow: Workflow, variables: Variables) -> None:
    """Notes what the states read that record steps which no function runs."""
    for scope in graph.scopes():
        for step in scope.steps:
            if step.id not in recorded:
                continue
            frame = variables.frame_of[step.id]
            variables.read(Slot("output", step.id), frame)
            if step.type != "choice" and not is_computed(step):
                variables.read(Slot("began", step.id), frame)
            if continues(step, workflow):
                variables.read(Slot("status", step.id), frame)
            for loop in frame.loops:
                variables.read(Slot("item" if loop == UNDO_LOOP else "index", loop), frame)


def _comment(workflow: Workflow) -> str:
    return f"{workflow.name} {workflow.version}"[:COMMENT_LIMIT]


def _beginning(planner: Planner, workflow: Workflow, frame: Frame) -> list[Run]:
    """What runs before the body: variables that must be evaluated once."""
    found = []
    for name, value in workflow.variables.items():
        step = Step(
            id=variable_step(workflow, name), type="transform", at=position_of(workflow.source, ("variables", name)),
            config={"value": value},
        )
        planner.frame_of[step.id] = frame
        found.append(Run(step, frame))
    return found


def _ending(planner: Planner, workflow: Workflow, graph: Graph, frame: Frame) -> list[Plan]:
    """What runs after the body: notifications, then `finally`."""
    found: list[Plan] = []
    for number, note in enumerate(workflow.notifications):
        step = notification_step(note, number)
        planner.frame_of[step.id] = frame
        found.append(Run(step, frame))
    if graph.finally_ is not None:
        plan = planner.scope(graph.finally_, frame, workflow.settings.max_parallel)
        if plan is not None:
            found.append(plan)
    return found


def notification_step(note: Notification, number: int) -> Step:
    """A notification as a step. It never makes an execution fail."""
    return Step(
        id=f"notification {number + 1}",
        type="notify",
        at=note.at,
        config=note.config,
        on_failure=OnFailure("continue"),
        labels={"on": note.on},
    )


def _joined(plan: Plan | None, ending: list[Plan]) -> Plan | None:
    parts = tuple(part for part in (plan, *ending) if part is not None)
    return parts[0] if len(parts) == 1 else Sequence(parts) if parts else None


def _guarded(
    machine: Machine, block: Block, body: Body, ending: list[Plan], finale: str | None, *, rolls_back: bool, total: bool
) -> str:
    """The body inside of a Parallel, so that every failure in it, of whatever state, leads to the ending.

    What runs after a success and what runs after a failure are two ways, which meet where something runs after both. `total`:
    the output cannot fail, so that the body's own state may give it; it would catch its failure.
    """
    machine.failure = machine.variables.new_name.new("failure")
    failed = _add(machine, block, "failed", {
        "Type": "Fail", "Error": query(f"${machine.failure}.error"), "Cause": query(f"${machine.failure}.cause"),
    })
    well, badly = finale, failed
    for part in reversed(ending):
        wanted = _outcomes_of(part)
        if wanted == {"failed"}:
            badly = emit(machine, block, part, badly)
        elif wanted == {"completed"}:
            well = emit(machine, block, part, well)
        elif well != badly and _is_short(part, workflow=machine.workflow):
            well, badly = emit(machine, block, part, well), emit(machine, block, part, badly)
        else:
            if well != badly:
                well = _add(machine, block, "outcome", {
                    "Type": "Choice",
                    "Choices": [{"Condition": query(f"$exists(${machine.failure}.error)"), "Next": badly}],
                    "Default": machine.target(block, well),
                })
                machine.total.add(well)
            well = badly = emit(machine, block, part, well)
    inner = body_block(machine, body, machine.workflow.id)
    badly = recall(machine, block, body.frame, [part for part in ending if "failed" in _outcomes_of(part)], badly)
    after_failure = _rollback(machine, block, badly) if rolls_back else badly
    named = rolls_back or _asks_for_the_step(ending)
    if named or tells_statuses(machine, inner):
        name_failed_steps(machine, inner, machine.workflow.id)
    start = emit(machine, inner, body.plan, None)
    names = machine.variables.names
    received = {
        slot: f"$states.result[0].{names[slot, body.frame]}" for slot in machine.variables.exports.get(body.frame, ())
    }
    lost = {names[slot, block.frame]: value for slot, value in left_inside(machine, [inner]).items()}
    error = error_from(machine, [inner] if named else []) | {"cause": CAUSE}
    state: State = {
        "Type": "Parallel",
        "Branches": [close(inner, start)],
        "Assign": machine.assign(received, block.frame) | {machine.failure: None},
        "Catch": [
            {"ErrorEquals": [kind], "Assign": lost | {machine.failure: error}, "Next": after_failure}
            for kind in ("States.DataLimitExceeded", "States.ALL")
        ],
    }
    machine.go(block, state, well if total else machine.target(block, well), received)
    return _add(machine, block, "body", state)


def _undone(machine: Machine, block: Block, plan: Plan | None, finale: str | None, *, total: bool) -> str:
    """A body of which every state leads to the rollback when it fails. `total`: see `_guarded`."""
    well = finale if total else machine.target(block, finale)
    name_failed_steps(machine, block, machine.workflow.id)
    assert block.fail is not None
    failed, machine.failure = block.fail
    block.fail = (_rollback(machine, block, failed), machine.failure)
    start = emit(machine, block, plan, well)
    block.fail = None  # what comes before has nothing to undo
    return start


def _rollback(machine: Machine, block: Block, following: str) -> str:
    """The state that undoes what the body did. Whatever comes of it, the execution fails with what the body failed with."""
    error = ",".join(f'"{key}":${machine.failure}.{key}' for key in ("error", "message", "step"))
    state: State = {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Arguments": {
            "StateMachineArn": "${rollback}",
            "Name": query('"undo-"&$hash($states.context.Execution.Id,"MD5")'),
            "Input": {
                "input": query(CONTEXT["input"]),
                "context": query(CONTEXT["context"]),
                "execution": query('$states.context.Execution.([Input.execution,{"id":Id}][0])'),
                "rollback": query(f'{{"by":"failure","error":{{{error}}}}}'),
            },
        },
        "TimeoutSeconds": CHILD_LIMIT,
        "Retry": [{"ErrorEquals": [*_STARTING], "IntervalSeconds": 2, "MaxAttempts": 5, "BackoffRate": 2}],
        "Catch": [{"ErrorEquals": [kind], "Next": following} for kind in (DATA_LIMIT, ALL)],
        "Next": following,
    }
    machine.rollbacks["rollback"] = machine.workflow.id
    return _add(machine, block, "rollback", state)


def _asks_for_the_step(ending: list[Plan]) -> bool:
    """Whether something at the end reads more of `execution.error` than its name and message."""
    for part in ending:
        for run in runs(part):
            for node in expressions_of(run.step):
                found = [*walk(node)]
                others = sum(
                    isinstance(here, Attribute) and here.of == FAILURE and here.name in ("error", "message")
                    or isinstance(here, Compare) and here.first == FAILURE
                    for here in found
                )
                if found.count(FAILURE) > others:
                    return True
    return False


def _is_short(part: Plan, workflow: Workflow) -> bool:
    """Whether a part of the ending is a single step, which stands on both ways: what tells them apart takes two states more."""
    if not isinstance(part, Run) or part.bodies:
        return False
    return all(reaction.action != "escalate" for reaction in reactions(part.step, workflow))


def _outcomes_of(part: Plan) -> set[str]:
    """The outcomes of the body after which a part of the ending runs: some of completed and failed."""
    if not isinstance(part, Run) or part.step.type != "notify" or "on" not in part.step.labels:
        return {"completed", "failed"}
    return set(part.step.labels["on"])


def _add(machine: Machine, block: Block, name: str, state: State) -> str:
    full = machine.states.new(machine.workflow.id, name)
    block.states[full] = state
    machine.origins[full] = Origin("", "end", machine.workflow.at)
    return full


def _outputs(workflow: Workflow, graph: Graph) -> Value:
    """The output: what the definition declares, else what its last steps give, by output key or id."""
    if workflow.outputs is not None:
        return dict(workflow.outputs)
    last, _ = last_steps(graph.body)
    found: dict[str, Value] = {}
    for step in last:
        if step.type == "wait":
            continue
        key, slot = step.output_key or step.id, Slot("output", step.id)
        found[key] = slot if key not in found else _either(found[key], slot)
    return found


def _output_step(outputs: Value, workflow: Workflow, large: frozenset[str]) -> Step | None:
    """A step that computes the output, when a part of it needs the function."""
    try:
        Writer(lambda slot: LONGEST_NAME, Nowhere(), Findings(), large=large).value(outputs)
        return None
    except NotNative:
        pass
    return Step(id=f"{workflow.id} output", type="transform", at=workflow.outputs_at, config={"value": as_node(outputs)})


def _either(one: Value, other: Slot) -> Value:
    return Binary("??", one, other)
