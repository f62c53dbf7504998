"""States that call nothing: choices, waits, computed values, and what loops and parallels give."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from translator.asl.block import Block, Finish, Machine, State
from translator.asl.claims import within
from translator.asl.plan import Arms, Body, Run
from translator.asl.replay import remaining
from translator.asl.tasks import evaluation, finish, invoke
from translator.asl.values import Deferred, Nowhere, Writer, literal, query
from translator.expressions.failing import may_fail
from translator.expressions.jsonata import MAX_CODE, is_native, text_literal
from translator.expressions.tree import Binary, Compare, Literal, Node, ObjectOf, Slot, Unary
from translator.findings import asl as rules
from translator.model.values import constant, seconds_of
from translator.model.workflow import Step
from translator.passes.fold import as_node
from translator.passes.policies import handles
from translator.source import position_of

INLINE_CONCURRENCY = 40  # https://docs.aws.amazon.com/step-functions/latest/dg/state-map-inline.html
DEFAULT_CONCURRENCY = 10
COMPUTED = frozenset({"transform", "aggregate"})  # with a `value` in their configuration


def as_condition(node: Node) -> Node:
    """The expression as a boolean: a Choice takes nothing else."""
    if isinstance(node, Compare) or (isinstance(node, Unary) and node.op == "not"):
        return node
    if isinstance(node, Literal) and isinstance(node.value, bool):
        return node
    return Unary("not", Unary("not", node, node.at), node.at)


def choice_step(
    machine: Machine, block: Block, run: Run, following: str | None, arms: Arms | None,
    entries: dict[frozenset[str], str],
) -> tuple[str, Deferred]:
    """A choice. With `arms`, its outcomes lead right into them (`entries`: first state of each)."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    if step.mode == "all":
        return _flags(machine, block, run, writer, following), writer.deferred

    ways = {name: names for names in reversed(entries) for name in names}
    left = [(names, machine.variables.skipped(arm, block.frame)) for names, arm in (arms.arms if arms is not None else ())]
    left = [(names, skipped) for names, skipped in left if skipped]

    def outcome(name: str) -> dict[str, Any]:
        """Where an outcome leads, and what it leaves behind."""
        taken = ways.get(name)
        assign = machine.assign_results(step, block, {"route": name or None, "output": about(name)})
        for names, skipped in left:
            if names is not taken:
                assign |= skipped
        rule: dict[str, Any] = {"Next": entries[taken] if taken is not None else machine.target(block, following)}
        return rule | ({"Assign": assign} if assign else {})

    def about(name: str) -> dict[str, Any]:
        result: dict[str, Any] = {"branch": name or None}
        if name in ("true", "false"):
            result["condition_result"] = name == "true"
        return {key: literal(item) if isinstance(item, str) else item for key, item in result.items()}

    choices = [
        {"Condition": query(writer.source(as_condition(case.when))), **outcome(case.name)} for case in step.cases
    ]
    last = outcome(step.default)
    state: State = {"Type": "Choice", "Choices": choices, "Default": last["Next"]}
    if "Assign" in last:
        state["Assign"] = last["Assign"]
    if step.id in machine.own_steps:
        return machine.add(block, step, "step", state), writer.deferred
    name = machine.add(block, step, "condition", state)
    if not any(may_fail(case.when) for case in step.cases):
        machine.total.add(name)
        machine.routed.add(name)
        machine.asked.add(name)
    return name, writer.deferred


def _flags(machine: Machine, block: Block, run: Run, writer: Writer, following: str | None) -> str:
    """A choice of which several outcomes may be taken: one flag for each."""
    step = run.step
    sources = [writer.source(as_condition(case.when)) for case in step.cases]
    names = ",".join(f"({source})?{text_literal(case.name)}" for case, source in zip(step.cases, sources, strict=True))
    first: State | None = None
    if len(names) > MAX_CODE and any(slot.kind == "output" for slot, _ in machine.variables.own(step.id, block.frame)):
        cases = machine.variables.new_name.new(f"{step.id}_cases")  # of a state before it, that tells each case by itself
        told = [
            {"name": literal(case.name), "taken": query(source)} for case, source in zip(step.cases, sources, strict=True)
        ]
        first = {"Type": "Pass", "Assign": {cases: told}}
        sources = [f"${cases}[{number}].taken" for number in range(len(sources))]
        names = f"${cases}[taken].name"
    branches = f"($b:=[{names}];$count($b)=0?[{text_literal(step.default)}]:$b)" if step.default else f"[{names}]"
    flags = {f"c{number}": query(source) for number, source in enumerate(sources)}
    assign = machine.assign_results(step, block, {"route": flags, "output": {"branches": query(branches)}})
    state: State = {"Type": "Pass"} | ({"Assign": assign} if assign else {})
    taken = "{" + ",".join(f'"c{number}":({source})' for number, source in enumerate(sources)) + "}"
    own = {Slot("route", step.id): taken, Slot("output", step.id): f'{{"branches":{branches}}}'}
    own |= {Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, own | machine.own_input(block, step))
    if any(may_fail(case.when) for case in step.cases):
        _evaluate_unread(machine, block, step, state, flags)
    name = machine.add(block, step, "step", state)
    return name if first is None else machine.add(block, step, "evaluate", first | {"Next": name}, "cases")


