"""Settings that a step has and its type does not, and settings that have nothing to act on: no value is lost silently."""

from __future__ import annotations

from collections.abc import Iterator

from translator.diagnostics import Findings, Position
from translator.findings import dialects as dialect_rules
from translator.findings import graph as rules
from translator.model.workflow import Step, Workflow
from translator.nearest import nearest
from translator.source import Map, position_of

# Settings that stand in the step itself, by the types that have them.
OWN = {
    "choice": ("cases", "default", "mode"),
    "parallel": ("branches", "wait_for_all", "max_parallel"),
    "foreach": ("items", "item_name", "index_name", "steps", "batch_size", "on_item_error", "max_parallel"),
    "wait": ("seconds", "until"),
    "workflow": ("workflow", "input", "wait_for_completion"),
}
_ALL = tuple(dict.fromkeys(key for keys in OWN.values() for key in keys))
_TIMELESS = ("choice", "wait")  # nothing is waited for that could take too long
_SHAPE = {
    "parallel": "write `branches:`, a list with `{steps: […]}` for each branch",
    "foreach": "write `items:` and `steps:` beside `type:`",
}


def check_unused(workflow: Workflow, findings: Findings) -> set[str]:
    """Reports them; gives the ids of steps whose own settings stand in the wrong place, so that they seem to be missing."""
    misplaced: set[str] = set()
    for step in _every(workflow):
        if isinstance(step.source, Map):
            if _foreign(step, step.source, findings) | _configured(step, step.source, findings):
                misplaced.add(step.id)
            _without_effect(step, step.source, findings)
    return misplaced


def _every(workflow: Workflow) -> Iterator[Step]:
    """All steps, those that undo too."""
    stack = [*workflow.rollback, *workflow.all_steps()]
    seen: set[int] = set()
    while stack:
        step = stack.pop()
        if id(step) in seen:
            continue
        seen.add(id(step))
        yield step
        if step.compensation is not None:
            stack.append(step.compensation)
        for inner in step.inner():
            stack += inner


def _foreign(step: Step, source: Map, findings: Findings) -> bool:
    """Settings of another type."""
    found = False
    own = OWN.get(step.type, ())
    for key in _ALL:
        if key in own or source.get(key) in (None, "", [], {}):
            continue
        if key in _DEFAULTS and source[key] == _DEFAULTS[key]:
            continue
        found = True
        if step.type == "parallel" and key == "steps":
            hint = "write `branches: [{steps: […]}, …]`; each branch runs its steps one after another, beside the others"
        elif step.type == "skill" and key == "input":
            hint = "what a skill takes stands under `parameters:`"
        else:
            have = " or ".join(kind for kind, keys in OWN.items() if key in keys)
            hint = f"`{key}` belongs to a step of type {have}"
        findings.add(rules.OTHER_TYPE, f"{step.id!r}: a step of type {step.type} has no `{key}`", source.at_key(key), hint=hint)
    return found


# What says nothing when it says this.
_DEFAULTS = {
    "mode": "first", "wait_for_all": True, "item_name": "item", "index_name": "index", "on_item_error": "fail",
    "wait_for_completion": True,
}


def _configured(step: Step, source: Map, findings: Findings) -> bool:
    """A configuration of a type that has none."""
    config = source.get("config")
    own = OWN.get(step.type)
    if own is None or not isinstance(config, Map):
        return False
    for key in config:
        if key in own:
            hint = f"write `{key}:` beside the step's `id:` and `type:`"
        else:
            near = nearest(key, own)
            hint = f"did you mean `{near}`, beside `type:`?" if near else _SHAPE.get(step.type, f"it has {', '.join(own)}")
        findings.add(
            rules.OTHER_TYPE, f"{step.id!r}: a step of type {step.type} has no `{key}` among its settings", config.at_key(key),
            hint=hint,
        )
    return bool(config)


def _without_effect(step: Step, source: Map, findings: Findings) -> None:
    """What is understood, and has nothing to act on."""

    def say(key: str, why: str, at: Position | None = None) -> None:
        findings.add(dialect_rules.NO_EFFECT, f"`{key}` of {step.id!r} has no effect: {why}", at or source.at_key(key))

    if step.timeout is not None and step.type in _TIMELESS:
        say("timeout", f"a {step.type} is done by the state machine itself")
    if step.heartbeat is not None and step.type in OWN:
        say("heartbeat", "no function runs that could send one")
    if step.undo_failed is not None and step.compensation is None:
        say("undo_failed", "the step has no `compensation`")
    if step.compensation is not None and step.compensation.depends_on:
        at = position_of(source, ("compensation", "depends_on"))
        say("compensation.depends_on", "completed steps are undone one by one, newest first", at)
    policy = source.get("on_failure")
    if isinstance(policy, Map):
        for key, actions in (("max_retries", ("retry",)), ("then", ("retry", "escalate")), ("approvers", ("escalate",)),
                ("timeout", ("escalate",))):
            chosen = {policy.get("action"), policy.get("then") if key in ("approvers", "timeout") else None}
            if policy.get(key) not in (None, [], "") and not chosen & set(actions):
                say(f"on_failure.{key}", f"the action is {policy.get('action')}", policy.at_key(key))
