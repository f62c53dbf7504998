"""Releases: what is known at run time of one version of a workflow. Made by the compiler, kept in the catalog table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

Json = Any


class StepFacts(TypedDict):
    """`hash` is over all that decides what the step does; `after` are the steps it waits for or reads from.

    `loops` are the ids of the loops around it, outermost first. `undo` says that it has a compensation.
    """

    type: str
    hash: str
    after: list[str]
    loops: NotRequired[list[str]]
    undo: NotRequired[bool]
    workflow: NotRequired[str]  # the workflow that it calls
    children: NotRequired[list[str]]  # the steps directly inside of a parallel or loop
    last: NotRequired[bool]  # it runs at the end, also when the body failed before it came to all of its steps
    hidden: NotRequired[bool]  # the compiler made it; nobody wrote it
    accepts: NotRequired[list[str]]  # names of errors that are an answer like any other


class StateFacts(TypedDict):
    """The step that a state belongs to (empty for none) and what it is for it (step, evaluate, failed, item ...)."""

    step: str
    role: str
    output: NotRequired[str]  # the variable (or the key of the state's output) that takes the step's output, if it is read
    under: NotRequired[str]  # the key of the state's output under which that key is
    outcomes: NotRequired[dict[str, str]]  # of a choice: the outcome that leads to a state, where only one does


class ReleaseSettings(TypedDict, total=False):
    """Seconds. `checkpoint` is {policy: every_node | every_n | on_failure | interval | manual | none, every, seconds, after}.

    `after` are the ids of steps after which there is one whatever the policy is.
    """

    checkpoint: dict[str, Json]
    sla: float
    timeout: float
    retention: float
    concurrency: int  # executions that may run at once
    priority: str     # low, normal or high: that of executions whose start says nothing


class TriggerName(TypedDict):
    """The id of a trigger (empty where nothing starts by itself), and a hash over all that it says."""

    id: str
    type: str
    hash: str


class TriggerFacts(TypedDict):
    """A schedule of the workflow. `expression` is EventBridge Scheduler's."""

    id: str
    type: str
    expression: str
    timezone: str
    input: dict[str, Json]
    overlap: str  # allow, skip, queue or cancel_running: what happens while an earlier one still goes on
    enabled: bool
    catch_up: NotRequired[str]  # none or last: what happens with moments at which nothing could be started
    window: NotRequired[int]  # minutes within which it may start


class WebhookFacts(TypedDict):
    """An address that starts the workflow. `secret` is the name of one; `fields` are inputs by their path in the body."""

    id: str
    secret: str
    header: str
    timestamp: bool
    window: float
    input: dict[str, Json]
    fields: dict[str, str]


class EventFacts(TypedDict):
    """Events that start the workflow: their detail types (`*` for any text), source, pattern and condition.

    `workflow` is not empty for the endings of that workflow. `where` is an expression's tree; null holds always.
    """

    id: str
    events: list[str]
    source: str
    workflow: str
    filter: dict[str, Json]
    where: Json
    input: dict[str, Json]
    fields: dict[str, str]


class Release(TypedDict):
    """One version. `machine`, `rollback` and `ending` are ARNs of state machines: `rollback` undoes what an execution did,
    `ending` runs `finally` of one that was cancelled. `parts` run parts of `machine`, which would be too large otherwise.
    """

    workflow: str
    version: str
    hash: str
    machine: str
    rollback: NotRequired[str]
    ending: NotRequired[str]
    parts: NotRequired[list[str]]
    steps: dict[str, StepFacts]
    states: dict[str, StateFacts]
    settings: ReleaseSettings
    inputs: NotRequired[dict[str, Json] | None]
    looked_into: NotRequired[list[str]]  # inputs that the machines themselves look into, by JSON pointer; without, all
    named: NotRequired[list[TriggerName]]  # all triggers of the definition, in its order
    triggers: NotRequired[list[TriggerFacts]]
    webhooks: NotRequired[list[WebhookFacts]]
    events: NotRequired[list[EventFacts]]
    contents: NotRequired[str]  # a hash over all that was published, the workflows that it calls included


def dependents(steps: Mapping[str, StepFacts], changed: set[str]) -> set[str]:
    """`changed` and every step that waits for or reads from one of them, however indirectly."""
    found = set(changed)
    readers: dict[str, list[str]] = {}
    for step, facts in steps.items():
        for before in facts["after"]:
            readers.setdefault(before, []).append(step)
    stack = list(changed)
    while stack:
        for reader in readers.get(stack.pop(), ()):
            if reader not in found:
                found.add(reader)
                stack.append(reader)
    return found
