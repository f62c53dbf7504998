"""Texts with holes as pieces: read in the spelling of any dialect, written in the canonical one.

Nothing here understands expressions; it only finds where they end: at the closing delimiter outside of quotes and
brackets. A backslash in front of a delimiter makes it plain text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

OPEN, CLOSE = "{{", "}}"
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_CANONICAL = re.compile(r"(\\?)(\$?\{\{)")
_SINGLE = re.compile(r"(\\?)(\$\{\{|\$\{|\{\{)")


class Part(NamedTuple):
    """A piece of a text: literal, or the expression of a hole without its delimiters."""

    text: str
    hole: bool = False
    closed: bool = True  # False for a hole without an end, which is reported when the text is parsed


def hole_end(text: str, start: int, close: str = CLOSE) -> int | None:
    """Where the closing delimiter of the hole whose expression starts at `start` stands; None if it is missing."""
    depth = 0
    quote = ""
    index = start
    while index < len(text):
        char = text[index]
        if quote:
            if char == "\\":
                index += 1
            elif char == quote:
                quote = ""
        elif depth == 0 and text.startswith(close, index):
            return index
        elif char in "'\"":
            quote = char
        elif char in _PAIRS:
            depth += 1
        elif char in ")]}":
            depth = max(depth - 1, 0)
        index += 1
    found = text.find(close, start)  # an apostrophe in what was never an expression must not swallow the rest
    return found if found >= 0 else None


def parts(text: str, openers: Iterable[str] = ("${{", OPEN)) -> list[Part]:
    """The pieces of a text, escapes resolved.

    `openers` are the delimiters that open a hole: of `${{`, `{{` (both closed by `}}`) and `${` (closed by `}`). What
    stands in a hole keeps its column if the text is written in the canonical spelling: blanks take the place of the rest
    of the delimiter.
    """
    if "{" not in text:
        return [Part(text)] if text else []
    openers = tuple(openers)
    single = "${" in openers
    delimiters = _SINGLE if single else _CANONICAL
    found: list[Part] = []
    literal: list[str] = []
    here = 0
    while match := delimiters.search(text, here):
        literal.append(text[here : match.start()])
        here = match.end()
        opener = "${" if single and match[2] == "${{" else match[2]
        if match[1] or opener not in openers:
            literal.append(match[2])
            continue
        start = match.start(2) + len(opener)
        if piece := "".join(literal):
            found.append(Part(piece))
            literal.clear()
        close = "}" if opener == "${" else CLOSE
        end = hole_end(text, start, close)
        found.append(Part(" " * (len(opener) - len(OPEN)) + text[start:end], True, end is not None))
        here = len(text) if end is None else end + len(close)
    literal.append(text[here:])
    if piece := "".join(literal):
        found.append(Part(piece))
    return found


def written(pieces: Iterable[Part], *, tidy: bool = False) -> str:
    """The canonical text of these pieces; reading it gives the same ones again. `tidy`: one blank on either side of a hole.

    A backslash, dollar sign or brace at the end of a literal would be read as a part of the hole that follows it, and is
    written as a hole of its own.
    """
    out: list[str] = []
    literal = ""
    for piece in pieces:
        if not piece.hole:
            literal += piece.text
            continue
        if literal:
            out.append(_before_hole(literal))
            literal = ""
        if not piece.closed:
            out.append(OPEN + piece.text)
        else:
            out.append(f"{OPEN} {piece.text.strip()} {CLOSE}" if tidy else OPEN + piece.text + CLOSE)
    return "".join(out) + _escaped(literal)


def spelled(pieces: Iterable[Part], opener: str, close: str, plain: Callable[[str], str]) -> str:
    """The text of these pieces in another spelling; `plain` gives literals the backslashes that they need there."""
    return "".join(
        f"{opener}{piece.text}{close if piece.closed else ''}" if piece.hole else plain(piece.text) for piece in pieces
    )


def _escaped(literal: str) -> str:
    return literal.replace(OPEN, "\\" + OPEN)


def _before_hole(literal: str) -> str:
    last = max((match.end() for match in re.finditer(re.escape(OPEN), literal)), default=0)
    kept = last + len(literal[last:].rstrip("\\${"))
    rest = literal[kept:]
    return _escaped(literal[:kept]) + (f"{OPEN} {json.dumps(rest)} {CLOSE}" if rest else "")


def map_holes(text: str, change: Callable[[str], str]) -> str:
    """A canonical text with `change` applied to the expression of each hole; everything else stays as it is."""
    out: list[str] = []
    here = 0
    while match := _CANONICAL.search(text, here):
        end = None if match[1] else hole_end(text, match.end())
        inner = "" if end is None else change(text[match.end() : end])
        out.append(text[here : match.end()] + inner)
        here = match.end() if end is None else end
    return "".join(out) + text[here:]
