"""Which loops become Distributed Maps: those that AWS's limits for an inline Map do not hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from translator.asl.limits import EXPRESS_SECONDS, HANDLED, MAX_DISTRIBUTED, MAX_EVENTS, MAX_INLINE
from translator.asl.retries import delays
from translator.expressions.references import slots
from translator.expressions.tree import Attribute, Call, Literal, Node, Slot
from translator.graph.scope import Graph, Scope
from translator.model.values import constant, nodes_of
from translator.model.workflow import UNDO_LOOP, Step, Workflow
from translator.passes.policies import reactions

DEFAULT_CONCURRENCY = 10
UNKNOWN_LENGTH = 10  # items that a loop of unknown length is counted with
_OWN_EVENTS = {
    "choice": 2, "wait": 2, "transform": 2, "aggregate": 2, "parallel": 4, "foreach": 4, "approval": 6, "workflow": 6,
}  # fmt: skip


def length_of(step: Step, workflow: Workflow) -> int | None:
    """How many items (or batches) a loop has at most, as far as it is known: a list, a range, an input's `max_items`."""
    known, plain = constant(step.items)
    count = len(plain) if known and isinstance(plain, list) else None
    if isinstance(step.items, Call) and step.items.name == "range":
        count = _range(step.items)
    elif isinstance(step.items, Attribute) and step.items.of == Slot("input", ""):
        spec: Any = (workflow.inputs or {}).get(step.items.name) or {}
        most = spec.get("max_items")
        count = most if isinstance(most, int) and not isinstance(most, bool) and most >= 0 else None
    return math.ceil(count / step.batch_size) if count is not None and step.batch_size else count


def _range(call: Call) -> int | None:
    numbers = [_whole(each) for each in call.args]
    if None in numbers or not 1 <= len(numbers) <= 3:
        return None
    try:
        return len(range(*[number for number in numbers if number is not None]))
    except ValueError:
        return None


def _whole(node: Node) -> int | None:
    value = node.value if isinstance(node, Literal) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Distribution:
    """How a loop runs as a Distributed Map. `kind` is that of its child executions, EXPRESS or STANDARD."""

    kind: str
    concurrency: int
    why: str


def distribute(workflow: Workflow, graph: Graph) -> dict[str, Distribution]:
    """The loops that run as Distributed Maps, by their ids.

    Those that ask for more than 40 at once; those over what one of them gives, which may be of any length; and the heaviest
    ones while the estimate of the execution's events is beyond 80 % of the limit.
    """
    if workflow.settings.execution == "express":
        return {}
    loops = [step for scope in graph.scopes() for step in scope.steps if step.type == "foreach" and step.id != UNDO_LOOP]
    most = min(MAX_DISTRIBUTED, workflow.settings.max_parallel or MAX_DISTRIBUTED)
    chosen: dict[str, str] = {}
    for step in loops:
        if min(step.max_parallel or 0, most) > MAX_INLINE:
            chosen[step.id] = f"it runs {min(step.max_parallel or 0, most):,} items at once"
    fresh = True
    while fresh:
        fresh = False
        for step in loops:
            read = {slot.name for node in nodes_of(step.items) for slot in slots(node) if slot.kind == "output"}
            if step.id not in chosen and read & chosen.keys():
                chosen[step.id] = "its items may be of any number"
                fresh = True
    while True:
        total, heaviest = _events(graph.body, workflow, chosen)
        if total <= HANDLED * MAX_EVENTS or not heaviest:
            break
        chosen[heaviest] = f"an execution would have about {total:,} events"
    return {
        step.id: Distribution(
            "EXPRESS" if _fits_express(step, workflow, chosen) else "STANDARD",
            min(step.max_parallel or DEFAULT_CONCURRENCY, most), chosen[step.id],
        )
        for step in loops if step.id in chosen
    }  # fmt: skip


def _events(scope: Scope, workflow: Workflow, chosen: Mapping[str, Any]) -> tuple[int, str]:
    """About how many events a scope makes, and its loop with the most of them."""
    total, heaviest, share = 0, "", 0
    for index in range(len(scope.steps)):
        own, best = events_of(scope, index, workflow, chosen)
        total += own
        if best and own > share:
            heaviest, share = best, own
    return total, heaviest


def events_of(scope: Scope, index: int, workflow: Workflow, chosen: Mapping[str, Any]) -> tuple[int, str]:
    """About how many events a step makes with what is inside of it, and the loop in it with the most of them."""
    step = scope.steps[index]
    inner = [_events(one, workflow, chosen) for one in scope.inner.get(index, ())]
    own = _OWN_EVENTS.get(step.type, 5)
    if step.type != "foreach":
        return own + sum(events for events, _ in inner) + len(inner), max(inner, default=(0, ""))[1]
    if step.id in chosen:
        return own + 12, max(inner, default=(0, ""))[1]
    length = length_of(step, workflow)
    return own + (UNKNOWN_LENGTH if length is None else length) * (2 + sum(events for events, _ in inner)), step.id


def _fits_express(step: Step, workflow: Workflow, chosen: Mapping[str, str]) -> bool:
    """Whether an item surely ends within the five minutes of an Express execution, and waits for nobody."""
    seconds = _longest(step.steps, workflow, chosen)
    return workflow.settings.execution != "standard" and seconds is not None and seconds <= EXPRESS_SECONDS


def _longest(steps: tuple[Step, ...], workflow: Workflow, chosen: Mapping[str, str]) -> float | None:
    """The most seconds that steps take, all attempts and pauses included; None when nothing bounds them."""
    total = 0.0
    for step in steps:
        if step.type in ("choice", "transform", "aggregate") and "script" not in step.config:
            continue
        if step.type == "wait":
            seconds = step.seconds.value if isinstance(step.seconds, Literal) else step.seconds
            if not isinstance(seconds, int | float):
                return None
            total += seconds
        elif step.type == "parallel":
            inner = [_longest(branch, workflow, chosen) for branch in step.branches]
            if None in inner:
                return None
            total += sum(each for each in inner if each is not None)
        elif step.type in ("foreach", "workflow", "approval") or step.timeout is None:
            return None
        else:
            found = reactions(step, workflow)
            retry = step.retry or workflow.settings.retry
            if any(reaction.action == "escalate" or reaction.retries for reaction in found):
                return None
            pauses = sum(delays(retry)) if retry is not None else 0
            total += step.timeout * (retry.max_attempts if retry is not None else 1) + pauses
    return total
