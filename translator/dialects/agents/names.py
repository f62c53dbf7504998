"""The names that texts of an `agents` definition may refer to, and the rewriting of these texts.

Only braces around a dotted or indexed name whose first part is known are a hole: `{state.x}`, `{input.x}`,
`{profiles}`. All other braces are text; so are double ones, as in a template of another language.
`${{ expression }}` is a hole with any expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from translator.diagnostics import Findings, Position
from translator.dialects.holes import CLOSE, Part, hole_end, written
from translator.dialects.spelling import rename
from translator.dialects.templates import closed, splice_holes
from translator.findings import dialects as rules

# The agents of the library, and the step types they are.
AGENTS = {
    "llm": "agent", "web_scraping": "scrape", "data_processing": "transform", "email": "email", "router": "choice",
    "aggregator": "aggregate", "human_loop": "approval", "api": "http", "database": "query",
}
ROOTS = frozenset({
    "state", "input", "inputs", "secrets", "workflow", "execution", "context", "user", "env", "errors", "vars",
    "variables", "steps", "nodes",
})
PATH = r"[^\W\d]\w*(?:\.[\w-]+|\[(?:\d+|'[^'\\\]{}]*'|\"[^\"\\\]{}]*\")\])*"
HOLE = re.compile(rf"(?P<escape>\\)?(?<!\{{)\{{(?P<path>{PATH})\}}")
_STATE = re.compile(r"(?<![\w.])state(?:\.([^\W\d][\w-]*)|\[\s*(?:'([^'\\\]]*)'|\"([^\"\\\]]*)\")\s*\])")
_IDENTIFIER = re.compile(r"[^\W\d]\w*\Z")


@dataclass(frozen=True, slots=True)
class Names:
    """What is known in one scope. `inputs` is None when the definition declares none, so that any name may be one."""

    outputs: frozenset[str]
    inputs: frozenset[str] | None
    variables: frozenset[str]
    given: frozenset[str] = frozenset()  # keys that the execution's input must hold
    loops: Mapping[str, str] = field(default_factory=dict)  # written name -> canonical name

    def inside(self, loops: Mapping[str, str]) -> Names:
        return replace(self, loops={**self.loops, **loops})

    def knows(self, word: str) -> bool:
        return (word in ROOTS or word in self.loops or word in self.outputs or word in self.variables
            or word in self.given or word in (self.inputs or ()))

    def value(self, key: str) -> str | None:
        """The expression for an input key of a node, or None when nothing is called so."""
        if key in self.loops:
            return self.loops[key]
        if key in self.outputs:
            return member("state", key)
        if key in self.variables:
            return member("variables", key)
        return member("input", key) if self.inputs is None or key in self.inputs else None

    def root(self, word: str) -> str | None:
        """What a root name is in canonical words; None when it is the same."""
        if word in self.loops:
            return self.loops[word]
        if word in self.outputs or word in self.variables or word in (self.inputs or ()):
            return None
        if word in self.given:
            return member("input", word)
        return "context.user" if word == "user" else None

    def respell(self, expression: str) -> str:
        return _STATE.sub(self._state, rename(expression, self.root))

    def _state(self, match: re.Match[str]) -> str:
        key = next(group for group in match.groups() if group is not None)
        first, dash, rest = key.partition("-")
        if key in self.outputs or first in self.outputs:
            return match[0]
        if dash and match[1]:  # `state.a-b` is a difference when there is no key `a-b`
            return self._known_state(first, f"state.{first}") + dash + rest
        return self._known_state(key, match[0])

    def _known_state(self, key: str, otherwise: str) -> str:
        if key == "input":
            return "input"
        return member("input", key) if self.inputs is None or key in self.inputs else otherwise


def member(root: str, key: str) -> str:
    """`root.key`, or with brackets when the key is no plain name."""
    if _IDENTIFIER.match(key):
        return f"{root}.{key}"
    escaped = key.replace("\\", "\\\\").replace("'", "\\'")
    return f"{root}['{escaped}']"


def output_of(identifier: str) -> str:
    """The expression for the output of a step."""
    return f"{member('steps', identifier)}.output"


def to_canonical(text: str, names: Names, at: Position, findings: Findings) -> str:
    """A text with its holes in the canonical spelling."""
    if "{" not in text:
        return text
    found: list[Part] = []
    here = 0
    while (start := text.find("${{", here)) >= 0:
        escaped = start > 0 and text[start - 1] == "\\"
        found += _paths(text[here : start - escaped], names, at, findings)
        begin = start + 3
        if escaped:
            found.append(Part(text[start:begin]))
            here = begin
            continue
        end = hole_end(text, begin)
        inside = text[begin:end]
        found.append(Part(f" {inside}", True, False) if end is None else Part(f" {names.respell(inside.strip())} ", True))
        here = len(text) if end is None else end + 2
    found += _paths(text[here:], names, at, findings)
    return written(closed(text, [part for part in found if part.text], "${{", CLOSE, at, findings))


def _paths(text: str, names: Names, at: Position, findings: Findings) -> Iterator[Part]:
    here = 0
    for match in HOLE.finditer(text):
        path = match["path"]
        root = re.split(r"[.\[]", path, maxsplit=1)[0]
        if not names.knows(root):
            if not match["escape"]:
                findings.add(rules.HOLE_AS_TEXT, f"`{{{path}}}` is kept as text: nothing is called {root!r} here", at)
            continue
        yield Part(text[here : match.start()])
        yield Part(f"{{{path}}}") if match["escape"] else Part(f" {names.respell(path)} ", True)
        here = match.end()
    yield Part(text[here:])


def to_expression(text: str, names: Names) -> str:
    """An expression field: holes in it are put in place."""

    def hole(match: re.Match[str]) -> str:
        root = re.split(r"[.\[]", match["path"], maxsplit=1)[0]
        if not names.knows(root):
            return match[0]
        return f"{{{match['path']}}}" if match["escape"] else f"${{{{ {match['path']} }}}}"

    return names.respell(splice_holes(HOLE.sub(hole, text)))


def mentions(texts: Iterable[str], key: str) -> bool:
    """Whether one of the texts refers to `key`."""
    word = re.compile(rf"(?<![\w]){re.escape(key)}(?![\w])")
    return any(word.search(text) for text in texts)


def singular(key: str, otherwise: str) -> str:
    """What one item of a list with this name is called."""
    for suffix in ("_list", "_array", "_items"):
        if key.endswith(suffix) and len(key) > len(suffix):
            return key[: -len(suffix)]
    if key.endswith("ies") and len(key) > 4:
        return key[:-3] + "y"
    if key.endswith(("sses", "shes", "ches", "xes", "zes")):
        return key[:-2]
    if key.endswith("s") and not key.endswith(("ss", "us", "is")) and len(key) > 2:
        return key[:-1]
    return otherwise