def _evaluate_unread(machine: Machine, block: Block, step: Step, state: State, value: Any) -> None:
    """An expression that fails must fail its step, also when nobody reads its value."""
    if not any(slot.kind in ("output", "route") for slot, _ in machine.variables.own(step.id, block.frame)):
        state.setdefault("Assign", {})[machine.variables.new_name.new(step.id)] = value


def computed_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    """A value computed by the machine itself, or by the function when its failure must be caught or retried."""
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    node = as_node(step.config["value"])
    native = writer.refuse_secrets(node) or is_native(node)
    recorded = step.id in machine.recorded
    if recorded or handles(step, machine.workflow) or (step.retry or machine.workflow.settings.retry) and not native:
        why = "its result is found after a failure" if recorded else "its failure can be handled"
        machine.findings.add(rules.NATIVE_FAILURE, f"{step.id!r} runs in a function, so that {why}", step.at)
        state = invoke(machine, writer, run, evaluation(writer, [node]), {}, "transform")
        state["Arguments"]["Payload"]["claims"] = within(machine.claims.get(step.id, {}), "e0")
        if recorded:
            state["Arguments"]["Payload"]["part"] = ""  # the record is that of the step itself
        return finish(machine, block, run, state, "$states.result.Payload.output.e0", following), writer.deferred
    source = writer.source(node)
    result = query(source)
    assign = machine.assign_results(step, block, {"output": result})
    state = {"Type": "Pass"} | ({"Assign": assign} if assign else {})
    own = {Slot("output", step.id): f"({source})", Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, own | machine.own_input(block, step))
    if may_fail(node):
        _evaluate_unread(machine, block, step, state, query(f"({source};null)"))
    return machine.add(block, step, "step", state), writer.deferred


def wait_step(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Deferred]:
    step = run.step
    writer = machine.writer(block, step, machine.own_input(block, step))
    state: State = {"Type": "Wait"}
    if step.until is not None:
        state["Timestamp"] = _instant(machine, writer, step)
    else:
        state["Seconds"] = _seconds(machine, writer, run)
    assign = machine.assign_results(step, block, {})
    if assign:
        state["Assign"] = assign
    own = {Slot("output", step.id): "null", Slot("status", step.id): '"completed"', Slot("error", step.id): "null"}
    machine.go(block, state, following, own | machine.own_input(block, step))
    return machine.add(block, step, "step", state), writer.deferred


def _seconds(machine: Machine, writer: Writer, run: Run) -> str:
    """Whole seconds, of which a later run waits for the rest."""
    step = run.step
    places = machine.places(writer, run.frame)
    return remaining(step.id, places, _whole_seconds(machine, writer, step), 0)


def _whole_seconds(machine: Machine, writer: Writer, step: Step) -> str:
    value = step.seconds.value if isinstance(step.seconds, Literal) else step.seconds
    at = step.at if step.source is None else position_of(step.source, ("seconds",))
    if isinstance(value, str):
        written = value
        value = seconds_of(written)
        if value is None:  # of an undo, which nothing has looked at before
            machine.findings.add(rules.BAD_TIME, f"{written!r} is no number of seconds", at)
            return "0"
    if isinstance(value, int | float):
        if value != int(value):
            machine.findings.add(rules.WHOLE_SECONDS, f"a wait of {value:g} s becomes {math.ceil(value)} s", at)
        return str(max(0, math.ceil(value)))
    return _SECONDS % writer.source(as_node(value))


