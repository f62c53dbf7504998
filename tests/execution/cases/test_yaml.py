"""YAML's traps: words that look like booleans, dates, anchors, tags and bombs."""

from __future__ import annotations

import json
import resource
import time
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from tests.execution.cases.spelling import as_written, compiled, errors_of, in_every_dialect, spelled, start, start_as
from tests.execution.support import Skills

NORWAY = """
    name: norway
    triggers: [{type: event, config: {event: push, filter: {on: {branches: [no, yes, off]}}}}]
    inputs:
      country: {type: string, enum: [NO, SE, DK], default: NO}
    steps:
      - {id: no, type: skill, config: {skill: echo, parameters: {value: {v: "{{ input.country }}", on: off, y: [y, n, Yes, ON, true]}}}}
      - {id: yes, type: skill, depends_on: [no], config: {skill: echo, parameters: {value: "{{ steps.no.output.on }}", name: yes}}}
"""


@in_every_dialect
def test_on_off_yes_and_no_are_words(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, NORWAY)
    assert skills.calls == [
        ("echo", {"v": "NO", "on": "off", "y": ["y", "n", "Yes", "ON", True]}), ("yes", "off"),
    ]
    assert result.output == {"yes": "off"}


def test_a_trigger_under_on_is_found() -> None:
    (compilation,) = compiled(NORWAY)
    assert compilation.workflow.triggers[0]["config"] == {"event": "push", "filter": {"on": {"branches": ["no", "yes", "off"]}}}
    assert [step.id for step in compilation.workflow.steps] == ["no", "yes"]


@in_every_dialect
def test_the_same_definition_as_json_gives_the_same_machine(dialect: str) -> None:
    text = spelled(NORWAY, dialect)
    document = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - every scalar is a text, as our reader sees them here

    def typed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: typed(item) for key, item in value.items()}
        if isinstance(value, list):
            return [typed(item) for item in value]
        return {"true": True, "false": False}.get(value, value)

    (plain,), (quoted,) = as_written(text), as_written(json.dumps(typed(document), ensure_ascii=False))
    assert quoted.dialect == plain.dialect == dialect
    assert quoted.bind({"skill": "f"}) == plain.bind({"skill": "f"})


DATES = """
    name: dates
    steps:
      - id: a
        type: skill
        config:
          skill: echo
          parameters:
            value: {d: 2024-11-01, t: 2024-11-01T00:00:00, z: 2024-11-01T00:00:00+02:00, s: "2024-02-30", h: 12:30:45, o: 010, b: 1_000, e: 1e3, x: 0x1F}
"""


@in_every_dialect
def test_dates_and_times_arrive_as_they_were_written(skills: Skills, dialect: str) -> None:
    assert start_as(dialect, DATES).output == {"a": {
        "d": "2024-11-01", "t": "2024-11-01T00:00:00", "z": "2024-11-01T00:00:00+02:00", "s": "2024-02-30", "h": "12:30:45",
        "o": "010", "b": "1_000", "e": 1000, "x": skills.calls[0][1]["x"],
    }}
    assert skills.calls[0][1]["x"] in ("0x1F", 31)


def test_a_date_as_a_version_stays_that_text_and_is_mentioned() -> None:
    (compilation,) = compiled("version: 2024-01-16\nsteps: [{id: a, type: wait, seconds: 0}]")
    assert compilation.workflow.version == "2024-01-16"
    assert [(found.code, found.position.line) for found in compilation.diagnostics] == [("D021", 2)]


@in_every_dialect
@pytest.mark.parametrize(("until", "written"), [
    ("2020-01-01T00:00:00+02:00", "2019-12-31T22:00:00Z"), ("2020-01-01T00:00:00-05:30", "2020-01-01T05:30:00Z"),
    ("2020-01-01T00:00:00Z", "2020-01-01T00:00:00Z"),
])
def test_a_past_instant_is_no_wait_and_is_written_in_utc(dialect: str, until: str, written: str) -> None:
    compilations = compiled(f"name: w\nsteps: [{{id: w, type: wait, until: {until}}}]", dialect=dialect)
    (wait,) = (state for state in compilations[0].definition["States"].values() if state["Type"] == "Wait")
    assert wait["Timestamp"] == written
    result = start(compilations, time_scale=1)
    assert result.status == "completed" and result.seconds < 20


