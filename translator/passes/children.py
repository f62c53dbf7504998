"""Checks calls of other workflows: they are known, take these inputs, and do not call each other in a circle."""

from __future__ import annotations

from collections.abc import Mapping

from aslant.inputs import prepare
from translator.diagnostics import Findings
from translator.findings import graph as rules
from translator.model.values import constant
from translator.model.workflow import Step, Workflow
from translator.nearest import nearest
from translator.source import position_of


def check_children(workflow: Workflow, workflows: Mapping[str, Workflow], findings: Findings) -> None:
    """Findings about the sub-workflows of one workflow, among those that are compiled with it."""
    for step in workflow.all_steps():
        if step.type != "workflow" or not step.workflow:
            continue
        child = workflows.get(step.workflow)
        if child is None:
            near = nearest(step.workflow, [name for name in workflows if name != workflow.id])
            findings.add(
                rules.UNKNOWN_WORKFLOW,
                f"the workflow {step.workflow!r} is not among the given definitions",
                step.at,
                hint=f"did you mean {near!r}?" if near else "",
            )
            continue
        path = _way_back(child, workflow.id, workflows)
        if path is not None:
            findings.add(
                rules.RECURSION, "workflows call each other: " + " → ".join([workflow.id, *path]), step.at
            )
        _check_input(step, child, findings)


def _way_back(start: Workflow, goal: str, workflows: Mapping[str, Workflow]) -> list[str] | None:
    """The ids from `start` to `goal` along calls, or None when there is no such way."""
    stack = [(start.id, [start.id])]
    seen: set[str] = set()
    while stack:
        here, path = stack.pop()
        if here == goal:
            return path
        if here in seen or here not in workflows:
            continue
        seen.add(here)
        for step in workflows[here].all_steps():
            if step.type == "workflow" and step.workflow:
                stack.append((step.workflow, [*path, step.workflow]))
    return None


def _check_input(step: Step, child: Workflow, findings: Findings) -> None:
    given = step.input if step.input is not None else {}
    if child.inputs is None or not isinstance(given, Mapping):
        return
    for key in given:
        if key not in child.inputs:
            near = nearest(key, list(child.inputs))
            findings.add(
                rules.UNKNOWN_INPUT, f"the workflow {child.id!r} has no input {key!r}",
                position_of(step.source, ("input", key)),
                hint=f"did you mean {near!r}?" if near else "",
            )
    for key, spec in child.inputs.items():
        if key in given:
            known, value = constant(given[key])
            _, problems = prepare({key: spec}, {key: value}) if known else ({}, [])
            for problem in problems:
                findings.add(
                    rules.WRONG_INPUT, f"the workflow {child.id!r} refuses its input: {problem.message}",
                    position_of(step.source, ("input", key)),
                )
        elif spec.get("required") and spec.get("default") is None:
            findings.add(rules.MISSING_INPUT, f"the workflow {child.id!r} needs the input {key!r}",
                position_of(step.source, ("input",)))