_SECONDS = (
    '($s:=%s;$type($s)="number"?$max([0,$ceil($s)])'
    ':$error("seconds takes a number, not "&($type($s)="string"?"\\""&$s&"\\"":$string($s))))'
)
# A Timestamp that is none is States.Runtime, which nothing catches; an expression that fails can be. Engines take the 30th of
# February for the 1st of March, so the day is looked at by itself.
_INSTANT = (
    '($t:=%s;($type($t)="string"?($d:=$substring($t,0,10);'
    '$contains($t,/T.*(Z|[+-][0-9]{2}:[0-9]{2})$/) and $substring($fromMillis($toMillis($d)),0,10)=$d):false)'
    '?$fromMillis($toMillis($t)+0):$error("the instant is not written like 2026-01-31T09:00:00Z"))'
)


def _instant(machine: Machine, writer: Writer, step: Step) -> Any:
    if not isinstance(step.until, Literal):
        return query(_INSTANT % writer.source(step.until))
    text = str(step.until.value)
    try:
        instant = datetime.fromisoformat(text)
        if instant.tzinfo is None or "T" not in text.upper():
            raise ValueError(text)
    except ValueError:
        machine.findings.add(
            rules.BAD_TIME, f"{text!r} is no instant", step.until.at, hint="write it like 2026-01-31T09:00:00Z"
        )
        return "1970-01-01T00:00:00Z"
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def is_computed(step: Step) -> bool:
    """Whether the step is a value that an expression says completely."""
    return step.type in COMPUTED and "value" in step.config


def items(writer: Writer, step: Step, recorded: bool = False) -> Any:
    """The `Items` of a loop: its list, cut into batches if it has a batch size. A `recorded` one is evaluated before."""
    if recorded:
        list_ = writer.deferred.add(as_node(step.items), "the items are recorded for a rollback")
        return query(
            f"($count({list_})=0?[]:$partition({list_},{step.batch_size}))" if step.batch_size else list_
        )
    if step.batch_size is None:
        known, plain = constant(step.items)
        return plain if known and "{%" not in str(plain) and "${" not in str(plain) else query(writer.structure(step.items))
    source = writer.structure(step.items)
    return query(f"($list:={source};$count($list)=0?[]:$partition($list,{step.batch_size}))")


def concurrency(machine: Machine, step: Step) -> int:
    wanted = step.max_parallel or DEFAULT_CONCURRENCY
    if step.max_parallel and step.max_parallel > INLINE_CONCURRENCY and machine.workflow.settings.execution == "express":
        machine.findings.add(
            rules.MAP_CONCURRENCY,
            f"{step.id!r} asks for {step.max_parallel} at once; an inline loop runs {INLINE_CONCURRENCY}",
            step.at,
        )
    return min(wanted, INLINE_CONCURRENCY, machine.workflow.settings.max_parallel or INLINE_CONCURRENCY)


def last_output(body: Body) -> Node:
    """What a body gives: the output of its last step; of several last steps, an object by output key or id."""
    found: list[Node] = [Slot("output", step.id) for step in body.last]
    if not found:
        return Literal(None)
    if len(found) == 1 or body.exclusive:
        result = found[-1]
        for node in reversed(found[:-1]):
            result = Binary("??", node, result)
        return result
    keys = [Literal(step.output_key or step.id) for step in body.last]
    return ObjectOf(tuple(zip(keys, found, strict=True)))


def branch_output(machine: Machine, run: Run, number: int) -> Finish:
    result = _result_of(machine, run.bodies[number])
    return lambda bind: {"output": result(bind)}


def iteration_result(machine: Machine, run: Run) -> Finish:
    return _result_of(machine, run.bodies[0])


def _result_of(machine: Machine, body: Body) -> Finish:
    node = last_output(body)
    # Field by field, since an object of many steps would be a long expression.
    value = {key.value: item for key, item in node.items} if isinstance(node, ObjectOf) else node  # type: ignore[union-attr]
    return lambda bind: Writer(bind, Nowhere(), machine.findings).value(value)


def parallel_result(step: Step) -> str:
    """The output of a parallel step: how each branch ended, in order, and all errors."""
    if not step.wait_for_all:
        return '{"results":[$map($states.result,function($each){{"success":true,"output":$each.output}})],"errors":[]}'
    return (
        '{"results":[$map($states.result,function($each){$exists($each.failed)?{"success":false,"error":$each.failed}'
        ':{"success":true,"output":$each.output}})],"errors":[$states.result.failed]}'
    )
