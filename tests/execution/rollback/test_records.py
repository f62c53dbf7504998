"""What is recorded of a rollback: statuses, what was undone and what was not, and rollbacks that are asked for later."""

from __future__ import annotations

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
