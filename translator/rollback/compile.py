"""The passes over the workflow that undoes another, and what both machines must do for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from translator.asl.children import as_literals
from translator.asl.recall import leaves_none, unrecorded
from translator.diagnostics import Findings
from translator.expressions.tree import Attribute, Literal, Slot
from translator.findings import asl as asl_rules
from translator.graph.scope import Graph, build_graph
from translator.model.workflow import UNDO_LOOP, Step, Workflow
from translator.passes.check_steps import check_steps, check_types
from translator.passes.children import check_children
from translator.passes.computed import prepare_computed
from translator.passes.fold import fold, variable_step
from translator.passes.policies import Reaction, reactions, undoes
from translator.rollback.build import FINISH, LATE, PLAN, READ, VALUES, Undoing, build_undoing, one_of, undo_id
from translator.rollback.names import Reads, loops_of, read_variables, resolve_undoing


@dataclass(frozen=True, slots=True)
class Rollback:
    """What undoes a workflow: a workflow of its own, ready to be emitted.

    `recorded` are steps of the main machine, and `undos` steps of this one, that no function runs and that must leave a
    record all the same; `items` are loops whose list must. With `starts` the main machine starts it by itself.
    """

    workflow: Workflow
    graph: Graph
    recorded: frozenset[str]
    items: frozenset[str]
    undos: frozenset[str]
    children: frozenset[str]  # steps of the main machine whose child's execution is recorded, so that it can be undone
    starts: bool


@dataclass(slots=True)
class Prepared:
    """The rollback between its first checks and the end of the main workflow's own passes."""

    undoing: Undoing
    graph: Graph


def prepare_rollback(workflow: Workflow, workflows: Mapping[str, Workflow], findings: Findings) -> Prepared | None:
    """Builds and checks the rollback of a workflow as it was written; None when it has none, or edges that make no sense."""
    undoing = build_undoing(workflow, workflows, findings)
    if undoing is None:
        return None
    # The steps of `finally` are checked where they are written.
    steps = tuple(step for step in _steps(undoing.workflow) if not undoing.is_ours(step) and step.id not in undoing.late)
    if steps:
        check_steps(replace(undoing.workflow, steps=steps), findings)
        check_children(replace(undoing.workflow, steps=steps), workflows, findings)
    known = [name for step in workflow.all_steps() for name in (step.id, step.output_key) if name]
    undoing.workflow = prepare_computed(undoing.workflow, findings, known)
    graph = build_graph(undoing.workflow, findings)
    return None if graph is None else Prepared(undoing, graph)


def _steps(workflow: Workflow) -> Iterable[Step]:
    """The steps of a rollback, those in its loop in the place of the loop."""
    for step in workflow.steps:
        yield from step.steps if step.id == UNDO_LOOP else (step,)


def finish_rollback(prepared: Prepared, workflow: Workflow, main: Graph, findings: Findings) -> Rollback | None:
    """Resolves and folds the rollback. `workflow` and `main` are resolved, but not folded yet; None when there are errors."""
    undoing, graph = prepared.undoing, prepared.graph
    reads = resolve_undoing(undoing, graph, workflow, main, findings)
    if findings.has_errors:
        return None
    for scope in graph.scopes():
        for step in scope.steps:
            if step.id not in undoing.late:
                check_types(step, workflow, findings)
    folded = fold(replace(undoing.workflow, variables=workflow.variables), graph)
    variables = [variable_step(workflow, name) for name in workflow.variables]
    read_variables(graph, undoing, variables, reads)
    steps = {step.id: step for scope in main.scopes() for step in scope.steps}
    # What `finally` reads is found in the history of the run that was stopped.
    wanted = reads.all_steps(but=LATE) | set(undoing.undone)
    for name in sorted(wanted & set(steps)):
        if steps[name].type == "choice":
            findings.add(
                asl_rules.NOT_CARRIED_OUT, f"the choice {name!r} is not recorded while an execution runs: a rollback that the"
                " failure starts neither undoes nor reads it", steps[name].at,
            )
    recorded = frozenset(name for name in wanted if name not in steps or leaves_none(steps[name])) | unrecorded(workflow, main)
    _fill(undoing, graph, reads, workflow, main, recorded)
    undos = frozenset(
        step.id for scope in graph.scopes() for step in scope.steps
        if step.id in {undo_id(name) for name in undoing.undone} and leaves_none(step)
    )
    return Rollback(
        replace(folded, variables={}, outputs=None), graph, recorded, frozenset(reads.all_items()), undos,
        undoing.children, undoes(workflow),
    )


