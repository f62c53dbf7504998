"""Plan -> states. Each part is made knowing where it goes on, so states are made from the end to the start."""

from __future__ import annotations

from typing import Any

from aslant.error_names import ALL
from aslant.step_types import STEP_TYPES
from translator.asl import escalations, native, tasks
from translator.asl.approvals import approval_step
from translator.asl.block import APART, Block, Machine, Origin, State, close
from translator.asl.branches import body_block, is_read, leaving, received_from, side_by_side, unless_failed, was_taken
from translator.asl.children import child_step
from translator.asl.distribution import length_of
from translator.asl.failures import error_from, hand_over, left_inside, name_failed_steps, tells_statuses
from translator.asl.gates import gate_state
from translator.asl.parts import part
from translator.asl.plan import Arms, Body, Fork, Gate, Guarded, Plan, Run, Sequence, first_step
from translator.asl.retries import retry_rules
from translator.asl.spread import note_failure, spread
from translator.asl.values import literal, query
from translator.asl.variables import follows
from translator.expressions.failing import may_fail
from translator.expressions.jsonata import text_literal
from translator.expressions.tree import Slot
from translator.model.workflow import Step
from translator.passes.policies import reactions


def emit(machine: Machine, block: Block, plan: Plan | None, following: str | None) -> str:
    """Make the states of `plan` in `block`; gives the name of the first. `following` None is the block's end."""
    if plan is None:
        return machine.target(block, following)
    if isinstance(plan, Run):
        return _run(machine, block, plan, following)
    if isinstance(plan, Sequence):
        return _sequence(machine, block, plan, following)
    if isinstance(plan, Fork):
        name = _fork(machine, block, plan, following)
        machine.made(block, plan)
        return name
    if isinstance(plan, Gate):
        return gate_state(machine, block, plan, following)
    if isinstance(plan, Arms):
        return _arms(machine, block, plan, following)
    return _guarded(machine, block, plan, following)


def _sequence(machine: Machine, block: Block, plan: Sequence, following: str | None) -> str:
    here = following
    position = len(plan.parts) - 1
    while position >= 0:
        part = plan.parts[position]
        before = plan.parts[position - 1] if position else None
        if isinstance(part, Arms) and isinstance(before, Run) and follows(before, part):
            here = _run(machine, block, before, here, part)
            position -= 1
        else:
            here = emit(machine, block, part, here)
        position -= 1
    return machine.target(block, here)


def _run(machine: Machine, block: Block, run: Run, following: str | None, arms: Arms | None = None) -> str:
    """A step with everything around it."""
    name = _states_of(machine, block, run, following, arms)
    machine.made(block, run)
    return name


def _states_of(machine: Machine, block: Block, run: Run, following: str | None, arms: Arms | None) -> str:
    """A step: its own state, the evaluation of what JSONata cannot say, and its condition, in reverse."""
    step = run.step
    after = following
    if step.id in machine.recorded and step.type != "choice" and not native.is_computed(step):
        following = tasks.record_state(machine, block, run, following)
    if escalations.escalates(machine, step):
        escalations.rounds(machine, step)
    if step.type == "choice":
        entries = {
            names: emit(machine, block, arm, following) for names, arm in (arms.arms if arms is not None else ())
        }
        main, deferred = native.choice_step(machine, block, run, following, arms, entries)
    elif step.type == "parallel":
        main, deferred = _parallel(machine, block, run, following), None
    elif step.type == "foreach":
        main, deferred = _foreach(machine, block, run, following)
    elif step.type == "wait":
        main, deferred = native.wait_step(machine, block, run, following)
    elif step.type == "workflow":
        main, deferred = child_step(machine, block, run, following)
    elif step.type == "approval":
        main, deferred = approval_step(machine, block, run, following)
    elif native.is_computed(step):
        main, deferred = native.computed_step(machine, block, run, following)
    else:
        main, deferred = tasks.lambda_step(machine, block, run, following)
    if deferred is not None and deferred.expressions:
        passed = step.type in STEP_TYPES and not STEP_TYPES[step.type].native and step.type != "approval"
        main = tasks.evaluate_state(
            machine, block, run, deferred, main, following, passed=passed and not native.is_computed(step)
        )
    if step.id in machine.rounds:
        main = escalations.begin(machine, block, run, main)
    following = after
    if step.when is None:
        return main
    writer = machine.writer(block, step, machine.own_input(block, step))
    condition = writer.source(native.as_condition(step.when))
    skip = machine.entry(block, step)
    skip |= machine.variables.skipped(run, block.frame)
    if arms is not None:
        skip |= machine.variables.skipped(arms, block.frame)
    state: State = {
        "Type": "Choice",
        "Choices": [{"Condition": query(condition), "Next": main}],
        "Default": machine.target(block, following),
    }
    if skip:
        state["Assign"] = skip
    name = machine.add(block, step, "condition", state, "when")
    if not may_fail(step.when):
        machine.total.add(name)
    if writer.deferred.expressions:
        return tasks.evaluate_state(machine, block, run, writer.deferred, name, following, role="condition")
    return name