@pytest.mark.parametrize("until", ["2024-02-30T00:00:00Z", "2024-11-01", "tomorrow", "2024-11-01T00:00:00", "2024-13-01T00:00:00Z"])
def test_what_is_no_instant_is_refused(until: str) -> None:
    found = errors_of(f"steps: [{{id: w, type: wait, until: '{until}'}}]")
    assert [one.code for one in found] == ["A003"] or "instant" in found[0].message
    assert until in found[0].message


@pytest.mark.parametrize("until", ["2020-01-01T00:00:00+02:00", "2020-01-01T00:00:00.250Z", "2020-01-01T00:00:00Z"])
def test_an_instant_that_is_computed(until: str) -> None:
    result = start(
        compiled("inputs: {t: {type: string, required: true}}\nsteps: [{id: w, type: wait, until: '{{ input.t }}'}]"), {"t": until},
    )
    assert result.status == "completed", result.error


def test_a_future_instant_is_waited_for() -> None:
    # Time goes sixty times as fast from the moment that the local cloud is there: setting up takes a part of the minutes.
    soon = datetime.fromtimestamp(round(time.time()) + 300, UTC)
    text = soon.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    result = start(compiled(f"steps: [{{id: w, type: wait, until: '{text}'}}]"), time_scale=60)
    assert result.status == "completed" and result.stopped >= soon


ANCHORS = """
    name: anchors
    x-retry: &r {{max_attempts: 3, delay: 1, on: [NoisyError]}}
    steps:
      - {{id: a, type: skill, retry: *r, config: {{skill: echo}}}}
      - {{id: b, type: skill, retry: {b}, config: {{skill: echo}}}}
      - {{id: c, type: skill, retry: *r, config: {{skill: echo}}}}
"""


def test_an_alias_is_a_copy() -> None:
    (compilation,) = compiled(ANCHORS.format(b="{max_attempts: 6, delay: 1, on: [NoisyError]}"))
    retries = [step.retry.max_attempts for step in compilation.workflow.steps if step.retry]
    assert retries == [3, 6, 3]


def test_merge_keys_are_refused_clearly() -> None:
    found = errors_of(ANCHORS.format(b="{<<: *r, max_attempts: 6}"))
    assert [one.code for one in found] == ["S007"]
    assert found[0].hint


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join(['*' + old] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(("text", "code"), [
    (BOMB, "S004"),
    ("!!python/object/apply:os.system ['id']", "S006"),
    ("steps: !!python/name:os.system x", "S006"),
    ("steps: &a [*a]", "S008"),
    ("steps: [{id: a, type: wait, seconds: 0}]\n---\nsteps: []", "S009"),
    ("steps: [{id: a, id: b, type: wait, seconds: 0}]", "S005"),
    ("steps: " + "[" * 200 + "]" * 200, "S003"),
    ("steps: [" + "x, " * 400_000 + "x]", "S002"),
])
def test_hostile_text_is_refused_at_once_and_with_little_memory(text: str, code: str) -> None:
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    found = errors_of(text, whole=True)
    assert code in [one.code for one in found]
    assert time.process_time() - started < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KiB


@pytest.mark.parametrize("key", ["step", "Steps", "retries", "timeout", "x"])
def test_an_unknown_key_at_the_top_is_refused(key: str) -> None:
    found = errors_of(f"{key}: 1\nsteps: [{{id: a, type: wait, seconds: 0}}]")
    assert len(found) == 1 and key in found[0].message and found[0].position.line == 2
