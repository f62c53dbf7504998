"""What stands in `finally` runs once when an execution is cancelled, whatever it was at, of its children too."""

from __future__ import annotations

import pytest

from aslant.errors import InvalidTransition
from tests.execution.durable.control import TENANT, World, world

CLEANUP = """
    id: job
    inputs: {{n: {{type: integer, required: true}}}}
    variables: {{stamp: "{{{{ uuid() }}}}"}}
    steps:
      - {{id: half, type: transform, config: {{expression: "input.n * 2"}}}}
      - {{id: lock, type: skill, depends_on: [half], config: {{skill: effect, parameters: {{name: lock, value: "{{{{ [steps.half.output, vars.stamp] }}}}"}}}}{undo}}}
      - {{id: hold, type: skill, depends_on: [lock], config: {{skill: gate, parameters: {{name: hold}}}}}}
      - {{id: never, type: skill, depends_on: [hold], config: {{skill: effect, parameters: {{name: never}}}}}}
    finally:
      - id: unlock
        type: skill
        config:
          skill: effect
          parameters:
            name: unlock
            value: ["{{{{ execution.status }}}}", "{{{{ steps.half.output }}}}", "{{{{ vars.stamp == steps.lock.output[1] }}}}", "{{{{ steps.never.status }}}}"]
      - {{id: told, type: skill, depends_on: [{{step: unlock, when: "steps.unlock.status == 'completed'"}}], config: {{skill: effect, parameters: {{name: told, value: "{{{{ steps.unlock.output }}}}"}}}}}}
      - {{id: broken, type: skill, depends_on: [told], config: {{skill: effect, parameters: {{name: broken}}}}}}
      - {{id: last, type: skill, depends_on: [broken], config: {{skill: effect, parameters: {{name: last}}}}}}
"""
UNDO = ", compensation: {{id: undo, type: skill, config: {{skill: effect, parameters: {{name: undone}}}}}}"
PLAIN = CLEANUP.format(undo="")
UNDOING = CLEANUP.format(undo=UNDO.format())


def held(there: World) -> str:
    """An execution that waits in its step `hold`."""
    id = there.start("job", n=4)
    there.reached("hold")
    there.effects.failing.add("broken")
    return id


def ended(there: World, id: str, status: str = "cancelled") -> None:
    """Waits until `finally` has run."""
    there.reached("last")
    there.until(lambda: there.service.runs(TENANT, id)[-1].status != "", "the last run does not end")
    assert there.status(id, status).status == status


@pytest.mark.parametrize("text", [PLAIN, UNDOING], ids=["plain", "with compensations"])
def test_finally_runs_once_however_often_it_is_cancelled(text: str) -> None:
    with world(text) as there:
        id = held(there)
        assert there.service.cancel(TENANT, id, by="bob", reason="enough").status == "cancelled"
        assert there.service.cancel(TENANT, id, by="eve").status == "cancelled"
        ended(there, id)
        there.effects.open.set()
        assert there.service.cancel(TENANT, id, by="eve").status == "cancelled"
        assert there.service.reconcile(TENANT, id).status == "cancelled"
        assert there.cloud.settle(30)
        # The one that fails is not tried again, and what comes after it runs.
        assert there.effects.count() == {"broken": 1, "hold": 1, "last": 1, "lock": 1, "told": 1, "unlock": 1}
        outputs = {record.step: record.output for record in there.service.steps(TENANT, id, outputs=True)}
        assert outputs["unlock"] == outputs["told"] == ["cancelled", 8, True, "skipped"]
        runs = there.service.runs(TENANT, id)
        assert [(run.why, run.by, run.status) for run in runs] == [("start", "ann", "ABORTED"), ("finally", "bob", "SUCCEEDED")]
        found = there.service.get(TENANT, id)
        assert (found.status, found.error, found.undone, found.not_undone) == ("cancelled", None, (), ())
        if text is PLAIN:
            with pytest.raises(InvalidTransition, match="nothing to undo"):
                there.service.rollback(TENANT, id, by="bob")


def test_a_cancel_that_undoes_runs_finally_after_it() -> None:
    with world(UNDOING) as there:
        id = held(there)
        assert there.service.cancel(TENANT, id, by="bob", compensate=True).status == "rolling_back"
        ended(there, id, "rolled_back")
        assert there.effects.done == ["lock", "hold", "undone", "unlock", "told", "broken", "last"]
        assert there.service.get(TENANT, id).undone == ("lock",)


def test_a_rollback_after_the_cancel_does_not_repeat_finally() -> None:
    with world(UNDOING) as there:
        id = held(there)
        there.service.cancel(TENANT, id, by="bob")
        ended(there, id)
        there.service.rollback(TENANT, id, by="bob")
        there.status(id, "rolled_back")
        assert there.effects.done == ["lock", "hold", "unlock", "told", "broken", "last", "undone"]


def test_children_run_their_own_finally() -> None:
    parent = """
        id: parent
        steps: [{id: many, type: foreach, items: [1, 2], steps: [{id: go, type: workflow, workflow: job, input: {n: "{{ item }}"}}]}]
        finally: [{id: end, type: skill, config: {skill: effect, parameters: {name: end}}}]
    """
    with world(parent, PLAIN) as there:
        id = there.start("parent")
        there.until(lambda: there.effects.count().get("hold") == 2, "the children do not come to their step")
        there.service.cancel(TENANT, id, by="bob")
        there.service.cancel(TENANT, id, by="bob")
        there.until(lambda: there.effects.count().get("last") == 2, "the children's finally does not run")
        there.reached("end")
        assert there.status(id, "cancelled").status == "cancelled"
        there.effects.open.set()
        assert there.effects.count() == {"broken": 2, "end": 1, "hold": 2, "last": 2, "lock": 2, "told": 2, "unlock": 2}
        children = there.service.children(TENANT, id)
        assert [child.status for child in children] == ["cancelled", "cancelled"]
        assert {run.status for child in children for run in there.service.runs(TENANT, child.id)} == {"ABORTED", "SUCCEEDED"}


def test_one_that_goes_on_again_is_another_matter() -> None:
    with world(PLAIN) as there:
        id = held(there)
        there.service.cancel(TENANT, id, by="bob")
        ended(there, id)
        there.effects.failing.clear()
        there.effects.open.set()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed").status == "completed"
        assert there.effects.count()["never"] == 1
        assert [run.why for run in there.service.runs(TENANT, id)] == ["start", "finally", "retry"]


def test_an_execution_that_ended_cannot_be_cancelled() -> None:
    with world(PLAIN) as there:
        there.effects.open.set()
        id = there.start("job", n=1)
        assert there.status(id, "completed").status == "completed"
        before = there.effects.count()
        with pytest.raises(InvalidTransition):
            there.service.cancel(TENANT, id, by="bob")
        assert there.effects.count() == before and before["unlock"] == 1
