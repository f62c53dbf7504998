"""What is recorded of a rollback: statuses, what was undone and what was not, and rollbacks that are asked for later."""

from __future__ import annotations

import time
from collections.abc import Callable

from aslant import bootstrap
from aslant import skills as registry
from aslant.approvals.rules import Person
from aslant.settings import Settings
from tests.execution.rollback.test_saga import SAGA, undone
from tests.execution.rollback.world import TENANT, world
from tests.execution.support import Skills

SIMPLE = """
    id: simple
    settings: {{on_error: {action}}}
    steps:
      - id: a
        type: skill
        config: {{skill: echo, parameters: {{name: a, value: 1}}}}
        compensation: {{id: c, type: skill, config: {{skill: {undo}, parameters: {{name: undo a}}}}}}
      - id: b
        type: skill
        depends_on: [a]
        config: {{skill: echo, parameters: {{name: b, value: 2}}}}
        compensation: {{id: d, type: skill, config: {{skill: echo, parameters: {{name: undo b, value: "{{{{ execution.error.step }}}}"}}}}}}
      - {{id: x, type: skill, depends_on: [b], config: {{skill: fail}}}}
    rollback:
      - {{id: r, type: skill, config: {{skill: echo, parameters: {{name: undo r, value: "{{{{ steps.b.output }}}}"}}}}}}
"""


def test_an_incomplete_rollback_ends_failed_with_both_lists_and_the_first_error(skills: Skills) -> None:
    with world(SAGA) as made:
        ended = made.run("saga")
        statuses = made.passed(ended.id)
        records = {record.label: record for record in made.store.steps(TENANT, ended.id)}
    assert ended.status == "failed"
    assert statuses == ["running", "rolling_back", "failed"]
    assert ended.undone == ("t4", "t3", "t1")
    assert ended.not_undone == ("t5",)
    assert ended.error is not None and (ended.error.error, ended.error.step) == ("NoisyError", "t6")
    assert records["undo t5"].status == "failed" and records["undo t5"].total_attempts == 3
    assert records["undo t1"].status == "completed"
    assert {"undo t2", "undo t6", "undo t7"} & set(records) == set()


def test_a_complete_rollback_ends_rolled_back(skills: Skills) -> None:
    with world(SIMPLE.format(action="rollback", undo="echo")) as made:
        ended = made.run("simple")
        statuses = made.passed(ended.id)
    assert statuses == ["running", "rolling_back", "rolled_back"]
    assert (ended.undone, ended.not_undone) == (("b", "a"), ())
    assert undone(skills) == ["undo b", "undo a", "undo r"]
    assert ("undo b", "x") in skills.calls


def test_a_failure_whose_policy_is_fail_is_undone_when_somebody_asks_for_it(skills: Skills) -> None:
    with world(SIMPLE.format(action="fail", undo="echo")) as made:
        failed = made.run("simple")
        before = undone(skills)
        made.executions.rollback(TENANT, failed.id, by="eve")
        ended = made.until(failed.id, "rolled_back")
        statuses = made.passed(failed.id)
    assert (failed.status, before) == ("failed", [])
    assert statuses == ["running", "failed", "rolling_back", "rolled_back"]
    assert undone(skills) == ["undo b", "undo a", "undo r"]
    assert ("undo r", 2) in skills.calls and ("undo b", "x") in skills.calls
    assert ended.undone == ("b", "a")


def test_a_rollback_that_is_repeated_undoes_only_what_was_left(skills: Skills) -> None:
    with world(SIMPLE.format(action="rollback", undo="flaky").replace("name: undo a", "name: undo a, times: 4")) as made:
        first = made.run("simple")
        before = undone(skills)
        made.executions.rollback(TENANT, first.id, by="eve")
        ended = made.until(first.id, "rolled_back")
    assert (first.status, first.undone, first.not_undone) == ("failed", ("b",), ("a",))
    assert before == ["undo b", *["undo a"] * 3, "undo r"]
    assert undone(skills)[len(before):] == ["undo a", "undo a"]
    assert set(ended.undone) == {"a", "b"} and ended.not_undone == ()


def test_what_was_undone_runs_again_at_a_retry_and_is_undone_again(skills: Skills) -> None:
    text = SIMPLE.format(action="rollback", undo="echo").replace("{skill: fail}", "{skill: flaky, parameters: {name: x, times: 2}}")
    with world(text) as made:
        first = made.run("simple")
        made.executions.retry(TENANT, first.id, by="eve")
        second = made.until(first.id, "completed", "rolled_back", "failed")
        made.executions.retry(TENANT, first.id, by="eve")
        ended = made.until(first.id, "completed", "failed")
        statuses = made.passed(first.id)
    assert (first.status, second.status, ended.status, ended.error) == ("rolled_back", "rolled_back", "completed", None)
    assert statuses == ["running", *("rolling_back", "rolled_back", "running") * 2, "completed"]
    once = ["a", "b", "x", "undo b", "undo a", "undo r"]
    assert [name for name, _ in skills.calls] == [*once, *once, "a", "b", "x"]


def test_a_loop_goes_over_the_items_that_a_rerun_gives(skills: Skills) -> None:
    text = """
        id: loops
        steps:
          - {id: a, type: skill, config: {skill: counted}}
          - id: each
            type: foreach
            depends_on: [a]
            items: "{{ steps.a.output }}"
            steps:
              - id: inner
                type: skill
                config: {skill: echo, parameters: {name: "inner {{ item }}"}}
                compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: "undo {{ item }}"}}}
    """
    given = iter([["old"], ["new", "newer"]])
    registry.register("counted", lambda: next(given))
    with world(text) as made:
        first = made.run("loops")
        made.executions.rerun(TENANT, first.id, "a", by="eve")
        made.wait(lambda: skills.count("inner newer"))
        assert made.until(first.id, "completed", "failed").status == "completed"
    assert sorted(name for name, _ in skills.calls) == ["inner new", "inner newer", "inner old"]


def test_an_escalation_goes_on_after_a_pause(skills: Skills) -> None:
    text = """
        id: asks
        steps:
          - {id: a, type: skill, config: {skill: echo, parameters: {name: a}}}
          - {id: s, type: skill, depends_on: [a], on_failure: escalate, config: {skill: flaky, parameters: {name: s, times: 2}}}
    """
    with world(text, scale=1) as made:
        id = made.executions.start(TENANT, "asks", {}, user="ada").id
        approvals = bootstrap.approvals(Settings.read())
        wait(lambda: approvals.pending(TENANT)[0])
        made.executions.pause(TENANT, id, by="eve")
        made.until(id, "paused")
        arn = made.executions.resume(TENANT, id, by="eve").arn
        wait(lambda: any(event["type"] == "TaskSubmitted" for event in made.cloud.execution(arn).events()))

        def answered() -> bool:
            for item in approvals.pending(TENANT)[0]:
                approvals.decide(TENANT, item["approval_id"], "answer", by=Person("eve"), answer="retry")
            found = made.store.read(TENANT, id)
            return found is not None and found.status in ("completed", "failed")

        wait(answered)
        ended = made.until(id, "completed", "failed")
    assert ended.status == "completed"
    assert skills.count("a") == 1
    assert skills.count("s") == 3


def wait(until: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not until():
        assert time.monotonic() < end
        time.sleep(0.05)
