"""Standard or Express: what a workflow's executions are, and why.

`auto` is Standard, always. An Express execution cannot be stopped, so neither paused nor cancelled; nobody is told that it
ended; and it has no history, which is where records of native states, waits that go on and everything that a later run takes
over come from. So only its author can know that a workflow does without: `execution: express`.
https://docs.aws.amazon.com/step-functions/latest/dg/choosing-workflow-type.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from translator.asl.limits import EXPRESS_SECONDS
from translator.diagnostics import Findings, Position
from translator.expressions.tree import Literal as Known
from translator.findings import asl as rules
from translator.model.workflow import Step, Workflow
from translator.passes.policies import reactions, undoes

Kind = Literal["STANDARD", "EXPRESS"]

_WITHOUT = "cannot be paused, cancelled, retried or resumed, and native steps leave no record"


class Obstacle(NamedTuple):
    """Something that an Express execution cannot do."""

    message: str
    at: Position


def kind_of(workflow: Workflow) -> Kind:
    return "EXPRESS" if workflow.settings.execution == "express" else "STANDARD"


def reason(workflow: Workflow, others: Mapping[str, Workflow]) -> str:
    """Why executions are of their kind, for people. `others`: workflows that may be called."""
    if workflow.settings.execution == "express":
        return f"as `execution: express` says; executions {_WITHOUT}"
    if workflow.settings.execution == "standard":
        return "as `execution: standard` says"
    found = [one.message for one in obstacles(workflow, others)]
    if found:
        more = f", and {len(found) - 1} more" if len(found) > 1 else ""
        return f"Express is not possible: {found[0]}{more}"
    return f"Express executions {_WITHOUT}; `execution: express` accepts that"


def obstacles(workflow: Workflow, others: Mapping[str, Workflow]) -> Iterator[Obstacle]:
    """Everything for which the workflow cannot be Express."""
    if undoes(workflow):
        yield Obstacle("a rollback cannot run in an Express execution", workflow.at)
    for step in workflow.all_steps():
        if any(reaction.action == "escalate" for reaction in reactions(step, workflow)):
            yield Obstacle(f"nobody can be asked about the step {step.id!r} in an Express execution", step.at)
        if step.type == "approval" or (step.type == "workflow" and step.wait_for_completion):
            yield Obstacle(f"the step {step.id!r} cannot run in an Express execution", step.at)
        elif _seconds(step) > EXPRESS_SECONDS:
            yield Obstacle(
                f"the step {step.id!r} may take {_seconds(step):g} s; an Express execution lasts at most {EXPRESS_SECONDS}",
                step.at,
            )
    if (workflow.settings.timeout or 0) > EXPRESS_SECONDS:
        yield Obstacle(f"an Express execution lasts at most {EXPRESS_SECONDS} seconds", workflow.at)
    for caller in others.values():
        for step in caller.all_steps():
            if step.workflow == workflow.id and step.type == "workflow" and step.wait_for_completion:
                who = f"the step {step.id!r} of {caller.id!r}"
                yield Obstacle(f"{who} waits for it, which is not possible with an Express execution", step.at)


def _seconds(step: Step) -> float:
    """How long a step takes for certain, or says that it may take."""
    if step.type != "wait":
        return step.timeout or 0
    value: Any = step.seconds.value if isinstance(step.seconds, Known) else step.seconds
    try:
        return float(value)
    except (TypeError, ValueError):  # computed, or an instant
        return 0


def check_execution_type(workflow: Workflow, others: Mapping[str, Workflow], findings: Findings) -> None:
    """Findings for everything that keeps a workflow from being Express that says it is."""
    if kind_of(workflow) == "EXPRESS":
        for message, at in obstacles(workflow, others):
            findings.add(rules.EXPRESS, message, at, hint="use `execution: standard`")
