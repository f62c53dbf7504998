"""Sub-workflows in a local run: their steps, told beneath the step that calls them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aslant import skills
from infra.cli.gantt import chart
from infra.cli.main import main
from infra.cli.outcome import as_json, as_text
from infra.local.approvals import Decision
from infra.local.progress import Status, StepRun, nested
from infra.local.runner import RunResult, run
from translator.pipeline import Source, compile_sources

HEAD = "dialect: canonical\n"
KID = HEAD + """\
id: kid
name: kid
inputs: {x: {type: integer}}
steps:
  - {id: big, type: wait, seconds: 1, when: "input.x > 5"}
  - {id: inner, type: workflow, workflow: grand, input: {x: "{{ input.x }}"}}
outputs: {x: "{{ steps.inner.output.x }}"}
"""
GRAND = HEAD + """\
id: grand
name: grand
inputs: {x: {type: integer}}
steps:
  - {id: ask, type: approval, config: {message: sure}}
  - {id: work, type: skill, depends_on: [ask], config: {skill: nested_work, parameters: {x: "{{ input.x }}"}}}
outputs: {x: "{{ steps.work.output }}"}
"""


class Odd(Exception):
    pass


class Work:
    """A skill that fails for its first `failures` calls."""

    def __init__(self) -> None:
        self.failures = 0
        self.calls: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.calls.append(x)
        if len(self.calls) <= self.failures:
            raise Odd(f"not with {x}")
        return x


@pytest.fixture
def work() -> Iterator[Work]:
    skill = Work()
    skills.register("nested_work", skill)
    yield skill
    skills.unregister("nested_work")


def ran(*texts: str, **options: Any) -> RunResult:
    sources = [Source(text, f"{number}.yaml") for number, text in enumerate(texts)]
    return run(compile_sources(sources), {}, approver=lambda _: Decision("approve"), time_scale=10, **options)


def told(result: RunResult) -> dict[str, str]:
    return {one.place: one.status.value for one in nested(result.steps)}


def found(result: RunResult, place: str) -> StepRun:
    return next(one for one in nested(result.steps) if one.place == place)


def test_three_levels_in_a_parallel_and_a_loop(work: Work) -> None:
    result = ran(HEAD + """\
id: top
name: top
steps:
  - id: both
    type: parallel
    branches:
      - steps: [{id: one, type: workflow, workflow: kid, input: {x: 7}}]
      - steps: [{id: pause, type: wait, seconds: 1}]
  - id: each
    type: foreach
    depends_on: [both]
    items: [1, 2]
    steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]
""", KID, GRAND)
    assert result.status == "completed", result.error
    levels = [("one", "completed"), ("call[0]", "skipped"), ("call[1]", "skipped")]
    assert told(result) == {
        "both": "completed", "pause": "completed", "each": "completed",
        **{name: "completed" for name, _ in levels},
        **{f"{name} > big": big for name, big in levels},
        **{f"{name} > inner{rest}": "completed" for name, _ in levels for rest in ("", " > ask", " > work")},
    }
    document = json.loads(as_json(result))
    calls = [step for step in document["steps"] if step["type"] == "workflow"]
    assert [(step["step"], step["iteration"]) for step in calls] == [("one", []), ("call", [0]), ("call", [1])]
    assert all("children" not in step for step in document["steps"] if step["type"] != "workflow")
    for step in calls:
        (child,) = step["children"]
        assert (child["workflow"], child["attempt"], child["status"], child["simulated"]) == ("kid", 1, "completed", False)
        (grand,) = next(one for one in child["steps"] if one["step"] == "inner")["children"]
        assert grand["workflow"] == "grand" and [one["step"] for one in grand["steps"]] == ["ask", "work"]
    assert len({child["execution"] for step in calls for child in step["children"]}) == 3
    rows = [line.split("  0")[0] for line in chart(result).splitlines()]
    at = next(number for number, row in enumerate(rows) if row.startswith("call[0] "))
    assert [row.split("  █")[0][:10].rstrip() for row in rows[at + 1 : at + 4]] == ["  inner", "    ask", "    work"]
    assert rows[-1] == "not taken: call[0] > big, call[1] > big"
    assert "(6 of 6 steps settled)" in as_text(result, {})


def test_the_failure_of_a_child_is_told_with_its_own_step_and_file(work: Work) -> None:
    work.failures = 99
    parent = HEAD + "id: top\nname: top\nsteps:\n" + """\
  - {id: each, type: foreach, items: [4], steps: [{id: call, type: workflow, workflow: kid, input: {x: "{{ item }}"}}]}
