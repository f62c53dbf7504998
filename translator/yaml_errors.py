"""What to say about text that is neither YAML nor JSON: the parser's words, and what to write instead."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from translator.diagnostics import Position

_HINTS = (
    ("mapping values are not allowed", "quote a text that contains ': '; keys of one mapping begin in the same column"),
    ("unexpected end of stream", "close the quotes"),
    ("surrogate", "write both halves of the character, or the character itself"),
    ("unknown escape character", "write \\\\ for a backslash, or use single quotes"),
    ("alphabetic or numeric character", "quote a text that begins with * or &"),
    ("could not find expected ':'", "write `key: value`, with a space after the colon; indent the lines of a long text"),
    ("did not find expected key", "indent keys of one mapping alike; quote a text that begins with a quote, [ or {"),
    ("did not find expected '-' indicator", "begin each item of a list with `- ` in the same column"),
    ("did not find expected ',' or", "close the bracket or add the comma; quote a text that contains brackets or colons"),
    ("did not find expected node content", "close the bracket, or write the value that is lacking"),
    ("<document start>", "a file holds one definition; remove what comes after it"),
    ("block sequence entries are not allowed", "begin the list on a line of its own"),
)


_KEY_ALONE = re.compile(r"(?P<before>\s*(?:-\s+)*)(?P<key>[A-Za-z_][\w-]*)(?:\s+(?P<value>[^\s#].*?))?\s*(?:#.*)?")
_KEY_AND_VALUE = re.compile(r"\s*(?:-\s+)*[^\s#'\"].*?:\s+[^\s#|>].*")
_HOLE = re.compile(r"\$\{\{?[^{}]*\}\}?[^,\]}]*")
_BARE_HOLE = re.compile(r"(?<=[:\-] )\s*\$?\{\{.*\}\}(?:(?! #).)*|\$?\{\{.*?\}\}")
_HOLE_WITHIN = re.compile(r"\$?\{\{.*?\}\}[^,\]}]*")
_LONGEST = 60


class Lacking(NamedTuple):
    """A line whose colon is missing, with what to say about it."""

    message: str
    at: Position
    hint: str


def missing_colon(error: yaml.MarkedYAMLError, text: str, at: Position) -> Lacking | None:
    """The line above an error that was meant to be a key; None when the error has another reason."""
    said = str(error.problem or "")
    lines = text.split("\n")
    if "mapping values are not allowed" in said:
        number = next((n for n in range(at.line - 2, -1, -1) if lines[n].strip() and lines[n].strip()[0] != "#"), -1)
    elif "could not find expected ':'" in said and error.context_mark is not None:
        number = error.context_mark.line
    else:
        return None
    match = _KEY_ALONE.fullmatch(lines[number].rstrip("\r")) if 0 <= number < len(lines) else None
    if match is None or number + 1 >= at.line or ": " in lines[number] or _continues(lines, number, match["before"]):
        return None
    key, value = match["key"], match["value"] or ""
    written = f"{key} {value}".strip()
    place = at._replace(line=number + 1, column=len(match["before"]) + 1, length=len(written))
    corrected = f"{key}: {value}".strip()
    return Lacking(f"`{_short(written)}` has no colon", place, f"write `{_short(corrected)}`")


def _continues(lines: list[str], number: int, before: str) -> bool:
    """Whether the line goes on with the text of the line above it."""
    above = next((lines[n] for n in range(number - 1, -1, -1) if lines[n].strip()), "")
    deeper = len(re.match(r"\s*(?:-\s+)*", above)[0]) < len(before)  # type: ignore[index]
    return "-" not in before and deeper and _KEY_AND_VALUE.fullmatch(above) is not None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def quoted(text: str) -> str:
    """A text in the quotes of YAML that need the fewest escapes."""
    if '"' not in text and "\\" not in text:
        return f'"{text}"'
    return "'" + text.replace("'", "''") + "'"


def bare_hole(line: str, column: int) -> str:
    """What to write for the `{{ x }}` without quotes around `column` (from 0); empty when there is none."""
    hole = _BARE_HOLE.search(line)
    while hole is not None and not hole.start() <= column < hole.end():
        hole = _BARE_HOLE.search(line, hole.end())
    if hole is None:
        return ""
    before = line[: hole.start()]
    if sum(map(before.count, "{[")) > sum(map(before.count, "}]")):  # in braces or brackets, which are no part of it
        hole = _HOLE_WITHIN.search(line, hole.start()) or hole
    return f"write it in quotes: {quoted(hole[0].strip())}"


def message(error: yaml.MarkedYAMLError) -> str:
    """What the parser met, and in what, if that began earlier."""
    problem = str(error.problem or "the text could not be read")
    if "Unicode character escape code" in problem:
        problem = "half of a surrogate pair is no character"
    start, end = error.context_mark, error.problem_mark
    if error.context and start is not None and (end is None or start.line != end.line):
        return f"{problem} ({error.context} that begins in line {start.line + 1})"
    return problem


def hint(error: yaml.MarkedYAMLError, text: str, at: Position) -> str:
    """What to write instead; empty when there is nothing better to say than the message."""
    said = message(error)
    lines = text.split("\n")
    rest = lines[at.line - 1][at.column - 1:] if at.line <= len(lines) else ""
    if rest.startswith("\t"):
        return "indent with spaces, not with tabs"
    if rest.startswith("{{") and at.column > 1 and lines[at.line - 1][at.column - 2] == "$":
        rest = "$" + rest
    if hole := _HOLE.match(rest):
        return f"write it in quotes: {quoted(hole[0].strip())}"
    if "cannot start any token" in said and rest:
        return f"quote a text that begins with {rest[0]}"
    if rest.startswith("- ") and ("did not find expected key" in said or "expected '-' indicator" in said):
        return _item_hint(lines, at)
    return next((advice for words, advice in _HINTS if words in said), "")


def _item_hint(lines: list[str], at: Position) -> str:
    """Where the items of the list begin that an item with another indentation was meant for."""
    for line in reversed(lines[: at.line - 1]):
        if line.lstrip().startswith("- "):
            column = len(line) - len(line.lstrip()) + 1
            return f"this item begins in column {at.column}; the item before it begins in column {column}"
    return "begin each item of a list with `- ` in the same column"