def body_states(machine: Machine, block: Block, body: Body, label: str, failed: Any = None) -> State:
    """The finished `States` map of a body. With `failed`, its errors end it with that output instead of failing.

    A failure's output is written from the variable of the error, and of what the block hands on.
    """
    if failed is not None:
        variable = machine.variables.new_name.new(f"{label}_failure")
        name = machine.states.new(label, "failed")
        block.states[name] = {"Type": "Succeed", "Output": failed(variable)}
        machine.origins[name] = Origin("", "failed", machine.workflow.at)
        block.fail, block.kept = (name, variable), body.inner is None
    if body.inner is None:
        return close(block, emit(machine, block, body.plan, None))
    inner = body_block(machine, Body(body.inner, body.plan), label)
    if block.fail is not None:
        name_failed_steps(machine, inner, label)
    state: State = {"Type": "Parallel", "Branches": [close(inner, emit(machine, inner, body.plan, None))]}
    _collect(machine, block, state, [inner])
    machine.go(block, state, None, received_from(machine, [inner]))
    name = machine.states.new(label, "guarded")
    block.states[name] = state
    machine.origins[name] = Origin("", "join", machine.workflow.at)
    return close(block, name)


def _collect(machine: Machine, block: Block, state: State, inner: list[Block]) -> None:
    """Let a Parallel without a step of its own hand its failures to where the block collects them."""
    if block.fail is None:
        return
    assign = hand_over(machine, block, None, error_from(machine, inner), left_inside(machine, inner))
    state["Catch"] = [
        {"ErrorEquals": [kind], "Assign": assign, "Next": block.fail[0]} for kind in (tasks.DATA_LIMIT, ALL)
    ]


def _fork(machine: Machine, block: Block, plan: Fork, following: str | None) -> str:
    first = first_step(plan)
    others = len(plan.bodies) - 1
    label = f"{first.id} + {others} more" if others else f"from {first.id}"
    # One that was cut off a sequence leaves behind what its states would have left here.
    cut_off = block.kept and not others and plan.bodies[0].frame.apart
    blocks = [body_block(machine, body, label, bare=not cut_off) for body in plan.bodies]
    if block.fail is not None and not cut_off:
        for inner in blocks:
            name_failed_steps(machine, inner, label)
    maps = [
        body_states(machine, inner, body, label, leaving(machine, body.frame) if cut_off else None)
        for inner, body in zip(blocks, plan.bodies, strict=True)
    ]
    maps = [
        part(machine, block, body, states, label) if body.frame.apart else states
        for body, states in zip(plan.bodies, maps, strict=True)
    ]
    state = side_by_side(machine, block, maps, plan.limit)
    received = received_from(machine, blocks)
    assign = machine.assign(received, plan.frame)
    _collect(machine, block, state, blocks)
    if cut_off:
        errors = machine.variables.new_name.new(f"{label}_errors")
        assign |= {errors: query("[$states.result.failed]")}
        state["Next"] = unless_failed(machine, block, label, errors, following)
    else:
        machine.go(block, state, following, received)
    if assign and "Next" in state:
        state["Assign"] = assign
    name = machine.states.new(label)
    block.states[name] = state
    machine.origins[name] = Origin("", "fork", first.at)
    return name


def _parallel(machine: Machine, block: Block, run: Run, following: str | None) -> str:
    """A parallel step. When it waits for all, a branch's failure becomes a part of its output, looked at after."""
    step = run.step
    if run.wrap is not None:
        kept = machine.variables.new_name.new(f"{step.id}_result") if is_read(machine, run) else ""
        extra = (lambda bind: {"output": query(f"${kept}")}) if kept else None
        outer = body_block(machine, Body(run.wrap, None), step.id, extra)
        if block.fail is not None or tells_statuses(machine, outer):
            name_failed_steps(machine, outer, step.id)
        entry = _branches(machine, outer, run, None, kept)
        state: State = {"Type": "Parallel", "Branches": [close(outer, entry)]}
        retry, _ = retry_rules(*tasks.retries_of(machine, step), machine.findings, service=False)
        if retry:
            state["Retry"] = retry
        received = received_from(machine, [outer])
        return tasks.finish(
            machine, block, run, state, "$states.result[0].output", following, received=received, inner=[outer]
        )
    return _branches(machine, block, run, following)


