"""What a failure of each step leads to: its own `on_failure`, else the error handlers, else the workflow's policy."""

from __future__ import annotations

from dataclasses import dataclass

from aslant.error_names import ALL
from translator.diagnostics import Findings
from translator.findings import asl as rules
from translator.model.workflow import OnFailure, Step, Workflow

_NOT_YET = frozenset({"rollback", "compensate", "escalate"})


@dataclass(frozen=True, slots=True)
class Reaction:
    """What failures with one of `errors` lead to, after `retries` more attempts."""

    errors: tuple[str, ...]
    action: str  # fail or continue
    retries: int = 0


def reactions(step: Step, workflow: Workflow) -> tuple[Reaction, ...]:
    """The reactions to a step's failure, first match wins. What none of them matches makes the execution fail."""
    if step.on_failure is not None:
        return (_reaction((ALL,), step.on_failure),)
    if step.type in ("parallel", "foreach"):  # the steps inside have been through the handlers
        return ()
    found = [_reaction(handler.errors, handler.on_failure) for handler in workflow.error_handlers]
    default = workflow.settings.on_error
    if default is not None and not any(ALL in reaction.errors for reaction in found):
        found.append(_reaction((ALL,), default))
    while found and found[-1] == Reaction(found[-1].errors, "fail"):
        found.pop()  # failing is what happens anyway
    return tuple(found)


def continues(step: Step, workflow: Workflow) -> bool:
    """Whether some failure of the step lets the workflow go on."""
    return any(reaction.action == "continue" for reaction in reactions(step, workflow))


def _reaction(errors: tuple[str, ...], policy: OnFailure) -> Reaction:
    if policy.action == "retry":
        retries = 3 if policy.max_retries is None else policy.max_retries
        return Reaction(errors, "continue" if policy.then == "continue" else "fail", retries)
    return Reaction(errors, "continue" if policy.action == "continue" else "fail")


def report_policies(workflow: Workflow, findings: Findings) -> None:
    """Findings for failure actions that the machine does not carry out yet."""
    policies = [step.on_failure for step in workflow.all_steps()]
    policies += [handler.on_failure for handler in workflow.error_handlers]
    policies.append(workflow.settings.on_error)
    for policy in policies:
        if policy is None:
            continue
        for action in (policy.action, policy.then):
            if action in _NOT_YET:
                findings.add(
                    rules.FAILURE_ACTION,
                    f"`{action}` is not carried out yet: the execution fails as with `fail`",
                    policy.at,
                )
    notified = any("failed" in note.on for note in workflow.notifications)
    for handler in workflow.error_handlers:
        if handler.notify and not notified:
            findings.add(rules.NO_NOTIFICATION, "the handler notifies, but there is no failure notification", handler.at)
        if handler.steps:
            findings.add(
                rules.FAILURE_ACTION, "the handler's steps belong to a rollback, which is not carried out yet", handler.at
            )
