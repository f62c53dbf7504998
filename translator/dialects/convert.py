"""Writes a definition in another dialect, as YAML."""

from __future__ import annotations

import re
from typing import Any

import yaml

from translator.diagnostics import Findings, Position
from translator.dialects.foreign import TEMPLATED, quoted
from translator.dialects.registry import DIALECTS, read
from translator.dialects.spelling import escaped
from translator.dialects.templates import map_texts, tidy_holes
from translator.dialects.validate import did_you_mean
from translator.findings import dialects as rules
from translator.source import Map, Seq, plain

_TOP = (
    "dialect", "id", "name", "version", "description", "labels", "inputs", "outputs", "output_types", "variables",
    "settings", "triggers", "notifications", "steps", "error_handlers", "rollback", "finally",
)
_STEP = (
    "id", "name", "description", "type", "depends_on", "when", "config", "workflow", "input", "wait_for_completion",
    "seconds", "until", "mode", "cases", "default", "items", "item_name", "index_name", "max_parallel", "batch_size",
    "on_item_error", "wait_for_all", "branches", "steps", "output_key", "timeout", "heartbeat", "retry", "on_failure",
    "compensation", "cache", "checkpoint", "pure", "undo_failed", "labels",
)
_STEPS = ("steps", "rollback", "finally")
# Plain texts that our reader or some YAML reader takes for something else than a text.
_MISREAD = re.compile(
    r"[yYnN]|-?[0-9][0-9_]*(\.[0-9]*)?([eE][-+]?[0-9]+)?|0[ob][0-9_]+|0x[0-9a-fA-F_]+|[-+]?\.[0-9]+|~")


def convert(document: Map, to: str, findings: Findings) -> str | None:
    """`document`, in any dialect, as YAML text in the dialect `to`.

    None when it cannot be read; the errors are among `findings` then. What `to` cannot say is a finding too.
    """
    if to not in DIALECTS:
        findings.add(rules.BAD_DIALECT, f"{to!r} is no dialect; there are {', '.join(sorted(DIALECTS))}", document.pos,
            hint=did_you_mean(to, DIALECTS))
        return None
    found = read(document, findings)
    if found is None or findings.has_errors:
        return None
    return dump(DIALECTS[to].render(tidied(quoted(to, found[1])), findings))


def tidied(document: Map) -> Map:
    """Canonical data in the order in which it is written, each hole with one space on either side."""
    result = Map(document.pos)
    for key in _in_order(document, _TOP):
        value, at = document[key], document.at(key)
        if key in _STEPS:
            value = _steps(value)
        elif key in TEMPLATED:
            value = map_texts(value, _tidy, at)
        result.put(key, value, at, document.at_key(key))
    return result


def _steps(source: Seq) -> Seq:
    result = Seq(source.pos)
    for step, at in source.pairs():
        result.add(_step(step), at)
    return result


def _step(source: Map) -> Map:
    result = Map(source.pos)
    for key in _in_order(source, _STEP):
        value, at = source[key], source.at(key)
        if key == "steps":
            value = _steps(value)
        elif key == "compensation":
            value = _step(value)
        elif key == "branches":
            branches = Seq(value.pos)
            for branch, place in value.pairs():
                changed = Map(branch.pos)
                for name in branch:
                    changed.move(name, branch)
                    if name == "steps":
                        changed[name] = _steps(branch[name])
                branches.add(changed, place)
            value = branches
        elif key == "config" and source["type"] == "transform":
            config = Map(value.pos)
            for name in value:
                change = _tidy_expression if name == "expression" else _tidy
                config.put(name, map_texts(value[name], change, at), value.at(name))
            value = config
        elif key in TEMPLATED:
            value = map_texts(value, _tidy, at)
        elif key == "when":
            value = _tidy_expression(value, at)
        elif key in ("cases", "depends_on"):
            value = _guarded(value)
        result.put(key, value, at, source.at_key(key))
    return result


def _guarded(source: Seq) -> Seq:
    """Cases or edges with their conditions tidied."""
    result = Seq(source.pos)
    for item, at in source.pairs():
        changed = item
        if isinstance(item, Map) and "when" in item:
            changed = Map(item.pos)
            for key in item:
                changed.move(key, item)
            changed["when"] = _tidy_expression(item["when"], at)
        result.add(changed, at)
    return result


def _tidy_expression(value: Any, at: Position) -> Any:
    return escaped(value) if isinstance(value, str) else value


def _tidy(text: str, at: Position) -> str:
    return tidy_holes(text)


def _in_order(source: Map, first: tuple[str, ...]) -> list[str]:
    return [*(key for key in first if key in source), *(key for key in source if key not in first)]


def dump(document: dict[str, Any]) -> str:
    """YAML that every reader understands the same way: block style, literal blocks for texts of several lines."""
    text: str = yaml.dump(plain(document), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120,
        default_flow_style=False)
    return text


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _write_text(dumper: _Dumper, value: str) -> yaml.ScalarNode:
    style = None
    lines = value.split("\n")
    blocks = lines[0] and not lines[0].startswith(" ") and all(
        line == line.rstrip() and line.isprintable() for line in lines)
    if len(lines) > 1 and blocks:
        style = "|"
    elif any(char in value for char in "\u0085\u2028\u2029"):  # line breaks to YAML 1.1, characters to YAML 1.2
        style = '"'
    elif _MISREAD.fullmatch(value):
        style = "'"
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _write_text)