def _branches(machine: Machine, block: Block, run: Run, following: str | None, kept: str = "") -> str:
    """The branches side by side. Their result is also put into the variable `kept`, if one is given."""
    step = run.step
    keeps = is_read(machine, run)
    blocks, maps = [], []
    for number, body in enumerate(run.bodies):
        label = f"{step.id}/{number}"
        extra = native.branch_output(machine, run, number) if keeps else None
        inner = body_block(machine, body, label, extra)
        blocks.append(inner)
        if not step.wait_for_all and (block.fail is not None or tells_statuses(machine, inner)):
            name_failed_steps(machine, inner, label)
        maps.append(body_states(machine, inner, body, label, leaving(machine, body.frame) if step.wait_for_all else None))
    state = side_by_side(machine, block, maps, step.max_parallel)
    received = received_from(machine, blocks)
    result = native.parallel_result(step)
    if not step.wait_for_all:
        retry, _ = retry_rules(*tasks.retries_of(machine, step), machine.findings, service=False)
        if retry:
            state["Retry"] = retry
        return tasks.finish(machine, block, run, state, result, following, received=received, inner=blocks)
    errors = machine.variables.new_name.new(f"{step.id}_errors")
    state["Assign"] = (
        machine.assign_results(step, block, {"output": query(result)}) | machine.assign(received, block.frame)
        | {errors: query("[$states.result.failed]")} | ({kept: query(result)} if kept else {})
    )
    state["Next"] = _after_all(machine, block, run, errors, following)
    if block.fail is not None:
        state["Catch"] = tasks.catchers(machine, block, run, following, inner=blocks)
    return machine.add(block, step, "step", state)


def _after_all(machine: Machine, block: Block, run: Run, errors: str, following: str | None) -> str:
    """The state after a parallel that waited for all: what the first error leads to, when there was one."""
    step = run.step
    rules = []
    for reaction in reactions(step, machine.workflow) if run.wrap is None else ():
        names = ",".join(map(text_literal, reaction.errors))
        known = "" if ALL in reaction.errors else f" and ${errors}[0].error in [{names}]"
        target = _going_on(machine, block, run, errors, following) if reaction.action == "continue" else None
        if reaction.action == "escalate":
            error = {key: query(f"${errors}[0].{key}") for key in ("error", "message", "step")}
            target = escalations.ask(machine, block, run, reaction, error, query(f"$string(${errors})"), following)
        rules.append({
            "Condition": query(f"$count(${errors})>0{known}"), **(target or _giving_up(machine, block, step, errors)),
        })
    if not rules or " and " in rules[-1]["Condition"]:
        rules.append({"Condition": query(f"$count(${errors})>0"), **_giving_up(machine, block, step, errors)})
    state: State = {"Type": "Choice", "Choices": rules, "Default": machine.target(block, following)}
    return machine.add(block, step, "join", state, "joined")


def _going_on(machine: Machine, block: Block, run: Run, errors: str, following: str | None) -> dict[str, Any]:
    """A failed parallel that the workflow goes on after: what its other branches gave stays readable."""
    step = run.step
    error = {"error": query(f"${errors}[0].error"), "message": query(f"$string(${errors})"), "step": literal(step.id)}
    assign = {
        name: {"status": "failed", "error": error}.get(slot.kind)
        for slot, name in machine.variables.own(step.id, block.frame)
    }
    return {"Next": machine.target(block, following)} | ({"Assign": assign} if assign else {})


def _giving_up(machine: Machine, block: Block, step: Step, errors: str) -> dict[str, Any]:
    """Fails with the first error's name, or hands it to where the block collects errors."""
    if block.fail is not None:
        target = block.fail[0]
        assign = hand_over(machine, block, step, query(f"${errors}[0]"))
        return {"Assign": assign, "Next": target}
    failed: State = {"Type": "Fail", "Error": query(f"${errors}[0].error"), "Cause": query(f"$string(${errors})")}
    return {"Next": machine.add(block, step, "failed", failed, "failed")}


