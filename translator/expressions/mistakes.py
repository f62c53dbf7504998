"""What people write who know another expression language: what to say about it."""

from __future__ import annotations

import re

from translator.expressions.lexer import Token, Unreadable
from translator.findings import expressions as rules

_VALUES = ("word", "number", "text")
_CLOSERS = (")", "]", "}", "}}")
_OPENERS = ("{", "[", "(")
_LONGEST = 60
_RANGE = re.compile(r"\[([^\[\]:]*):([^\[\]:]*)\]")
_PROSE = re.compile(r"[\w .,;!?-]+")
_PREFIXES = frozenset({"f", "r", "b", "u", "fr", "rf"})


def missing_operator(text: str, before: Token, token: Token) -> Unreadable | None:
    """Two values side by side; None when it is something else that does not fit."""
    if not (before.kind in _VALUES or before.is_op(*_CLOSERS)) or not (
            token.kind in _VALUES or token.is_op(*_OPENERS)):
        return None
    length = max(token.end - token.start, 1)
    if before.is_word("lambda"):
        return Unreadable(rules.SYNTAX, "there are no functions of one's own", before.start, len("lambda"),
            "write a list: `[x * 2 for x in items if x > 0]`")
    if token.kind == "text" and before.is_word(*_PREFIXES) and before.end == token.start:
        return Unreadable(rules.SYNTAX, "texts have no prefix", before.start, before.end - before.start,
            "join texts and values by ~: `'size: ' ~ input.size`")
    shown = text.strip()
    hint = f"quote it if it is text: '{shown}'" if len(shown) <= _LONGEST and _PROSE.fullmatch(shown) else ""
    return Unreadable(rules.SYNTAX, "two values stand side by side: an operator or a comma is missing", token.start, length,
        hint)


def slice_in_brackets(text: str, start: int, opened: int, colon: Token) -> Unreadable:
    """`s[0:2]`, which starts at `start` and whose bracket opens at `opened`."""
    holder = text[start:opened].strip()
    match = _RANGE.match(text, opened)
    hint = "write slice(list, from, to)"
    if match is not None and len(match[0]) + len(holder) <= _LONGEST:
        ends = [match[1].strip() or "0", *([match[2].strip()] if match[2].strip() else [])]
        hint = f"write slice({holder}, {', '.join(ends)})"
    return Unreadable(rules.SYNTAX, "brackets take one index", colon.start, 1, hint)
