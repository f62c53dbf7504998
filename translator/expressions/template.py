"""Text with holes -> tree. `{{ expr }}` and `${{ expr }}` open a hole, `\\{{` writes the delimiter itself."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from translator.diagnostics import Findings, Position
from translator.expressions.lexer import Ids, Lexer, Unreadable, ids_of
from translator.expressions.parser import Parser, check_depth, report
from translator.expressions.paths import path
from translator.expressions.tree import MAX_CHARACTERS, Literal, Node, Template
from translator.findings import expressions as rules

_DELIMITER = re.compile(r"(\\?)(\$?\{\{)")


def parse_template(text: str, at: Position, findings: Findings, ids: Collection[str] | Ids = ()) -> Node:
    """Read a text that may hold expressions.

    One hole and nothing else gives the expression itself, so that its value keeps its type; no hole gives a `Literal`;
    anything else a `Template`. What cannot be read is a finding, and the result then a `Template` of nothing.
    """
    if "{{" not in text:
        return Literal(text, at)
    lexer = Lexer(text, 0, at, ids_of(ids))
    parts: list[str | Node] = []
    pos = 0
    try:
        while match := _DELIMITER.search(text, pos):
            parts.append(text[pos:match.start()])
            if match[1]:
                parts.append(match[2])
                pos = match.end()
            else:
                node, pos = _hole(lexer, match)
                parts.append(node)
    except Unreadable as problem:
        report(problem, lexer, findings)
        return Template(("",), at)
    except RecursionError:
        findings.add(rules.TOO_DEEP, "operators and parentheses nested too deeply", at)
        return Template(("",), at)
    parts.append(text[pos:])
    return _joined(parts, at)


def _hole(lexer: Lexer, match: re.Match[str]) -> tuple[Node, int]:
    """The expression of a hole, and where the text goes on."""
    start = match.start(2)
    if (short := path(lexer, match.end(), "}}")) is not None:
        return short
    lexer.pos = match.end()
    try:
        parser = Parser(lexer)
        if parser.token.is_op("}}"):
            raise Unreadable(rules.SYNTAX, "there is no expression between the delimiters", start, 4)
        node = parser.expression()
        token = parser.token
        if token.kind == "end":
            raise Unreadable(rules.UNCLOSED, f"{match[2]} has no closing }}}}", start, len(match[2]),
                f"add }}}}, or write \\{match[2]} for the delimiter itself")
        if not token.is_op("}}"):
            raise parser.unexpected("expected }}")
        if token.end - match.end() > MAX_CHARACTERS:
            raise Unreadable(rules.TOO_LONG, f"the expression has {token.end - match.end():,} characters", start)
        check_depth(node)
    except Unreadable as problem:
        if problem.rule in (rules.SYNTAX, rules.STRING) and "}}" not in lexer.text[match.end():]:
            raise Unreadable(rules.UNCLOSED, f"{match[2]} has no closing }}}}", start, len(match[2]),
                f"add }}}}, or write \\{match[2]} for the delimiter itself") from problem
        if problem.rule is rules.TOO_DEEP and problem.offset == 0:
            problem.offset = start
        raise
    return node, token.end


def _joined(parts: list[str | Node], at: Position) -> Node:
    merged: list[str | Node] = []
    for part in parts:
        if isinstance(part, str) and merged and isinstance(merged[-1], str):
            merged[-1] += part
        elif part != "":
            merged.append(part)
    if not merged:
        return Literal("", at)
    if len(merged) == 1:
        only = merged[0]
        return Literal(only, at) if isinstance(only, str) else only
    return Template(tuple(merged), at)


def parse_value(value: Any, at: Position, findings: Findings, ids: Collection[str] | Ids = ()) -> Any:
    """A configuration value with each of its texts read as a template.

    Mappings become dicts and sequences lists, with a `Node` in place of every text; other scalars and the keys of
    mappings stay as they are. Positions come from the value where it carries them (`Map`, `Seq`), else from `at`.
    """
    names = ids_of(ids)
    places = getattr(value, "at", None)
    if isinstance(value, str):
        return parse_template(value, at, findings, names)
    if isinstance(value, dict):
        return {key: parse_value(item, places(key) if places else at, findings, names) for key, item in value.items()}
    if isinstance(value, list):
        return [
            parse_value(item, places(index) if places else at, findings, names) for index, item in enumerate(value)
        ]
    return value