def _foreach(machine: Machine, block: Block, run: Run, following: str | None) -> tuple[str, Any]:
    step = run.step
    body = run.bodies[0]
    writer = machine.writer(block, step, machine.own_input(block, step))
    names = machine.variables.names
    loop = body.frame.loop
    home = machine.variables.loop_frame[loop]
    bound = {
        names[Slot(kind, loop), home]: query(f"$states.input.{kind}")
        for kind in ("item", "index") if (Slot(kind, loop), home) in names
    }
    keeps = is_read(machine, run)
    inner = body_block(machine, body, step.id, None)
    result = native.iteration_result(machine, run)
    inner.finish = (lambda bind: result(bind)) if keeps else (lambda bind: {})

    def failed(variable: str) -> Any:
        return {"status": "failed", "error": query(f"${variable}")}

    if body.frame.apart:
        return _spread(machine, block, run, following, inner, failed), None
    direct = machine.variables.direct.get(home)
    if bound and direct is not None:
        machine.entries[home] = bound
    if step.on_item_error != "continue" and block.fail is not None:
        name_failed_steps(machine, inner, step.id)
    maps = body_states(machine, inner, body, step.id, failed if step.on_item_error == "continue" else None)
    if bound and direct is None:
        bind_state = machine.states.new(step.id, "item")
        machine.origins[bind_state] = Origin("", "bind", step.at)
        maps = {
            "StartAt": bind_state,
            "States": {bind_state: {"Type": "Pass", "Assign": bound, "Next": maps["StartAt"]}, **maps["States"]},
        }
    state: State = {"Type": "Map", "Items": native.items(writer, step, step.id in machine.recorded_items)}
    selector = {
        kind: query(f"$states.context.Map.Item.{where}")
        for kind, where in (("item", "Value"), ("index", "Index"))
        if direct is not None or (Slot(kind, loop), home) in names
    }
    state["ItemSelector"] = selector
    state["MaxConcurrency"] = native.concurrency(machine, step)
    state["ItemProcessor"] = {"ProcessorConfig": {"Mode": "INLINE"}, **maps}
    retry, _ = retry_rules(*tasks.retries_of(machine, step), machine.findings, service=False)
    if retry:
        state["Retry"] = retry
    name = tasks.finish(machine, block, run, state, "$states.result", following, inner=[inner])
    known = length_of(step, machine.workflow)
    if known is not None:
        machine.lengths[name] = known
    return name, writer.deferred


def _spread(machine: Machine, block: Block, run: Run, following: str | None, inner: Block, failed: Any) -> str:
    """A loop whose items are executions of their own, which tell their number with what they give."""
    step, body = run.step, run.bodies[0]
    number = {"index": query(f"{APART}.index")}
    given = inner.finish
    wanted = is_read(machine, run)
    inner.finish = (lambda bind: number | {"output": given(bind)}) if wanted else (lambda bind: number)
    if step.on_item_error != "continue":
        note_failure(machine, inner, run)
    caught = (lambda variable: number | {"output": failed(variable)}) if step.on_item_error == "continue" else None
    processor = body_states(machine, inner, body, step.id, caught)
    return spread(machine, block, run, following, processor, wanted=wanted)


def _arms(machine: Machine, block: Block, plan: Arms, following: str | None) -> str:
    """Arms of a choice that was made earlier."""
    source = machine.bind(block.frame)(Slot("route", plan.choice.id))
    variables = machine.variables
    rules = []
    for position, (names, arm) in enumerate(plan.arms):
        skip: dict[str, Any] = {}
        for other, (_, lost) in enumerate(plan.arms):
            if other != position:
                skip |= variables.skipped(lost, block.frame)
        rule: dict[str, Any] = {
            "Condition": query(was_taken(plan.choice, names, source)), "Next": emit(machine, block, arm, following),
        }
        rules.append(rule | ({"Assign": skip} if skip else {}))
    return _conditional(machine, block, plan, rules, plan.choice, following)


def _guarded(machine: Machine, block: Block, plan: Guarded, following: str | None) -> str:
    bind = machine.bind(block.frame)
    by_choice: dict[str, tuple[Step, set[str]]] = {}
    for choice, name in plan.outcomes:
        by_choice.setdefault(choice.id, (choice, set()))[1].add(name)
    condition = " or ".join(
        was_taken(choice, frozenset(names), bind(Slot("route", key))) for key, (choice, names) in by_choice.items()
    )
    rules = [{"Condition": query(condition), "Next": emit(machine, block, plan.plan, following)}]
    return _conditional(machine, block, plan, rules, first_step(plan), following)


def _conditional(
    machine: Machine, block: Block, plan: Plan, rules: list[dict[str, Any]], about: Step, following: str | None
) -> str:
    state: State = {"Type": "Choice", "Choices": rules, "Default": machine.target(block, following)}
    skip = machine.variables.skipped(plan, block.frame)
    if skip:
        state["Assign"] = skip
    first = first_step(plan)
    name = machine.states.new(first.id, "if")
    block.states[name] = state
    machine.origins[name] = Origin(about.id, "condition", first.at)
    machine.total.add(name)
    machine.routed.add(name)
    return name
