"""The short way for what most expressions are: names joined by dots. Reads exactly what the parser would."""

from __future__ import annotations

import re

from translator.expressions.lexer import Lexer
from translator.expressions.tree import MAX_DEPTH, Attribute, Name, Node

_PATH = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*)\s*(\}\}|\Z)")
RESERVED = frozenset({"and", "or", "not", "in", "if", "else", "for"})
CONSTANTS = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}


def path(lexer: Lexer, start: int, close: str) -> tuple[Node, int] | None:
    """The path that stands between `start` and `close` (`}}`, or nothing for the end) and the offset after it, or None."""
    match = _PATH.match(lexer.text, start)
    if match is None or match[2] != close:
        return None
    first, *rest = match[1].split(".")
    if first in RESERVED or first in CONSTANTS or len(rest) >= MAX_DEPTH:
        return None
    names = lexer.ids.names
    if "-" in match[1] and not all("-" not in part or part in names for part in (first, *rest)):
        return None
    begin = match.start(1)
    end = begin + len(first)
    node: Node = Name(first, lexer.place(begin, len(first)))
    for part in rest:
        end += 1 + len(part)
        node = Attribute(node, part, lexer.place(begin, end - begin))
    return node, match.end()
