"""Triggers of definitions: checked where they stand, known to whoever publishes."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from translator.diagnostics import Findings
from translator.passes.triggers import check_awaited
from translator.pipeline import Source, check_sources, compile_source
from translator.release import release_of

FLOW = """\
dialect: canonical
id: report
triggers:
  - {{type: manual}}
  - type: schedule
    config: {config}
steps: [{{id: one, type: transform, config: {{data: 1}}}}]
"""


# A quoted text is pointed to behind its quote.
def found(config: str) -> list[tuple[str, int, int]]:
    diagnostics = check_sources([Source(FLOW.format(config=config), "report.yaml")])
    return [(one.code, one.position.line, one.position.column) for one in diagnostics]


@pytest.mark.parametrize(("config", "expected"), [
    ('{schedule: "daily at 9am", timezone: Europe/Berlin}', []),
    ('{schedule: "daily at 9am", overlap: skip, input: {a: 1}, enabled: false}', []),
    ('{cron: "0 6 * * 1-5"}', []), ("{every: 15 minutes}", []), ('{at: "2027-01-01T00:00:00"}', []),
    ('{schedule: "daily at 9"}', [("T002", 6, 25)]), ('{cron: "0 25 * * *"}', [("T001", 6, 21)]),
    ('{every: "0 minutes"}', [("T001", 6, 22)]), ("{}", [("T001", 6, 13)]), ('{cron: "0 6 * * *", every: 1 hour}', [("T001", 6, 13)]),
    ('{schedule: "daily at 9am", timezone: Nowhere}', [("T001", 6, 50)]), ('{schedul: "daily at 9am"}', [("T001", 6, 24)]),
    ('{schedule: "daily at 9am", overlap: maybe}', [("T001", 6, 49)]), ('{every: 1 hour, catch_up: last, window: 15}', []),
    ('{every: 1 hour, catch_up: all}', [("T001", 6, 39)]), ('{cron: "0 9 30 2 *"}', [("T001", 6, 21)]),
    ('{at: "2030-03-31T02:30:00", timezone: Europe/Berlin}', [("T002", 6, 19)]),
    ('{at: "2030-10-27T02:30:00", timezone: Europe/Berlin}', [("T002", 6, 19)]),
    ('{at: "2030-03-31T02:30:00+01:00", timezone: Europe/Berlin}', []),
])  # fmt: skip
def test_findings_stand_where_the_mistake_is(config: str, expected: list[tuple[str, int, int]]) -> None:
    assert sorted(found(config)) == sorted(expected)


@pytest.mark.parametrize(("config", "expected"), [
    ('{at: "2027-01-01T00:00:00"}', ["T007"]), ('{cron: "0 9 1 1 ? 2027"}', ["T007"]), ('{cron: "0 9 1 1 *"}', []),
    ('{at: "2029-01-01T00:00:00"}', []), ("{every: 1 hour}", []),
])
def test_schedules_whose_time_is_over(config: str, expected: list[str]) -> None:
    source = Source(FLOW.format(config=config), "report.yaml")
    assert [one.code for one in check_sources([source], now=datetime(2028, 1, 1, tzinfo=UTC))] == expected
    assert check_sources([source]) == ()


def test_a_time_that_clocks_skip_becomes_another_one() -> None:
    text = FLOW.format(config='{at: "2030-03-31T02:30:00", timezone: Europe/Berlin}')
    (told,) = check_sources([Source(text)])
    assert "03:30" in told.message and "2030-03-31T01:30:00Z" in told.message
    assert release_of(compile_source(text), machine="m").get("triggers", [])[0]["expression"] == "at(2030-03-31T03:30:00)"


def test_facts_for_whoever_publishes() -> None:
    text = FLOW.format(config='{schedule: "weekdays at 8:00", timezone: Europe/Berlin, overlap: skip, input: {a: 1}}')
    assert release_of(compile_source(text), machine="m").get("triggers") == [{
        "id": "schedule-1", "type": "schedule", "expression": "cron(0 8 ? * MON-FRI *)", "timezone": "Europe/Berlin",
        "input": {"a": 1}, "overlap": "skip", "enabled": True, "catch_up": "none", "window": 0,
    }]  # fmt: skip


EVENTS = FLOW.replace("type: schedule", "type: {kind}")


@pytest.mark.parametrize(("kind", "config", "expected"), [
    ("event", '{event: "order.*", where: "event.total > 100", filter: {state: [paid]}}', []),
    ("event", "{event: [a, b], source: shop, fields: {x: y.z}, input: {a: 1}}", []), ("workflow", "{workflow: first}", []),
    ("workflow", '{workflow: first, status: [failed, timed_out], where: "event.output.n in [1, 2]"}', []),
    ("event", "{}", [("T001", 6, 13)]), ("event", "{event: a, filter: {state: paid}}", [("T001", 6, 32)]),
    ("event", '{event: a, where: "steps.one.output > 1"}', [("T004", 6, 32)]),
    ("event", '{event: a, where: "event.total >"}', [("T004", 6, 44)]), ("event", "{event: node_failed}", [("T005", 6, 21)]),
    ("workflow", "{workflow: report}", [("T006", 6, 24)]), ("workflow", "{workflow: a, status: done}", [("T001", 6, 35)]),
])  # fmt: skip
def test_findings_of_events(kind: str, config: str, expected: list[tuple[str, int, int]]) -> None:
    diagnostics = check_sources([Source(EVENTS.format(kind=kind, config=config), "report.yaml")])
    assert sorted((one.code, one.position.line, one.position.column) for one in diagnostics) == sorted(expected)


INPUTS = """\
dialect: canonical
id: night
inputs: {{region: {{type: string, required: true}}, size: {{type: integer, default: 1}}}}
triggers:
  - {{type: {kind}, config: {config}}}
