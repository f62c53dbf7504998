"""What to say about text that is neither YAML nor JSON: the parser's words, and what to write instead."""

from __future__ import annotations

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
    if "cannot start any token" in said and rest:
        return f"quote a text that begins with {rest[0]}"
    return next((advice for words, advice in _HINTS if words in said), "")
