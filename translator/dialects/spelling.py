"""How a dialect spells texts with holes, expressions and nested steps; and the walk that applies a spelling.

A `Spelling` says what changes between a dialect and the canonical spelling; `carry_step` and `carry_workflow` apply it
to the keys that both share. Positions of values are kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects.templates import map_texts
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq

TextChange = Callable[[str, Position], str]
ExpressionChange = Callable[[str, Position], tuple[str, Position]]


@dataclass(frozen=True, slots=True)
class Spelling:
    """What changes on the way between a dialect and the canonical spelling."""

    text: TextChange
    expression: ExpressionChange
    step: Callable[[Map], Map]
    computed: ExpressionChange | None = None  # the expression of a transform, where it is not as any other


# Keys of a canonical step, by how their values are read.
EXPRESSION_KEYS = frozenset({"when"})
TEMPLATE_KEYS = frozenset({"config", "items", "seconds", "until", "input"})
PLAIN_KEYS = frozenset({
    "id", "name", "description", "type", "output_key", "timeout", "heartbeat", "checkpoint", "pure", "undo_failed", "labels",
    "default", "mode", "wait_for_all", "max_parallel", "item_name", "index_name", "batch_size", "on_item_error",
    "workflow", "wait_for_completion", "retry", "on_failure",
})
# Settings of a structural type that are keys of the step itself, not of its `config`.
STRUCTURE = {
    "choice": ("cases", "default", "mode"),
    "parallel": ("branches", "wait_for_all", "max_parallel"),
    "foreach": ("items", "item_name", "index_name", "steps", "batch_size", "on_item_error", "max_parallel"),
    "wait": ("seconds", "until"),
    "workflow": ("workflow", "input", "wait_for_completion"),
}
CANONICAL_TYPES = (
    "http", "agent", "scrape", "transform", "choice", "parallel", "foreach", "wait", "notify", "email", "query",
    "command", "deploy", "scale", "approval", "aggregate", "workflow", "skill",
)

_STRING = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'"
_TOKEN = re.compile(_STRING + r"|(?<![\w.])[^\W\d]\w*", re.DOTALL)
_LITERAL = re.compile(_STRING, re.DOTALL)
_KEY_AFTER = re.compile(r"\s*:")
SIMPLE_PATH = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*|\[(?:\d+|'[^'\\\]{}]*'|\"[^\"\\\]{}]*\")\])*\Z")


def rename(expression: str, name: Callable[[str], str | None]) -> str:
    """Replace root names (not attributes, keys or words in strings) by what `name` gives for them, None: unchanged."""

    def change(match: re.Match[str]) -> str:
        word = match[0]
        if word[0] in "\"'":
            return word
        if _KEY_AFTER.match(expression, match.end()) and _last_before(expression, match.start()) in ("{", ","):
            return word  # a key of an object
        new = name(word)
        return word if new is None else new

    return _TOKEN.sub(change, expression)


def respelled(kind: str, config: Map, spelling: Spelling) -> Map:
    """The configuration of a step of the type `kind`: texts, and the expression of a transform."""
    result = Map(config.pos)
    for key, value in config.items():
        if kind == "transform" and key == "expression":
            put_changed(result, key, value, config, spelling.computed or spelling.expression)
        else:
            put(result, key, map_texts(value, spelling.text, config.at(key)), config)
    return result


_BRACES = re.compile(r"\\(?:\$?\{\{|.)|(\$?\{\{)", re.DOTALL)


def escaped(expression: str) -> str:
    """The expression with no text literal in it that would be read as one with holes."""
    if "{{" not in expression:
        return expression
    return in_literals(expression, lambda literal: _BRACES.sub(_plain_braces, literal))


def _plain_braces(match: re.Match[str]) -> str:
    return f"\\{match[1]}" if match[1] else match[0]


def in_literals(expression: str, change: Callable[[str], str]) -> str:
    """The expression with `change` applied to each text literal, quotes included."""
    return _LITERAL.sub(lambda match: change(match[0]), expression)


def _last_before(text: str, end: int) -> str:
    while end > 0 and text[end - 1].isspace():
        end -= 1
    return text[end - 1] if end else ""


def put(target: Map, key: str, value: Any, source: Map, source_key: str | None = None) -> None:
    """Set a value that came from `source_key` of `source`, with its positions."""
    name = key if source_key is None else source_key
    target.put(key, value, source.at(name), source.at_key(name))


def put_changed(target: Map, key: str, value: Any, source: Map, change: ExpressionChange, was: str = "") -> None:
    """Set an expression that came from `source`, respelled; what is no text (a boolean) stays."""
    name = was or key
    new, at = change(value, source.at(name)) if isinstance(value, str) else (value, source.at(name))
    target.put(key, new, at, source.at_key(name))


def carry_step(
    source: Map, target: Map, spelling: Spelling, skip: Iterable[str] = (), findings: Findings | None = None
) -> None:
    """Take the canonical keys of a step over into `target`, except those in `skip` and those already there.

    One that is there from another place than `source` is told to `findings`: it says the same thing once more.
    """
    left_out = set(skip)
    for key, value in source.items():
        if key in left_out or value is None:
            continue
        if key in target:
            _report_twice(key, source, target, findings)
            continue
        at = source.at(key)
        if key in PLAIN_KEYS:
            target.move(key, source)
        elif key in EXPRESSION_KEYS:
            put_changed(target, key, value, source, spelling.expression)
        elif key in TEMPLATE_KEYS or key == "cache":
            put(target, key, map_texts(value, spelling.text, at), source)
        elif key == "depends_on":
            put(target, key, dependencies(value, spelling), source)
        elif key == "cases":
            put(target, key, each(value, lambda case: _with_expressions(case, spelling)), source)
        elif key == "compensation":
            put(target, key, spelling.step(value) if isinstance(value, Map) else value, source)
        elif key == "steps":
            put(target, key, each(value, spelling.step), source)
        elif key == "branches":
            put(target, key, each(value, lambda branch: _branch(branch, spelling)), source)


def _report_twice(key: str, source: Map, target: Map, findings: Findings | None) -> None:
    if findings is not None and target.at_key(key) != source.at_key(key):
        findings.add(rules.WRITTEN_TWICE, f"`{key}` is said once more, in another place", source.at_key(key),
            hint="remove one of the two", related=(("the other one", target.at_key(key)),))


def dependencies(value: Seq, spelling: Spelling) -> Seq:
    """`depends_on` with its guards respelled."""
    return each(value, lambda item: _with_expressions(item, spelling))


def each(value: Seq, change: Callable[[Map], Map]) -> Seq:
    """A list with every mapping in it changed. What is no mapping, or no list, stays for the canonical check to report."""
    if not isinstance(value, Seq):
        return value
    result = Seq(value.pos)
    for item, at in value.pairs():
        result.add(change(item) if isinstance(item, Map) else item, at)
    return result


def _with_expressions(value: Map, spelling: Spelling) -> Map:
    result = Map(value.pos)
    for key, item in value.items():
        if key in EXPRESSION_KEYS:
            put_changed(result, key, item, value, spelling.expression)
        else:
            result.move(key, value)
    return result


def _branch(value: Map, spelling: Spelling) -> Map:
    result = Map(value.pos)
    for key, item in value.items():
        put(result, key, each(item, spelling.step) if key == "steps" else item, value)
    return result


def carry_workflow(
    source: Map, target: Map, spelling: Spelling, skip: Iterable[str] = (), findings: Findings | None = None
) -> None:
    """Take the canonical keys of a workflow over into `target`, as `carry_step` does; `steps` are left out."""
    left_out = {"steps", "dialect", *skip}
    for key, value in source.items():
        if key in left_out or key.startswith("x-") or value is None:
            continue
        if key in target:
            _report_twice(key, source, target, findings)
            continue
        if key in ("outputs", "variables", "notifications"):
            put(target, key, map_texts(value, spelling.text, source.at(key)), source)
        elif key in ("rollback", "finally"):
            put(target, key, each(value, spelling.step), source)
        elif key in WORKFLOW_PLAIN:
            target.move(key, source)


WORKFLOW_PLAIN = frozenset({
    "id", "name", "version", "description", "labels", "inputs", "output_types", "settings", "error_handlers",
    "triggers",
})


def lift(kind: str, settings: Map, step: Map, config: Map, findings: Findings) -> None:
    """Share the settings of a type out between the step itself (its structure) and its `config`.

    A type that is all structure has no configuration: what else is set is an unknown key.
    """
    structure = STRUCTURE.get(kind)
    for key in settings:
        if structure is None:
            config.move(key, settings)
        elif key in structure:
            step.move(key, settings)
        else:
            findings.add(rules.UNKNOWN_KEY, f"{key!r} is not a setting of {kind}", settings.at_key(key),
                hint=_setting_hint(kind, key, structure))


def _setting_hint(kind: str, key: str, structure: tuple[str, ...]) -> str:
    if kind == "parallel" and key in ("steps", "nodes", "tasks"):
        return "write `branches: [{steps: […]}, …]`; each branch runs its steps beside the others"
    if key in ("config", "parameters", "properties", "settings"):
        return f"its settings stand here, without `{key}:` around them: {', '.join(structure)}"
    return did_you_mean(key, structure, f"settings: {', '.join(structure)}")


def only(source: Map, keys: Iterable[str]) -> Map:
    """The part of a mapping with these keys."""
    result = Map(source.pos)
    for key in keys:
        result.move(key, source)
    return result


def without(source: Map, keys: Iterable[str]) -> Map:
    """A copy of a mapping without these keys."""
    return only(source, [key for key in source if key not in set(keys)])
