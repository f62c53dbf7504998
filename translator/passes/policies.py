"""What a failure of each step leads to: its own `on_failure`, else the error handlers, else the workflow's policy."""

from __future__ import annotations

from dataclasses import dataclass

from aslant.error_names import ALL, NEVER_RETRIED, canonical
from translator.diagnostics import Findings
from translator.findings import asl as rules
from translator.graph.scope import Scope
from translator.model.workflow import OnFailure, Step, Workflow
from translator.source import Map, position_of

UNDOING = frozenset({"rollback", "compensate"})

@dataclass(frozen=True, slots=True)
class Reaction:
    """What failures with one of `errors` lead to, after `retries` more attempts."""

    errors: tuple[str, ...]
    action: str  # fail, continue, rollback, compensate or escalate
    retries: int = 0
    steps: tuple[str, ...] = ()  # of the rollback steps those that run, if not all do
    then: str = "fail"  # after an escalation that ended without an answer, or with giving up
    approvers: tuple[str, ...] = ()  # who is asked; everybody when empty
    timeout: float | None = None  # seconds to wait for the answer


FAILS = Reaction((), "fail")


def reactions(step: Step, workflow: Workflow) -> tuple[Reaction, ...]:
    """The reactions to a step's failure, first match wins. What none of them matches makes the execution fail."""
    if step.on_failure is not None:
        return (_reaction((ALL,), step.on_failure),)
    if step.type in ("parallel", "foreach"):  # the steps inside have been through the handlers
        return ()
    found = [_reaction(handler.errors, handler.on_failure, handler.steps) for handler in workflow.error_handlers]
    default = workflow.settings.on_error
    if default is not None and not any(ALL in reaction.errors for reaction in found):
        found.append(_reaction((ALL,), default))
    while found and found[-1] == Reaction(found[-1].errors, "fail"):
        found.pop()  # failing is what happens anyway
    return tuple(found)


def continues(step: Step, workflow: Workflow) -> bool:
    """Whether some failure of the step lets the workflow go on."""
    return any(reaction.action in ("continue", "escalate") for reaction in reactions(step, workflow))


def continues_around(scope: Scope, index: int, workflow: Workflow) -> bool:
    """Whether the workflow may go on after the step, or a parallel or loop around it, has failed."""
    here: tuple[Scope, int] | None = (scope, index)
    while here is not None:
        step = here[0].steps[here[1]]
        if continues(step, workflow) or step.on_item_error == "continue":
            return True
        here = here[0].owner
    return False


def undoes(workflow: Workflow) -> bool:
    """Whether some failure makes the execution undo what it did."""
    return any(
        UNDOING & {reaction.action, reaction.then} for step in workflow.all_steps() for reaction in reactions(step, workflow)
    )


def handles(step: Step, workflow: Workflow) -> bool:
    """Whether a failure of the step leads to something that only a state with a `Catch` can do."""
    return any(
        reaction.retries or reaction.action in ("continue", "escalate") for reaction in reactions(step, workflow)
    )


def _reaction(errors: tuple[str, ...], policy: OnFailure, steps: tuple[str, ...] = ()) -> Reaction:
    action: str = policy.action
    then = policy.then if policy.then in ("continue", *UNDOING, "escalate") else "fail"
    if action == "retry":
        retries = 3 if policy.max_retries is None else policy.max_retries
        return Reaction(
            errors, then, retries, steps if then in UNDOING else (), approvers=policy.approvers, timeout=policy.timeout
        )
    if action == "escalate":
        return Reaction(errors, action, 0, steps if then in UNDOING else (), then, policy.approvers, policy.timeout)
    return Reaction(errors, action, 0, steps if action in UNDOING else ())


def report_policies(workflow: Workflow, findings: Findings) -> None:
    """Findings for failure actions that have nothing to act on."""
    notified = any("failed" in note.on for note in workflow.notifications)
    for handler in workflow.error_handlers:
        if handler.notify and not notified:
            findings.add(rules.NO_NOTIFICATION, "the handler notifies, but there is no failure notification", handler.at)
        if handler.steps and not UNDOING & {handler.on_failure.action, handler.on_failure.then}:
            findings.add(
                rules.FAILURE_ACTION, "the handler's steps run as a part of a rollback, and the handler asks for none",
                handler.at, hint="use `action: rollback`",
            )
        if handler.on_failure.action == "retry" and handler.errors and NEVER_RETRIED.issuperset(handler.errors):
            findings.add(
                rules.NEVER_RETRIED, f"{', '.join(handler.errors)}: never retried, so this handler makes no further attempt",
                handler.at, hint="use another `action`",
            )
    for step in workflow.all_steps():
        if step.type in ("choice", "wait") and (step.on_failure or step.retry) is not None:
            key = "retry" if step.on_failure is None else "on_failure"
            if step.on_failure is None or step.on_failure.action != "fail":
                findings.add(
                    rules.FAILURE_ACTION, f"the state machine evaluates {step.id!r} itself, and nothing can catch its failure",
                    step.source.at_key(key) if isinstance(step.source, Map) else step.at,
                    hint="compute the value by a transform before it, whose failure can be handled",
                )
    for holder in (*(step.source for step in workflow.all_steps()), workflow.source.get("settings")):
        written = holder["retry"].get("on") if holder and holder.get("retry") else None
        for index, name in enumerate(written or ()):
            if NEVER_RETRIED.issuperset(canonical(name)):
                at = position_of(holder, ("retry", "on", index))
                findings.add(rules.NEVER_RETRIED, f"{name!r} is never retried, listed or not", at, hint="leave it out")
    if undoes(workflow) and not workflow.rollback and all(step.compensation is None for step in workflow.all_steps()):
        policies = [step.on_failure for step in workflow.all_steps()]
        policies += [*(handler.on_failure for handler in workflow.error_handlers), workflow.settings.on_error]
        at = next(policy.at for policy in policies if policy is not None and UNDOING & {policy.action, policy.then})
        findings.add(
            rules.NOTHING_TO_UNDO, "there is nothing to undo: no step has a compensation, and there are no rollback steps", at
        )
