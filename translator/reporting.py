"""Findings for people and for programs: text with carets, JSON, SARIF 2.1.0, GitHub annotations.

Everything here is text in, text out. `sources` maps a file's name, as positions spell it, to its text.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from rich.cells import cell_len

from translator.diagnostics import Diagnostic, Position, Severity
from translator.findings.catalogue import RULES

FORMATS = ("text", "json", "sarif", "github")
TAB_WIDTH = 4
WINDOW = 120  # cells of a source line that are shown

_SARIF_LEVEL = {
    Severity.ERROR: "error", Severity.UNSUPPORTED: "warning", Severity.WARNING: "warning", Severity.INFO: "note",
}
_GITHUB_LEVEL = {
    Severity.ERROR: "error", Severity.UNSUPPORTED: "warning", Severity.WARNING: "warning", Severity.INFO: "notice",
}
_PLURAL = {Severity.ERROR: "errors", Severity.UNSUPPORTED: "unsupported", Severity.WARNING: "warnings",
    Severity.INFO: "infos"}


class Segment(NamedTuple):
    """A piece of a line of output. `style` is a severity's name, `place`, `source`, `hint` or empty."""

    text: str
    style: str = ""


Line = list[Segment]


def visible(text: str) -> str:
    """`text` without anything that a terminal would obey: control characters and direction marks become pictures."""
    return "".join(_shown(char) for char in text)