steps: [{{id: one, type: transform, config: {{data: 1}}}}]
"""


@pytest.mark.parametrize(("kind", "config", "expected"), [
    ("schedule", "{every: 1 hour, input: {region: eu, size: 2}}", []), ("schedule", "{every: 1 hour}", ["region is required"]),
    ("schedule", "{every: 1 hour, input: {regoin: eu, size: big}}",
        ["region is required", "did you mean region?", "size is a text"]),
    ("webhook", "{secret: s, fields: {region: a.b}, input: {size: 2}}", []), ("webhook", "{secret: s}", []),
    ("webhook", "{secret: s, fields: {regoin: a.b}}", ["region is required", "did you mean region?"]),
    ("event", "{event: e, fields: {region: a, siz: b}}", ["did you mean size?"]),
    ("event", "{event: e, fields: {region: a}, input: {region: 7}}", []), ("event", "{event: e, input: {sise: 2}}", ["size?"]),
    ("workflow", "{workflow: first, fields: {size: output.n}}", ["region is required"]),
])
def test_what_a_trigger_gives_is_what_the_workflow_takes(kind: str, config: str, expected: list[str]) -> None:
    told = check_sources([Source(INPUTS.format(kind=kind, config=config))])
    assert len(told) == len(expected) and {one.code for one in told} <= {"T008", "T010"}
    assert all((one.code, one.severity) == ("T010", "warning") for one in told if "required" in one.message)
    assert all(any(part in one.message for one in told) for part in expected), told
    assert check_sources([Source(INPUTS.format(kind=kind, config=config).replace("inputs:", "labels:"))]) == ()


def test_a_workflow_whose_end_is_awaited_is_there() -> None:
    workflow = compile_source(FLOW.replace("schedule", "workflow").format(config="{workflow: clam}")).workflow
    for known, hints in ((["claim"], ["did you mean claim?"]), (["other"], [""]), (["clam"], [])):
        findings = Findings()
        check_awaited(workflow, lambda known=known: known, findings)
        assert [(one.code, one.hint) for one in findings] == [("T009", hint) for hint in hints]
