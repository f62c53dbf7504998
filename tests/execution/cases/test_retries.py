"""Retries and time limits: the shape of the delays, what is retried, and how long an attempt may take."""

from __future__ import annotations

import re
import threading
import time
from typing import Any

import pytest

from aslant import skills as registry
from tests.execution.cases.spelling import compiled, errors_of, in_every_dialect, start, start_as
from tests.execution.support import Skills

SHAPE = """
    name: shape
    steps:
      - id: a
        type: skill
        retry: {max_attempts: 6, delay: 1, multiplier: 2, max_delay: 3, on: [NoisyError]}
        config: {skill: flaky, parameters: {name: a, times: 5}}
"""


@in_every_dialect
def test_one_rule_says_delay_growth_and_limit(dialect: str) -> None:
    (compilation,) = compiled(SHAPE, dialect=dialect)
    rules = [rule for rule in compilation.definition["States"]["a"]["Retry"] if "NoisyError" in rule["ErrorEquals"]]
    assert rules == [
        {"ErrorEquals": ["NoisyError"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 5, "MaxDelaySeconds": 3}
    ]


def gaps(skills: Skills, scale: float) -> list[float]:
    times = [at for name, at in skills.calls if name == "a"]
    return [(later - earlier) * scale for earlier, later in zip(times, times[1:], strict=False)]


def test_the_delays_grow_up_to_their_limit(skills: Skills) -> None:
    result = start_as("canonical", SHAPE, time_scale=8)
    assert (result.status, result.output) == ("completed", {"a": 6})
    seen = gaps(skills, 8)
    assert len(seen) == 5
    assert all(wanted - 0.1 <= gap for gap, wanted in zip(seen, (1, 2, 3, 3, 3), strict=True)), seen
    assert seen[-1] < 15, "without their limit it would be 16"


@in_every_dialect
def test_only_listed_errors_are_retried(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, SHAPE.replace("[NoisyError]", "[Transient]"))
    assert (result.status, skills.count("a")) == ("failed", 1)
    assert result.error is not None
    assert result.error.error == "NoisyError"


@pytest.mark.parametrize("key", ["window", "max_elapsed", "retries"])
def test_a_key_that_no_retry_has_is_refused(key: str) -> None:
    found = errors_of(SHAPE.replace("multiplier: 2,", f"{key}: 4,"))
    assert len(found) == 1 and key in found[0].message


@pytest.mark.parametrize("delay", ["0.25", "'250ms'", "1.5"])
def test_a_fraction_of_a_second_is_rounded_up_and_said(delay: str) -> None:
    (compilation,) = compiled(SHAPE.replace("delay: 1,", f"delay: {delay},"))
    (rule,) = (rule for rule in compilation.definition["States"]["a"]["Retry"] if "NoisyError" in rule["ErrorEquals"])
    assert rule["IntervalSeconds"] == (2 if delay == "1.5" else 1)
    assert [(found.code, found.severity.value) for found in compilation.diagnostics] == [("A005", "warning")]


class Hanging:
    """A skill that hangs the first times it is called and counts its calls."""

    def __init__(self) -> None:
        self.calls = 0
        self.lock = threading.Lock()

    def __call__(self, times: int, seconds: float = 3.0) -> dict[str, Any]:
        with self.lock:
            self.calls += 1
            mine = self.calls
        if mine <= times:
            time.sleep(seconds)
        return {"call": mine}


@pytest.fixture
def hanging(skills: Skills) -> Hanging:
    made = Hanging()
    registry.register("hang", made.__call__)
    return made


LIMITED = """
    name: to
    settings: {{timeout: 300}}
    steps:
      - id: a
        type: skill
        timeout: 2
        retry: {{max_attempts: 2, delay: 1, on: ['{on}']}}
        config: {{skill: hang, parameters: {{times: {times}}}}}
      - {{id: wait, type: wait, seconds: 40, depends_on: [a]}}
      - {{id: b, type: transform, depends_on: [wait], config: {{data: "{{{{ steps.a.output.call }}}}"}}}}
"""


@pytest.mark.parametrize("on", ["timeout", "States.Timeout", "all"])
def test_every_attempt_has_the_whole_limit_and_a_late_answer_changes_nothing(hanging: Hanging, on: str) -> None:
    result = start_as("canonical", LIMITED.format(on=on, times=1), time_scale=20)
    assert (result.status, result.output, hanging.calls) == ("completed", {"b": 2}, 2)


def test_attempts_that_time_out_are_counted(hanging: Hanging) -> None:
    result = start_as("canonical", LIMITED.format(on="timeout", times=9), time_scale=20)
    assert (result.status, hanging.calls) == ("failed", 2)
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("States.Timeout", "a")


def test_no_retry_means_one_attempt(hanging: Hanging) -> None:
    text = LIMITED.format(on="Transient", times=9)
    assert start_as("canonical", text, time_scale=20).status == "failed"
    assert hanging.calls == 1


@in_every_dialect
def test_a_limit_of_the_step_in_every_dialect(hanging: Hanging, dialect: str) -> None:
    (compilation,) = compiled(LIMITED.format(on="timeout", times=1), dialect=dialect)
    state = compilation.definition["States"]["a"]
    assert state["TimeoutSeconds"] == 2
    assert [rule["MaxAttempts"] for rule in state["Retry"] if "States.Timeout" in rule["ErrorEquals"]] == [1]
    assert compilation.definition["TimeoutSeconds"] == 300


def test_the_time_of_the_whole_workflow_runs_out() -> None:
    result = start(compiled("settings: {timeout: 5}\nsteps: [{id: w, type: wait, seconds: 100}]"), time_scale=20)
    assert result.status == "timed_out"


@pytest.mark.parametrize("kind", ["skill", "http", "agent", "workflow", "approval"])
def test_no_step_that_calls_something_is_without_a_limit(kind: str) -> None:
    config = {"skill": "{skill: x}", "http": "{url: 'https://example.com'}", "agent": "{prompt: hi}", "workflow": "{}",
              "approval": "{message: ok}"}[kind]
    extra = ", workflow: kid" if kind == "workflow" else ""
    (compilation,) = compiled(f"steps: [{{id: a, type: {kind}, config: {config}{extra}}}]")
    tasks = [state for state in compilation.definition["States"].values() if state["Type"] == "Task"]
    assert tasks
    for state in tasks:
        limit = state["TimeoutSeconds"]  # an expression where a later run goes on with what is left of the time
        assert re.search(r"\b3600\b", limit) if kind == "approval" else limit >= 1