def _shown(char: str) -> str:
    if char.isprintable() or char == " ":
        return char
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if unicodedata.category(char) == "Zs":  # other spaces are harmless
        return " "
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def text_lines(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> Iterator[Line]:
    """The lines of the text format, in order, without the summary."""
    split: dict[str, list[str]] = {}
    for found in diagnostics:
        yield [
            Segment(f"{place(found.position)}: ", "place"),
            Segment(f"{found.severity.value} {found.code} ", found.severity.value),
            Segment(_one_line(found.message)),
        ]
        yield from _excerpt(found.position, sources, split, "^", found.severity.value)
        if found.hint:
            yield [Segment("  hint: ", "hint"), Segment(_one_line(found.hint))]
        for note, position in found.related:
            yield [Segment("  "), Segment(f"{place(position)}: ", "place"), Segment(_one_line(note))]
            yield from _excerpt(position, sources, split, "-", "hint")


def as_text(diagnostics: Iterable[Diagnostic], sources: Mapping[str, str]) -> str:
    """The text format without colours; empty when there is nothing to say."""
    lines = ("".join(part.text for part in line) for line in text_lines(diagnostics, sources))
    return "".join(f"{line}\n" for line in lines)


def place(position: Position) -> str:
    """`file:line:column`, as editors and terminals make it a link."""
    return f"{visible(position.file) or '<definition>'}:{position.line}:{position.column}"


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """`2 errors, 1 warning`; `no findings` when there are none."""
    counts = Counter(found.severity for found in diagnostics)
    parts = [
        f"{counts[severity]} {severity.value if counts[severity] == 1 else _PLURAL[severity]}"
        for severity in Severity if counts[severity]
    ]
    return ", ".join(parts) or "no findings"


def excerpt(position: Position, sources: Mapping[str, str]) -> str:
    """The source line with a caret below, or nothing when the place is in none of `sources`."""
    lines = _excerpt(position, sources, {}, "^", "error")
    return "".join("".join(part.text for part in line) + "\n" for line in lines)


def _one_line(text: str) -> str:
    return visible(" ".join(text.splitlines()) if "\n" in text else text)


def _excerpt(
    position: Position, sources: Mapping[str, str], split: dict[str, list[str]], mark: str, style: str
) -> Iterator[Line]:
    """The source line with its number, and below it a caret under the characters in question."""
    if position.file not in sources:
        return
    if position.file not in split:
        # The loader counts lines as YAML does: \r\n, \n, \r and the Unicode separators end a line.
        split[position.file] = _yaml_lines(sources[position.file])
    lines = split[position.file]
    if not 1 <= position.line <= len(lines):
        return
    line = lines[position.line - 1]
    if not line.strip():
        return
    start = min(max(position.column - 1, 0), len(line))
    end = min(start + max(position.length, 1), max(len(line), start + 1))
    before, marked = _expanded(line[:start], 0), line[start:end]
    offset = cell_len(before)
    under = _expanded(marked, offset)
    after = _expanded(line[end:], offset + cell_len(under))
    before, cut = _tail(before, WINDOW // 2)
    shown, left = _head(before + under + after, WINDOW)
    gutter = f"{position.line:>5} | "
    lead = "…" if cut else ""
    width = max(1, min(cell_len(under) or 1, WINDOW - cell_len(before)))
    yield [Segment(gutter, "source"), Segment(lead + shown + ("…" if left else ""))]
    yield [Segment(" " * 5 + " | ", "source"), Segment(" " * (cell_len(lead) + cell_len(before))),
        Segment(mark * width, style)]


def _yaml_lines(text: str) -> list[str]:
    for end in ("\r\n", "\r", "\x85", "\u2028", "\u2029"):
        text = text.replace(end, "\n")
    return text.removeprefix("\ufeff").split("\n")


def _expanded(text: str, offset: int) -> str:
    """Visible characters only, tabs as spaces up to the next stop; `offset` is the cell the text starts in."""
    if "\t" not in text:
        return visible(text)
    result = ""
    for index, part in enumerate(text.split("\t")):
        if index:
            result += " " * (TAB_WIDTH - (offset + cell_len(result)) % TAB_WIDTH)
        result += visible(part)
    return result


def _head(text: str, width: int) -> tuple[str, bool]:
    if cell_len(text) <= width:
        return text, False
    used = 0
    for index, char in enumerate(text):
        used += cell_len(char)
        if used > width:
            return text[:index], True
    return text, False


def _tail(text: str, width: int) -> tuple[str, bool]:
    head, cut = _head(text[::-1], width)
    return head[::-1], cut


def as_json(diagnostics: Sequence[Diagnostic]) -> str:
    """One JSON document: `findings`, each with its place, and `summary` with a count per severity."""
    counts = Counter(found.severity for found in diagnostics)
    document = {
        "findings": [
            {
                "code": found.code,
                "severity": found.severity.value,
                "message": found.message,
                "hint": found.hint,
                **_place(found.position),
                "related": [{"message": note, **_place(position)} for note, position in found.related],
            }
            for found in diagnostics
        ],
        "summary": {severity.value: counts[severity] for severity in Severity},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _place(position: Position) -> dict[str, Any]:
    return {"file": position.file, "line": position.line, "column": position.column, "length": position.length}


def as_sarif(diagnostics: Sequence[Diagnostic], version: str) -> str:
    """SARIF 2.1.0 (OASIS), as GitHub code scanning and editors read it. Columns are Unicode code points."""
    codes = sorted({found.code for found in diagnostics})
    rules = []
    for code in codes:
        rule: dict[str, Any] = {"id": code}
        if code in RULES:
            row = RULES[code]
            rule |= {
                "shortDescription": {"text": row.title},
                "fullDescription": {"text": row.explanation},
                "help": {"text": row.explanation},
                "defaultConfiguration": {"level": _SARIF_LEVEL[row.severity]},
            }
        rules.append(rule)
    results = [
        {
            "ruleId": found.code,
            "ruleIndex": codes.index(found.code),
            "level": _SARIF_LEVEL[found.severity],
            "message": {"text": found.message + (f"\n{found.hint}" if found.hint else "")},
            "locations": [_sarif_location(found.position)],
            **({"relatedLocations": [
                {**_sarif_location(position), "message": {"text": note}} for note, position in found.related
            ]} if found.related else {}),
        }
        for found in diagnostics
    ]
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {"name": "aslant", "semanticVersion": version, "rules": rules}},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _sarif_location(position: Position) -> dict[str, Any]:
    region = {"startLine": position.line, "startColumn": position.column,
        "endColumn": position.column + max(position.length, 1)}
    address = {"uri": quote(position.file.replace("\\", "/") or "definition")}
    return {"physicalLocation": {"artifactLocation": address, "region": region}}


def as_github(diagnostics: Iterable[Diagnostic]) -> str:
    """Workflow commands that GitHub Actions shows as annotations on the changed lines."""
    return "".join(
        f"::{_GITHUB_LEVEL[found.severity]} "
        + (f"file={_github_property(found.position.file)}," if found.position.file else "")
        + f"line={found.position.line},col={found.position.column},"
        f"endColumn={found.position.column + max(found.position.length, 1)},title={_github_property(found.code)}"
        f"::{_github_text(found.message + (f' ({found.hint})' if found.hint else ''))}\n"
        for found in diagnostics
    )


def _github_text(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _github_property(text: str) -> str:
    return _github_text(text).replace(":", "%3A").replace(",", "%2C")
