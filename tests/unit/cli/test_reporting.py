"""Findings as text, JSON, SARIF and annotations."""

from __future__ import annotations

import json

import pytest

from translator import reporting
from translator.diagnostics import Diagnostic, Findings, Position, Severity
from translator.findings import source as rules
from translator.source import load


def finding(line: int = 1, column: int = 1, length: int = 1, file: str = "a.yaml", **other: object) -> Diagnostic:
    fields = {"code": "S005", "severity": Severity.ERROR, "message": "twice", **other}
    return Diagnostic(position=Position(line, column, length, file), **fields)  # type: ignore[arg-type]


def caret_of(text: str) -> tuple[str, str]:
    """The source line as shown and what stands above the carets in it."""
    lines = text.splitlines()
    shown, marks = lines[1].split(" | ", 1)[1], lines[2].split(" | ", 1)[1]
    return shown, marks


def test_a_finding_names_its_place_severity_code_and_hint() -> None:
    text = reporting.as_text([finding(2, 3, 4, hint="rename one")], {"a.yaml": "x: 1\n  name: 2\n"})
    assert text.splitlines()[0] == "a.yaml:2:3: error S005 twice"
    assert caret_of(text) == ("  name: 2", "  ^^^^")
    assert text.splitlines()[3] == "  hint: rename one"


@pytest.mark.parametrize(("line", "column", "length", "shown", "marks"), [
    ("\tkey: 1", 2, 3, "    key: 1", "    ^^^"),                   # a tab is four cells
    ("ab\tkey", 4, 3, "ab  key", "    ^^^"),                       # up to the next stop
    ("名前: x", 5, 1, "名前: x", "      ^"),                         # wide characters are two cells
    ("名前: x", 1, 2, "名前: x", "^^^^"),
    ("e\u0301x: 1", 3, 1, "e\u0301x: 1", " ^"),                    # a combining accent has no cell of its own
    ("short", 6, 3, "short", "     ^"),                             # just behind the end
    ("short", 3, 99, "short", "  ^^^"),                             # no further than the line
])
def test_the_caret_stands_under_its_characters(line: str, column: int, length: int, shown: str, marks: str) -> None:
    text = reporting.as_text([finding(1, column, length)], {"a.yaml": line})
    assert caret_of(text) == (shown, marks)


def test_a_long_line_is_cut_around_the_place() -> None:
    line = "a" * 5000 + "HERE" + "b" * 5000
    shown, marks = caret_of(reporting.as_text([finding(1, 5001, 4)], {"a.yaml": line}))
    assert len(shown) < 140
    assert shown[marks.index("^"):][:4] == "HERE"
    assert shown.startswith("…") and shown.endswith("…")


def test_nothing_in_a_definition_is_obeyed_by_the_terminal() -> None:
    text = reporting.as_text(
        [finding(1, 1, 1, message="\x1b[2J\u202egone\r\nnext", hint="\x07", file="\x1b]0;t.yaml")],
        {"\x1b]0;t.yaml": "key: \x1b[31m\x9b red"},
    )
    assert not any(char in text for char in "\x1b\u202e\r\x07\x9b")


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_lines_are_those_of_the_loader(ending: str) -> None:
    source = f"name: x{ending}steps: []{ending}name: y{ending}"
    findings = Findings()
    load(source, findings, "a.yaml")
    (found,) = findings
    text = reporting.as_text([found], {"a.yaml": source})
    assert caret_of(text) == ("name: y", "^^^^")
    assert "first here" in text and "a.yaml:1:1" in text


def test_places_outside_of_the_source_print_without_an_excerpt() -> None:
    odd = [finding(99, 1), finding(0, 0), finding(1, 1, file="other.yaml"), finding(1, 1, file="")]
    text = reporting.as_text(odd, {"a.yaml": "x: 1"})
    assert len(text.splitlines()) == 4
    assert "<definition>:1:1:" in text


def test_the_summary_counts_by_severity() -> None:
    assert reporting.summary([]) == "no findings"
    assert reporting.summary([finding(), finding(), finding(severity=Severity.WARNING)]) == "2 errors, 1 warning"
    assert reporting.summary([finding(severity=Severity.UNSUPPORTED)] * 2 + [finding(severity=Severity.INFO)]) == (
        "2 unsupported, 1 info")


def test_json_has_every_field() -> None:
    related = (("first here", Position(1, 1, 4, "a.yaml")),)
    document = json.loads(reporting.as_json([finding(2, 3, 4, hint="h", related=related)]))
    assert document == {
        "findings": [{
            "code": "S005", "severity": "error", "message": "twice", "hint": "h",
            "file": "a.yaml", "line": 2, "column": 3, "length": 4,
            "related": [{"message": "first here", "file": "a.yaml", "line": 1, "column": 1, "length": 4}],
        }],
        "summary": {"error": 1, "unsupported": 0, "warning": 0, "info": 0},
    }


def test_sarif_points_to_rules_and_regions() -> None:
    found = [finding(2, 3, 4, file="my dir/a#1.yaml"), finding(severity=Severity.INFO, code="X999")]
    run = json.loads(reporting.as_sarif(found, "1.2.3"))["runs"][0]
    first, second = run["results"]
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "my%20dir/a%231.yaml"
    assert place["region"] == {"startLine": 2, "startColumn": 3, "endColumn": 7}
    assert [first["level"], second["level"]] == ["error", "note"]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert [ids[result["ruleIndex"]] for result in run["results"]] == ["S005", "X999"]
    known = run["tool"]["driver"]["rules"][ids.index("S005")]
    assert known["shortDescription"]["text"] == rules.DUPLICATE_KEY.title
    assert run["tool"]["driver"]["semanticVersion"] == "1.2.3"


def test_annotations_escape_what_github_would_read() -> None:
    text = reporting.as_github([finding(2, 3, 4, message="100% a\nb::c", file="a:b,c.yaml",
        severity=Severity.UNSUPPORTED)])
    assert text == "::warning file=a%3Ab%2Cc.yaml,line=2,col=3,endColumn=7,title=S005::100%25 a%0Ab::c\n"