"""
    result = ran(parent, KID, GRAND)
    error = result.error
    assert error is not None and (error.error, error.message.endswith("not with 4")) == ("Odd", True)
    assert (error.path, error.step, error.workflow) == (("call[0]", "inner"), "work", "grand")
    line = next(number for number, text in enumerate(GRAND.splitlines(), 1) if "id: work" in text)
    assert (error.position.file, error.position.line) == ("2.yaml", line)
    text = as_text(result, {"2.yaml": GRAND})
    assert f"2.yaml:{line}:10: step call[0] > inner > work: Odd\n  not with 4\n" in text
    assert "failed call" not in text  # the step in the child says it
    told_error = json.loads(as_json(result))["error"]
    assert (told_error["path"], told_error["step"], told_error["workflow"]) == (["call[0]", "inner"], "work", "grand")


def test_each_attempt_has_its_own_steps_and_the_item_of_its_loop(work: Work) -> None:
    work.failures = 1
    result = ran(HEAD + """\
id: top
name: top
steps:
  - id: each
    type: foreach
    items: [3]
    steps:
      - {id: call, type: workflow, workflow: grand, input: {x: "{{ item }}"}, retry: {max_attempts: 2, on: [Odd], delay: 1}}
""", GRAND)
    assert result.status == "completed", result.error
    assert work.calls == [3, 3]
    call = found(result, "call[0]")
    assert call.attempts == 2
    assert [(child.attempt, child.status) for child in call.children] == [(1, Status.FAILED), (2, Status.COMPLETED)]
    assert (told(result)["call[0] > work"], told(result)["call[0] (attempt 2) > work"]) == ("failed", "completed")
    labels = [line.strip().split("  ")[0] for line in chart(result).splitlines()[1:]]
    assert labels == ["each", "call[0]", "attempt 1", "ask", "work", "attempt 2", "ask", "work"]


def test_a_failure_before_another_child_is_no_failure_of_the_child_before(work: Work) -> None:
    work.failures = 1
    result = ran(HEAD + """\
id: top
name: top
steps:
  - {id: call, type: workflow, workflow: grand, input: {x: 1}, on_failure: continue}
  - {id: next, type: workflow, workflow: grand, depends_on: [call], input: {x: "{{ steps.call.output.nothing.there }}"}}
""", GRAND)
    assert result.error is not None
    assert (result.error.path, result.error.step) == ((), "next")
    assert found(result, "next").children == []


def test_a_child_that_nobody_waits_for_is_shown_as_far_as_it_came() -> None:
    result = ran(HEAD + """\
id: top
name: top
steps: [{id: away, type: workflow, workflow: slow, wait_for_completion: false}]
""", HEAD + "id: slow\nname: slow\nsteps: [{id: nap, type: wait, seconds: 600}]\n")
    assert result.status == "completed"
    assert told(result) == {"away": "completed", "away > nap": "cancelled"} or (
        told(result) == {"away": "completed", "away > nap": "not_started"}  # the run ended before its first state
    )
    assert any("slow still ran at the end" in note for note in result.notes)


def test_a_child_that_is_stopped_for_its_time_leaves_the_failure_with_its_caller() -> None:
    result = ran(HEAD + """\
id: top
name: top
steps: [{id: call, type: workflow, workflow: slow, timeout: 20}]
""", HEAD + "id: slow\nname: slow\nsteps: [{id: nap, type: wait, seconds: 600}]\n")
    assert result.error is not None
    assert (result.error.error, result.error.path, result.error.step) == ("States.Timeout", (), "call")
    (child,) = found(result, "call").children
    assert (child.status, told(result)["call > nap"]) == (Status.CANCELLED, "cancelled")


def test_what_is_simulated_is_marked_where_it_ran() -> None:
    result = ran(HEAD + """\
id: top
name: top
steps: [{id: call, type: workflow, workflow: kid, input: {x: 1}}]
""", KID, simulate=True)
    assert result.status == "completed", result.error
    inner = found(result, "call > inner")
    assert inner.simulated and not found(result, "call").simulated
    (child,) = inner.children
    assert (child.workflow, child.status, child.progress, child.steps) == ("grand", Status.COMPLETED, None, [])
    (shown,) = json.loads(as_json(result))["steps"][0]["children"][0]["steps"][1]["children"]
    assert (shown["simulated"], shown["steps"]) == (True, [])


def test_the_command_tells_the_steps_of_children(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    top = HEAD + "id: top\nname: top\nsteps: [{id: call, type: workflow, workflow: grand, input: {x: 2}}]\n"
    Path("top.yaml").write_text(top, encoding="utf-8")
    Path("grand.yaml").write_text(GRAND, encoding="utf-8")
    assert main(["run", "top.yaml", "--simulate", "--approve", "*", "--timeline"]) == 0
    err = capfd.readouterr().err
    lines = [" ".join(line.split()[1:]) for line in err.splitlines()]
    assert "waiting_approval call > ask" in lines
    assert any(line.startswith("completed call > work (") and line.endswith(", simulated)") for line in lines)
    assert any(line.startswith("  work ") for line in err.splitlines())
