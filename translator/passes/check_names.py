"""Names that nothing is called, told even where order is not known because something else is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from translator.diagnostics import Findings
from translator.expressions.resolve import Names, resolve
from translator.expressions.tree import Literal, Node, ObjectOf
from translator.model.values import expressions_of, nodes_of
from translator.model.workflow import Workflow

_WORD = re.compile(r"[^\W\d][\w-]*\Z")


def check_names(workflow: Workflow, findings: Findings, lost: frozenset[str] = frozenset()) -> None:
    """Findings for names that are known nowhere in `workflow`; `lost` are words that may have named something in parts of it
    that could not be read.
    """
    steps = [*workflow.all_steps()]
    nothing = Literal(None)
    loops = {name for step in steps if step.type == "foreach" for name in (step.item_name, step.index_name, "item", "index")}
    names = Names(
        inputs=None if workflow.inputs is None else {**dict.fromkeys(lost), **workflow.inputs},
        variables=lost | workflow.variables.keys(),
        steps=lost | {step.id for step in steps},
        state=dict.fromkeys((*lost, *(step.output_key for step in steps if step.output_key)), nothing),
        bare=dict.fromkeys(sorted(loops), nothing),
        errors=lambda at: ObjectOf((), at),
    )
    for node in _expressions(workflow):
        if not isinstance(node, Literal):
            resolve(node, names, findings)


def _expressions(workflow: Workflow) -> Iterator[Node]:
    for step in workflow.all_steps():
        yield from expressions_of(step)
    yield from nodes_of(workflow.variables)
    if workflow.outputs is not None:
        yield from nodes_of(workflow.outputs)
    for note in workflow.notifications:
        yield from nodes_of(note.config)


def words_of(document: Any) -> frozenset[str]:
    """Every key of `document`, and every text in it that may be a name."""
    found: set[str] = set()
    stack = [document]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            found.update(here)
            stack += here.values()
        elif isinstance(here, list):
            stack += here
        elif isinstance(here, str) and _WORD.match(here):
            found.add(here)
    return frozenset(found)


def ids_of_steps(document: Any) -> set[str]:
    """Every text under a key `id`."""
    found: set[str] = set()
    stack = [document]
    while stack:
        here = stack.pop()
        if isinstance(here, dict):
            if isinstance(here.get("id"), str):
                found.add(here["id"])
            stack += here.values()
        elif isinstance(here, list):
            stack += here
    return found
