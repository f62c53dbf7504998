"""Versions, times, and the shape check."""

from __future__ import annotations

from typing import Any

import pytest

from translator.diagnostics import Findings, Position
from translator.dialects import common
from translator.dialects.canonical.schema import Definition as Workflow
from translator.dialects.validate import MOST, check
from translator.source import load

HERE = Position(4, 2)


@pytest.mark.parametrize(("value", "unit", "expected"), [
    (30, 1, 30), (1500, 0.001, 1.5), (0, 1, 0), (0.25, 1, 0.25), ("30s", 1, 30), ("500ms", 1, 0.5), ("5m", 1, 300),
    ("1h30m", 1, 5400), ("2d", 0.001, 172_800), ("1.5h", 1, 5400), ("PT15M", 1, 900), ("P1DT2H", 1, 93_600),
    ("PT0.5S", 1, 0.5), ("P2W", 1, 1_209_600), ("1 h 5 min", 1, 3900),
])
def test_durations(value: Any, unit: float, expected: float) -> None:
    findings = Findings()
    assert common.seconds(value, HERE, findings, unit) == expected
    assert not findings.items


@pytest.mark.parametrize("value", [
    "", "soon", "5", "5x", "P", "PT", "-5s", True, None, [1], -1, 10**9, "PT1.2.3S", "9" * 99 + "s",
])
def test_what_is_no_duration(value: Any) -> None:
    findings = Findings()
    assert common.seconds(value, HERE, findings) is None
    assert [(found.code, found.position) for found in findings] == [("D022", HERE)]


@pytest.mark.parametrize(("value", "expected", "codes"), [
    ("1.2.3", "1.2.3", []), ("1.0", "1.0.0", []), ("v2.1.0", "2.1.0", []), ("3", "3.0.0", []), (7, "7.0.0", []),
    ("1.2.3-rc.1+b", "1.2.3-rc.1+b", []), (1.1, "", ["D020"]), (True, "", ["D012"]), ("2024-01-16", "2024-01-16", ["D021"]),
    ("latest", "latest", ["D021"]), ("01.2.3", "01.2.3", ["D021"]),
])
def test_versions(value: Any, expected: str, codes: list[str]) -> None:
    findings = Findings()
    assert common.version(value, HERE, findings) == expected
    assert [found.code for found in findings] == codes


def test_names() -> None:
    assert common.slug("Étape n° 1!") == "etape_n_1"
    assert common.slug("步骤") == "step"
    taken = {"a"}
    assert [common.unique("a", taken), common.unique("a", taken), common.unique("b", taken)] == ["a_2", "a_3", "b"]


def checked(text: str) -> list[tuple[str, int, int, str]]:
    findings = Findings()
    document = load(text, findings)
    assert document is not None
    assert check(Workflow, document, findings) is not bool(findings.items)
    return [(found.code, found.position.line, found.position.column, found.message + " " + found.hint)
        for found in findings.sorted()]


@pytest.mark.parametrize(("step", "code", "says"), [
    ("on_failure: ^explode", "D013", "'continue'"),
    ("on_failure: {action: ^explode}", "D013", "steps[0].on_failure.action"),
    ("on_failure: ^[1]", "D012", "a mapping"),
    ("depends_on: [{step: a, ^wen: b}]", "D010", "did you mean `when`?"),
    ("depends_on: [^3]", "D012", 'quote it: "3"'),
    ("cache: ^3", "D012", "a mapping or true or false"),
    ("timeout: ^-1", "D014", "at least 0"),
    ("max_parallel: ^0", "D014", "at least 1"),
    ("name: ^true", "D012", 'quote it: "true"'),
    ("steps: ^x", "D012", "a list"),
    ("compensation: ^put-back", "D012", "write a step: {id: …, type: …, config: …}"),
    ("compensation: ^{id: c}", "D011", "has no 'type'"),
    ("retry: {^max_atempts: 3}", "D010", "did you mean `max_attempts`?"),
])
def test_one_message_for_each_mistake(step: str, code: str, says: str) -> None:
    """`^` stands before the place."""
    line = f"  - {{id: s, type: skill, {step}}}"
    found = checked("steps:\n" + line.replace("^", "") + "\n")
    assert [(one[0], one[1], one[2]) for one in found] == [(code, 2, line.index("^") + 1)]
    assert says in found[0][3]


def test_the_list_of_mistakes_is_bounded() -> None:
    found = checked("steps:\n" + "  - {id: s, type: 3}\n" * (MOST + 5))
    assert len(found) == MOST + 1
    assert "the first 100 of 105 problems" in " ".join(one[3] for one in found)