def _fill(
    undoing: Undoing, graph: Graph, reads: Reads, workflow: Workflow, main: Graph, recorded: frozenset[str]
) -> None:
    """Gives the steps of the rollback's own their configurations."""
    steps = {step.id: step for scope in main.scopes() for step in scope.steps}

    def table(owner: str) -> dict[str, Any]:
        names, loops = reads.of(owner)
        found: dict[str, Any] = {}
        if names:
            found["steps"] = {name: len(loops_of(main, name)) for name in names}
            wrapped = [name for name in names if name in recorded]
            if wrapped:
                found["wrapped"] = wrapped
        if owner in undoing.children:
            found["child"] = owner
        if loops:
            found["loops"] = {
                loop: {"depth": len(loops_of(main, loop)), "batch": steps[loop].batch_size or 0} for loop in loops
            }
        return found

    tables = {owner: made for owner in undoing.undone if (made := table(owner))}
    plan: dict[str, Any] = {
        "undo": {
            name: ({"failed": True} if step.undo_failed else {}) | ({"child": True} if name in undoing.children else {})
            for name, step in undoing.undone.items()
        },
        "steps": [step.id for step in workflow.rollback],
        "rules": [_rule(reaction) for reaction in _general(workflow)],
        "own": _own(workflow, main),
    }
    request = Slot("rollback", "")
    filled: dict[str, dict[str, Any]] = {
        PLAN: {"action": Literal("plan"), "request": request, "plan": as_literals(plan)},
        VALUES: {
            "action": Literal("values"), "reads": as_literals(tables), "step": Attribute(Slot("item", UNDO_LOOP), "step"),
            "iteration": Attribute(Slot("item", UNDO_LOOP), "iteration"),
        },
        **{
            step: {"action": Literal("values"), "reads": as_literals({"": table(owner)}), "step": Literal(""), "iteration": []}
            for step, owner in ((READ, ""), (LATE, LATE))
        },
        FINISH: {
            "action": Literal("finish"), "request": request, "undo": Attribute(Slot("output", PLAN), "undo"),
            "results": Slot("output", UNDO_LOOP) if undoing.undone else [],
            "steps": {step.id: Slot("status", step.id) for step in workflow.rollback},
            **({"decided": Attribute(Slot("output", PLAN), "action"), "plan": as_literals({"undo": plan["undo"]})}
               if undoing.undone else {}),
        },
    }
    conditions = {
        VALUES: one_of(sorted(tables)), READ: None if table("") else Literal(False),
        LATE: None if table(LATE) else Literal(False),
    }
    for scope in graph.scopes():
        for index, step in enumerate(scope.steps):
            if step.id in filled:
                scope.steps[index] = replace(step, config=filled[step.id], when=conditions.get(step.id))


def _general(workflow: Workflow) -> tuple[Reaction, ...]:
    """What failures lead to where a step says nothing of its own, or where the step is not known."""
    return reactions(Step("", "skill"), workflow)


def _own(workflow: Workflow, main: Graph) -> dict[str, list[list[dict[str, Any]]]]:
    """For steps with a reaction of their own, or inside of steps that have: the rules of each, innermost first."""
    general = _general(workflow)
    found: dict[str, list[list[dict[str, Any]]]] = {}
    for scope in main.scopes():
        for step in scope.steps:
            levels = [reactions(step, workflow)]
            here = scope
            while here.owner is not None:
                here, index = here.owner
                levels.append(reactions(here.steps[index], workflow))
            if any(levels) and (levels[0] != general or any(levels[1:])):
                found[step.id] = [[_rule(reaction) for reaction in level] for level in levels if level]
    return found


def _rule(reaction: Reaction) -> dict[str, Any]:
    action = reaction.then if reaction.action == "escalate" else reaction.action
    return {"errors": [*reaction.errors], "action": action} | ({"steps": [*reaction.steps]} if reaction.steps else {})
