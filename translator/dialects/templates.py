"""Rewrites the expression holes of a dialect (`${{ x }}`, `${x}`, `{x}`) to the canonical `{{ x }}`.

Nothing here understands expressions; it only finds where they end: at the closing delimiter outside of quotes and
brackets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from translator.diagnostics import Position
from translator.source import Map, Seq

OPEN, CLOSE = "{{", "}}"
_PATH = re.compile(r"[\w.]+")
_PAIRS = {"{": "}", "[": "]", "(": ")"}


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


def to_canonical_holes(text: str, opener: str = "${{", closer: str = CLOSE, *,
        accept: Callable[[str], str | None] | None = None, also: bool = False) -> str:
    """`text` with each hole `opener … closer` written as `{{ … }}` and every other `{{` escaped as `\\{{`.

    `accept` gets what stands inside of a hole and gives the expression to write, or None when it is plain text.
    `also` keeps canonical `{{ … }}` holes as they are. A backslash before a delimiter makes it plain text. An opener
    without an end stays an open hole, so that it is reported where it stands, unless `accept` is there to refuse it.
    The expression keeps its column wherever `opener` is at least two characters long.
    """
    if "{" not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        if text[index] == "\\" and text.startswith((opener, OPEN), index + 1):
            literal = opener if text.startswith(opener, index + 1) else OPEN
            out.append(literal.replace(OPEN, "\\" + OPEN))
            index += 1 + len(literal)
        elif text.startswith(opener, index) and not (opener == "{" and text.startswith(OPEN, index)):
            start = index + len(opener)
            end = hole_end(text, start, closer)
            inner = text[start:end] if end is not None else text[start:]
            written = inner if accept is None else accept(inner) if end is not None else None
            if written is None:
                out.append(opener.replace(OPEN, "\\" + OPEN))
                index = start
                continue
            out.append(OPEN + " " * (len(opener) - len(OPEN)) + written + (CLOSE if end is not None else ""))
            index = len(text) if end is None else end + len(closer)
        elif text.startswith(OPEN, index):
            if also:
                end = hole_end(text, index + len(OPEN))
                stop = len(text) if end is None else end + len(CLOSE)
                out.append(text[index:stop])
                index = stop
            else:
                out.append("\\" + OPEN)
                index += len(OPEN)
        else:
            out.append(text[index])
            index += 1
    return "".join(out)


def from_canonical_holes(text: str, opener: str = "${{", closer: str = CLOSE) -> str:
    """The reverse: canonical holes written as `opener … closer`, literal delimiters with the backslash they need."""
    out: list[str] = []
    index = 0
    while index < len(text):
        if text.startswith("\\" + OPEN, index):
            before = "".join(out[-1:])
            # The dollar sign is already written: `$\{{` is the text `${{`, which the dialect escapes as a whole.
            if opener == "${{" and before.endswith("$"):
                out[-1] = before[:-1] + "\\${{"
            else:
                out.append(OPEN)
            index += 1 + len(OPEN)
        elif text.startswith(OPEN, index):
            end = hole_end(text, index + len(OPEN))
            if end is None:
                out.append(opener + text[index + len(OPEN):])
                break
            out.append(opener + text[index + len(OPEN):end] + closer)
            index = end + len(CLOSE)
        else:
            out.append(text[index])
            index += 1
    return "".join(out)


def tidy_holes(text: str) -> str:
    """Canonical text with every hole written `{{ x }}`."""
    if OPEN not in text:
        return text
    out: list[str] = []
    index = 0
    while index < len(text):
        if text.startswith(("\\" + OPEN, "\\$" + OPEN), index):
            dollar = "$" if text[index + 1] == "$" else ""
            out.append(dollar + "\\" + OPEN)
            index += 1 + len(dollar) + len(OPEN)
            continue
        opener = next((known for known in ("${{", OPEN) if text.startswith(known, index)), "")
        end = hole_end(text, index + len(opener)) if opener else None
        if end is None:
            out.append(text[index])
            index += 1
        else:
            out.append(f"{OPEN} {text[index + len(opener):end].strip()} {CLOSE}")
            index = end + len(CLOSE)
    return "".join(out)


def written_around(bare: str, opener: str = OPEN) -> str:
    """An expression with delimiters around it, or bare where they would be misread."""
    around = f"{opener} {bare} {CLOSE}"
    return around if strip_delimiters(around) == bare else bare


def map_texts(value: Any, change: Callable[[str, Position], str], at: Position) -> Any:
    """The same structure, positions kept, with `change` applied to every text in it (not to keys)."""
    if isinstance(value, str):
        return change(value, at)
    if isinstance(value, Map):
        mapping = Map(value.pos)
        for key, item in value.items():
            mapping.put(key, map_texts(item, change, value.at(key)), value.at(key), value.at_key(key))
        return mapping
    if isinstance(value, Seq):
        items = Seq(value.pos)
        for item, place in value.pairs():
            items.add(map_texts(item, change, place), place)
        return items
    return value


def strip_delimiters(text: str) -> str:
    """An expression without the `{{ }}` or `${{ }}` that somebody wrote around it."""
    return expression(text, Position(1, 1))[0]


def expression(text: str, at: Position) -> tuple[str, Position]:
    """An expression as it was written with or without delimiters, and where it starts."""
    stripped = text.strip()
    for opener in ("${{", OPEN):
        if stripped.startswith(opener) and hole_end(stripped, len(opener)) == len(stripped) - len(CLOSE):
            inner = stripped[len(opener):-len(CLOSE)]
            lead = len(text) - len(text.lstrip()) + len(opener) + len(inner) - len(inner.lstrip())
            bare = inner.strip()
            length = 1 if at.length == 1 else max(len(bare), 1)
            return bare, at.shifted(lead, length) if "\n" not in text[:lead] else at
    return text, at


def splice_holes(text: str, *openers: tuple[str, str]) -> str:
    """An expression in which somebody wrote holes: `"{{ a }} == 'x'"` becomes `a == 'x'`.

    A hole inside of quotes is a part of that text: `'v{{ a }}'` becomes `('v' ~ a)`. A text without holes, or one
    that is a single hole, gives the plain expression.
    """
    delimiters = openers or (("${{", CLOSE), (OPEN, CLOSE))
    stripped = strip_delimiters(text)
    if not any(opener in stripped for opener, _ in delimiters):
        return stripped
    for opener, closer in delimiters:
        trimmed = stripped.strip()
        if trimmed.startswith(opener) and hole_end(trimmed, len(opener), closer) == len(trimmed) - len(closer):
            return trimmed[len(opener):-len(closer)].strip()
    out: list[str] = []
    index = 0
    while index < len(stripped):
        char = stripped[index]
        if char in "'\"":
            part, index = _quoted(stripped, index, delimiters)
            out.append(part)
            continue
        found = _hole(stripped, index, delimiters)
        if found is not None:
            inner, index = found
            out.append(_grouped(inner))
            continue
        out.append(char)
        index += 1
    return "".join(out)


def _hole(text: str, index: int, delimiters: tuple[tuple[str, str], ...]) -> tuple[str, int] | None:
    for opener, closer in delimiters:
        if text.startswith(opener, index):
            end = hole_end(text, index + len(opener), closer)
            if end is not None:
                return text[index + len(opener):end].strip(), end + len(closer)
    return None


def _grouped(expression: str) -> str:
    return expression if _PATH.fullmatch(expression) else f"({expression})"


def _quoted(text: str, start: int, delimiters: tuple[tuple[str, str], ...]) -> tuple[str, int]:
    """The literal that starts at `start`, with its holes joined in, and where it ends."""
    quote = text[start]
    parts: list[str] = []
    piece = quote
    index = start + 1
    while index < len(text):
        found = _hole(text, index, delimiters)
        if found is not None:
            parts += [piece + quote, _grouped(found[0])]
            piece, index = quote, found[1]
            continue
        char = text[index]
        index += 1
        escaped = next((opener for opener, _ in delimiters if char == "\\" and text.startswith(opener, index)), "")
        if escaped:
            # What is no delimiter in the canonical spelling needs no backslash there.
            piece += char + escaped if OPEN in escaped else escaped
            index += len(escaped)
            continue
        piece += char
        if char == "\\" and index < len(text):
            piece += text[index]
            index += 1
        elif char == quote:
            break
    if not parts:
        return piece, index
    parts.append(piece)
    return "(" + " ~ ".join(part for number, part in enumerate(parts) if number == 0 or part != quote * 2) + ")", index
