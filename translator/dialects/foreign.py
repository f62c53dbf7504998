"""Holes in the spelling of another dialect, which stay text in this one: nearly always a slip.

Where such a text is meant, an expression that yields it says so; `convert` writes it like that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects.holes import CLOSE, OPEN, Part, hole_end, parts, written
from translator.expressions.parser import parse
from translator.expressions.tree import Literal, Name, walk
from translator.expressions.unparse import unparse
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
_BRACES = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_OWN = {"tasks": (("${", "}"),), "agents": (("${{", CLOSE),), "stages": (("${{", CLOSE),)}  # elsewhere both of:
_BOTH = (("${{", CLOSE), (OPEN, CLOSE))
# What each dialect leaves alone. Stages have a finding of their own for `{{ }}`; agents read `{x}` inside of `${x}`.
_FOREIGN = {
    "canonical": (_DOLLAR, _SINGLE), "steps": (_DOLLAR, _SINGLE), "graph": (_DOLLAR, _SINGLE),
    "stages": (_DOLLAR, _SINGLE), "tasks": (_DOUBLE, _SINGLE), "agents": (_DOUBLE,),
}
_WRITTEN = {"stages": "${{{{ {} }}}}", "tasks": "${{{}}}", "agents": "${{{{ {} }}}}"}
# Fields of canonical steps and workflows whose texts may have holes.
TEMPLATED = ("config", "input", "items", "seconds", "until", "cache", "outputs", "variables", "notifications")
# Where texts are code, expressions or words for people.
_SKIPPED = frozenset({
    "script", "custom_script", "code", "description", "name", "labels", "metadata", "pattern", "tags", "when", "condition",
    "expression", "id", "cases", "dialect",
})


def report(dialect: str, document: Map, canonical: Map, findings: Findings) -> None:
    """A finding for each text of `document` with a hole of another dialect that reads something known.

    `canonical` is the same definition in the canonical spelling, which says what its inputs, variables and keys are.
    """
    known: set[str] = set()
    written, simple = _WRITTEN.get(dialect, "{{{{ {} }}}}"), "{{{}}}"
    for text, at in _texts(document):
        for pattern in _FOREIGN[dialect]:
            if pattern.search(text) is None:
                continue  # nearly every text
            known = known or _names(canonical)
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
    out: list[str] = []
    here = 0
    while here < len(text):
        opener, close = next((own for own in _OWN.get(dialect, _BOTH) if text.startswith(own[0], here)), ("", ""))
        escaped = here > 0 and text[here - 1] == "\\"
        end = hole_end(text, here + len(opener), close) if opener and not escaped else None
        if end is None:
            out.append(text[here])
            here += 1
        else:
            out.append(" " * (end + len(close) - here))
            here = end + len(close)
    return "".join(out)


def quoted(dialect: str, canonical: Map) -> Map:
    """Canonical data in which each piece of a text that `dialect` would take for a slip is an expression for that text."""
    known = _names(canonical)
    patterns = (_BRACES, *_FOREIGN[dialect]) if dialect == "stages" else _FOREIGN[dialect]

    def slip(match: re.Match[str]) -> bool:
        return match.re is _BRACES or _reads(match["inside"], known)

    def pieces(text: str) -> Iterator[Part]:
        """The pieces of a plain text; those that look like a hole become one."""
        here = 0
        found = sorted((match for pattern in patterns for match in pattern.finditer(text) if slip(match)), key=re.Match.start)
        for match in found:
            if match.start() < here:
                continue
            yield Part(text[here : match.start()])
            yield Part(unparse(Literal(match[0])), True)
            here = match.end()
        yield Part(text[here:])

    def change(text: str, at: Position) -> str:
        if "{" not in text:
            return text
        before = parts(text)
        after = [piece for part in before for piece in ((part,) if part.hole else pieces(part.text))]
        if sum(part.hole for part in after) == sum(part.hole for part in before):
            return text
        return written(after, tidy=True)

    return _changed(canonical, change, known=False)


def _changed(value: Map, change: Callable[[str, Position], str], known: bool) -> Map:
    """The same data with the texts changed that may have holes; `known` where `value` is a part of such a field."""
    result = Map(value.pos)
    for key, item in value.items():
        at = value.at(key)
        if key in TEMPLATED or known and key not in _SKIPPED:
            item = _texts_changed(item, change, at)
        elif isinstance(item, Map) and key == "compensation":
            item = _changed(item, change, known=False)
        elif isinstance(item, Seq) and key in ("steps", "rollback", "finally", "branches"):
            items = Seq(item.pos)
            for one, place in item.pairs():
                items.add(_changed(one, change, known=False) if isinstance(one, Map) else one, place)
            item = items
        result.put(key, item, at, value.at_key(key))
    return result


def _texts_changed(value: Any, change: Callable[[str, Position], str], at: Position) -> Any:
    if isinstance(value, Map):
        return _changed(value, change, known=True)
    if isinstance(value, Seq):
        items = Seq(value.pos)
        for item, place in value.pairs():
            items.add(_texts_changed(item, change, place), place)
        return items
    return change(value, at) if isinstance(value, str) else value


def _texts(value: Any) -> Iterator[tuple[str, Position]]:
    stack: list[tuple[Any, Position]] = [(value, value.pos)]
    while stack:
        here, at = stack.pop()
        if isinstance(here, str):
            if "{" in here:
                yield here, at
        elif isinstance(here, Map):
            stack += [
                (item, here.at(key)) for key, item in here.items()
                if isinstance(item, (str, Map, Seq)) and key not in _SKIPPED and not key.startswith("x-")
            ]
        elif isinstance(here, Seq):
            stack += here.pairs()


def _names(canonical: Map) -> set[str]:
    """What an expression may begin with: roots, inputs, variables, output keys and the names of items."""
    found = {*_ROOTS, *(canonical.get("inputs") or ()), *(canonical.get("variables") or ())}
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


def _reads(inside: str, known: set[str]) -> bool:
    node = parse(inside, Position(1, 1), Findings())
    names = [part.name for part in walk(node) if isinstance(part, Name)] if node is not None else []
    return bool(names) and names[0] in known
