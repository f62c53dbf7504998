"""What is to be drawn: boxes, boxes in boxes, and arrows, before any drawing language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from translator.expressions.tree import Node as Expression
from translator.expressions.unparse import unparse
from translator.graph.guards import NEVER
from translator.model.workflow import Edge, Step, Workflow

# The colours of a kind of step: what it is about, its fill and its stroke.
COLOURS: dict[str, tuple[str, str]] = {
    "choice": ("#fff3c4", "#b7791f"),
    "approval": ("#fde2e4", "#b83280"),
    "wait": ("#edf2f7", "#718096"),
    "foreach": ("#e9f5ff", "#2b6cb0"),
    "parallel": ("#eef0ff", "#5a67d8"),
    "workflow": ("#e6dcff", "#6b46c1"),
    "agent": ("#e0f7ef", "#2f855a"),
    "transform": ("#e2f1f8", "#2c7a7b"),
    "aggregate": ("#e2f1f8", "#2c7a7b"),
    "notify": ("#fff0e0", "#c05621"),
    "email": ("#fff0e0", "#c05621"),
}
OTHER = ("#ffffff", "#4a5568")
BOX = ("#f7fafc", "#a0aec0")
EXPRESSION = 36  # characters of a condition that are shown
_MOST_LINKS = 600  # of one scope, above which links that say nothing new are drawn as well


@dataclass(frozen=True, slots=True)
class Node:
    """One step."""

    id: str
    label: str
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Link:
    """An arrow between two direct members of one scope."""

    source: str
    target: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Scope:
    """A box with members; `id` is a step's id for parallel and foreach, else made up."""

    id: str
    label: str
    kind: str
    items: tuple[Node | Scope, ...] = ()
    links: tuple[Link, ...] = ()


def scene(workflow: Workflow) -> Scope:
    """The workflow as nested scopes; `finally` and `rollback` stand in boxes of their own after the body."""
    body = _items(workflow.steps)
    links = _links(workflow.steps)
    extra: list[Scope] = []
    for kind, steps in (("finally", workflow.finally_), ("rollback", workflow.rollback)):
        if steps:
            extra.append(Scope(f"\0{kind}", kind, kind, tuple(_items(steps)), tuple(_links(steps))))
    if extra and body:
        inner = Scope("\0body", "", "body", tuple(body), tuple(links))
        chain = [Link("\0body", extra[0].id, "always" if extra[0].kind == "finally" else "on failure")]
        chain += [Link(one.id, two.id, "on failure") for one, two in pairwise(extra)]
        return Scope("", workflow.name or workflow.id, "workflow", (inner, *extra), tuple(chain))
    return Scope("", workflow.name or workflow.id, "workflow", (*body, *extra), tuple(links))


def _items(steps: Sequence[Step]) -> list[Node | Scope]:
    return [_item(step) for step in steps]


def _item(step: Step) -> Node | Scope:
    if step.type == "foreach":
        return Scope(step.id, _titled(step), "foreach", tuple(_items(step.steps)), tuple(_links(step.steps)))
    if step.type == "parallel" and step.branches:
        members: list[Node | Scope] = []
        for index, branch in enumerate(step.branches):
            if len(branch) == 1:
                members.append(_item(branch[0]))
            elif branch:
                members.append(
                    Scope(f"\0{step.id}\0{index}", "", "branch", tuple(_items(branch)), tuple(_links(branch)))
                )
        return Scope(step.id, _titled(step), "parallel", tuple(members))
    return Node(step.id, step.label, step.type, " · ".join(_details(step)))


def _titled(step: Step) -> str:
    return " · ".join([step.label, *_details(step)])


def _details(step: Step) -> list[str]:
    details = [step.type]
    if step.when is not None:
        details.append(f"when {_expression(step.when)}")
    if step.retry is not None and step.retry.max_attempts > 1:
        details.append(f"up to {step.retry.max_attempts}×")
    if step.max_parallel:
        details.append(f"{step.max_parallel} at once")
    if step.compensation is not None:
        details.append("can be undone")
    return details


def _links(steps: Sequence[Step]) -> list[Link]:
    """Edges between the members of one scope; an edge into a nested scope ends at its box."""
    owner: dict[str, str] = {}
    for step in steps:
        owner[step.id] = step.id
        for inner in _nested(step):
            owner.setdefault(inner.id, step.id)
    found: dict[tuple[str, str], list[str]] = {}
    for step in steps:
        for edge in step.depends_on:
            source = owner.get(edge.step)
            if source is not None and source != step.id and edge.when != NEVER:  # those only order
                labels = found.setdefault((source, step.id), [])
                if (label := _label(edge)) and label not in labels:
                    labels.append(label)
    shown = [Link(source, target, ", ".join(labels)) for (source, target), labels in found.items()]
    return _without_detours(shown) if len(shown) <= _MOST_LINKS else shown


def _without_detours(links: list[Link]) -> list[Link]:
    """The links without plain ones whose two ends are joined by a longer way: they say nothing new about the order."""
    after: dict[str, set[str]] = {}
    for link in links:
        after.setdefault(link.source, set()).add(link.target)
    return [link for link in links if link.label or not _joined_otherwise(link, after)]


def _joined_otherwise(link: Link, after: Mapping[str, set[str]]) -> bool:
    seen = {link.target}
    stack = [step for step in after[link.source] if step != link.target]
    while stack:
        here = stack.pop()
        if here in seen:
            continue
        seen.add(here)
        if link.target in after.get(here, ()):
            return True
        stack.extend(after.get(here, ()))
    return False


def _nested(step: Step) -> Iterable[Step]:
    for group in step.inner():
        for inner in group:
            yield inner
            yield from _nested(inner)


def _label(edge: Edge) -> str:
    return ", ".join(edge.on) if edge.on else _expression(edge.when) if edge.when is not None else ""


def _expression(node: Expression) -> str:
    """The expression's text as far as it fits into a drawing."""
    try:
        text = unparse(node)
    except ValueError:  # names that the compiler has already put in have no text any more
        return "…"
    return text if len(text) <= EXPRESSION else f"{text[: EXPRESSION - 1]}…"
