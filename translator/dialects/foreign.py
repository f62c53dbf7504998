"""Holes in the spelling of another dialect, which stay text in this one: nearly always a slip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from translator.diagnostics import Findings, Position
from translator.expressions.parser import parse
from translator.expressions.tree import Name, walk
from translator.findings import dialects as rules
from translator.source import Map, Seq

_ROOTS = frozenset({
    "input", "inputs", "parameters", "params", "vars", "variables", "steps", "nodes", "tasks", "state", "secrets", "env",
    "errors", "context", "workflow", "execution",
})
_DOUBLE = re.compile(r"(?<![\\${])\{\{(?P<inside>[^{}]+)\}\}")
_DOLLAR = re.compile(r"(?<!\\)\$\{(?P<inside>[^{}]+)\}")
_SINGLE = re.compile(r"(?<![\\${])\{(?P<inside>[^\W\d]\w*(?:\.[\w-]+)+)\}(?!\})")
_PATH = re.compile(r"[^\W\d]\w*(?:\.[\w-]+)*")
_OWN = re.compile(r"\$?\{\{.*?\}\}", re.DOTALL)
# What each dialect leaves alone. Stages have a finding of their own for `{{ }}`; agents read `{x}` inside of `${x}`.
_FOREIGN = {
    "canonical": (_DOLLAR, _SINGLE), "steps": (_DOLLAR, _SINGLE), "graph": (_DOLLAR, _SINGLE),
    "stages": (_DOLLAR, _SINGLE), "tasks": (_DOUBLE, _SINGLE), "agents": (_DOUBLE,),
}
_WRITTEN = {"stages": "${{{{ {} }}}}", "tasks": "${{{}}}", "agents": "${{{{ {} }}}}"}
# Where texts are code, expressions or words for people.
_SKIPPED = frozenset({
    "script", "custom_script", "code", "description", "name", "labels", "metadata", "pattern", "tags", "when", "condition",
    "expression", "id", "cases", "dialect",
})


def report(dialect: str, document: Map, canonical: Map, findings: Findings) -> None:
    """A finding for each text of `document` with a hole of another dialect that reads something known.

    `canonical` is the same definition in the canonical spelling, which says what its inputs, variables and keys are.
    """
    known = _ROOTS | _names(canonical)
    written, simple = _WRITTEN.get(dialect, "{{{{ {} }}}}"), "{{{}}}"
    for text, at in _texts(document):
        for pattern in _FOREIGN[dialect]:
            match = next((found for found in pattern.finditer(_masked(dialect, text)) if _reads(found["inside"], known)), None)
            if match is not None:
                inside = match["inside"].strip()
                place = at if "\n" in text else at.shifted(match.start(), len(match[0]))
                findings.add(rules.FOREIGN_HOLE, f"{match[0]!r} stays text in the {dialect} dialect", place,
                    hint=f"write `{(simple if dialect == 'agents' and _PATH.fullmatch(inside) else written).format(inside)}`"
                    " for the value")
                break


def _masked(dialect: str, text: str) -> str:
    """The text with this dialect's own holes blanked out, so that what they hold is not looked at."""
    if dialect in ("tasks", "agents"):
        return text
    return _OWN.sub(lambda match: " " * len(match[0]), text)


def _texts(value: Any) -> Iterator[tuple[str, Position]]:
    stack: list[tuple[Any, Position]] = [(value, value.pos)]
    while stack:
        here, at = stack.pop()
        if isinstance(here, str):
            if "{" in here:
                yield here, at
        elif isinstance(here, Map):
            stack += ((here[key], here.at(key)) for key in here if key not in _SKIPPED and not key.startswith("x-"))
        elif isinstance(here, Seq):
            stack += here.pairs()


def _names(canonical: Map) -> set[str]:
    """Inputs, variables, output keys and the names of items."""
    found = {*(canonical.get("inputs") or ()), *(canonical.get("variables") or ())}
    stack: list[Any] = [canonical]
    while stack:
        here = stack.pop()
        if isinstance(here, Map):
            found.update(here[key] for key in ("output_key", "item_name") if isinstance(here.get(key), str))
            if here.get("type") == "foreach":
                found.add("item")
            stack += here.values()
        elif isinstance(here, Seq):
            stack += here
    return found


def _reads(inside: str, known: frozenset[str] | set[str]) -> bool:
    node = parse(inside, Position(1, 1), Findings())
    names = [part.name for part in walk(node) if isinstance(part, Name)] if node is not None else []
    return bool(names) and names[0] in known
