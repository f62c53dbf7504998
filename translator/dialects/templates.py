"""Texts with holes and expressions with delimiters, in the spelling of a dialect and in the canonical one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from translator.diagnostics import Findings, Position
from translator.dialects.holes import CLOSE, OPEN, Part, hole_end, parts, spelled, written
from translator.findings import expressions as expression_rules
from translator.source import Map, Seq

_PATH = re.compile(r"[\w.]+")
_PLAIN = re.compile(r"\$\{\{|(?<=\\)\{\{")


def to_canonical_holes(text: str, *openers: str) -> str:
    """A text whose holes `openers` open (see `parts`) in the canonical spelling."""
    return written(parts(text, openers)) if "{" in text else text


def closed(text: str, pieces: list[Part], opener: str, close: str, at: Position, findings: Findings) -> list[Part]:
    """The pieces of `text`, the last one left out and reported in the dialect's own words when it is a hole without an end."""
    if not pieces or pieces[-1].closed:
        return pieces
    start = len(text) - len(pieces[-1].text.removeprefix(" " * (len(opener) - len(OPEN)))) - len(opener)
    place = at if "\n" in text else at.shifted(start, len(opener))
    findings.add(expression_rules.UNCLOSED, f"{opener} has no closing {close}", place,
        hint=f"add {close}, or write \\{opener} for the delimiter itself")
    return pieces[:-1]


def from_canonical_holes(text: str) -> str:
    """The reverse for `${{ … }}`: literal delimiters get the backslash that they need."""
    return spelled(parts(text), "${{", CLOSE, lambda plain: _PLAIN.sub(r"\\\g<0>", plain)) if OPEN in text else text


def tidy_holes(text: str) -> str:
    """Canonical text with every hole written `{{ x }}`."""
    return written(parts(text), tidy=True) if OPEN in text else text


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
