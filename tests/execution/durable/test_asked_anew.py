"""What a refusal, or that nobody answered, has ended is asked anew by a later run; what was granted stays granted."""

from __future__ import annotations

from typing import Any

from aslant import bootstrap
from aslant.approvals.rules import Person
from tests.execution.durable.control import TENANT, World, world

PARENT = """
    id: parent
    steps:
      - id: each
        type: foreach
        items: [1, 2]
        steps: [{id: call, type: workflow, workflow: child, input: {n: "{{ item }}"}}]
      - {id: after, type: skill, depends_on: [each], config: {skill: effect, parameters: {name: after}}}
"""
CHILD = """
    id: child
    inputs: {n: {type: integer}}
    steps:
      - {id: own, type: skill, config: {skill: effect, parameters: {name: "own {{ input.n }}"}}}
      - {id: ask, type: approval, depends_on: [own], timeout: 600, config: {message: "go on with {{ input.n }}?"}}
      - {id: act, type: skill, depends_on: [ask], config: {skill: effect, parameters: {name: "act {{ input.n }}"}}}
"""


def pending(there: World, count: int) -> list[dict[str, Any]]:
    """The questions that wait for an answer, by their text, once there are that many."""
    approvals = bootstrap.approvals(there.settings)
    there.until(lambda: len(approvals.pending(TENANT)[0]) == count, "nobody is asked")
    return sorted(approvals.pending(TENANT)[0], key=lambda item: str(item["config"]["message"]))


def test_a_refusal_inside_of_a_loop_and_a_sub_workflow() -> None:
    with world(PARENT, CHILD, scale=5) as there:
        approvals = bootstrap.approvals(there.settings)
        id = there.start("parent")
        first, second = pending(there, 2)
        approvals.decide(TENANT, first["approval_id"], "approve", by=Person("eve"))
        there.reached("act 1")
        approvals.decide(TENANT, second["approval_id"], "reject", by=Person("eve"), comment="too late")
        failed = there.status(id, "completed", "failed")
        assert failed.error is not None and failed.error.error == "ApprovalRejected"
        there.service.retry(TENANT, id, by="bob")
        (again,) = pending(there, 1)
        assert again["approval_id"] == second["approval_id"] and again["decisions"] == []
        (before,) = again["earlier"]
        assert (before["status"], before["decision"]["by"], before["decision"]["comment"]) == ("rejected", "eve", "too late")
        approvals.decide(TENANT, again["approval_id"], "approve", by=Person("joe"))
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"act 1": 1, "act 2": 1, "after": 1, "own 1": 1, "own 2": 1}


def test_a_question_that_nobody_answered_has_its_whole_time_again() -> None:
    text = """
        id: slow
        steps: [{id: ask, type: approval, timeout: 60, config: {message: "go on?"}}]
    """
    with world(text, scale=50) as there:
        id = there.start("slow")
        (first,) = pending(there, 1)
        assert there.status(id, "completed", "failed").status == "failed"
        there.service.retry(TENANT, id, by="bob")
        (again,) = pending(there, 1)
        assert again["expires_at"] >= first["expires_at"] + 59
        assert again["earlier"][0]["status"] == "expired"
        bootstrap.approvals(there.settings).decide(TENANT, again["approval_id"], "approve", by=Person("joe"))
        assert there.status(id, "completed", "failed").status == "completed"


def test_a_refusal_that_the_workflow_went_on_after_stays() -> None:
    text = """
        id: goes_on
        steps:
          - {id: ask, type: approval, timeout: 600, on_failure: continue, config: {message: "go on?"}}
          - {id: bad, type: skill, depends_on: [ask], config: {skill: effect, parameters: {name: bad}}}
    """
    with world(text, scale=5) as there:
        there.effects.failing = {"bad"}
        id = there.start("goes_on")
        (item,) = pending(there, 1)
        bootstrap.approvals(there.settings).decide(TENANT, item["approval_id"], "reject", by=Person("eve"))
        assert there.status(id, "completed", "failed").status == "failed"
        there.effects.failing = set()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert bootstrap.approvals(there.settings).read(TENANT, item["approval_id"])["status"] == "rejected"


def test_a_step_that_was_given_up_is_asked_about_again() -> None:
    text = """
        id: given_up
        steps: [{id: shaky, type: skill, config: {skill: effect, parameters: {name: shaky}}, on_failure: escalate}]
    """
    with world(text, scale=5) as there:
        there.effects.failing = {"shaky"}
        approvals = bootstrap.approvals(there.settings)
        id = there.start("given_up")
        for answer in ("retry", "abort"):
            (item,) = pending(there, 1)
            approvals.decide(TENANT, item["approval_id"], "answer", by=Person("eve"), answer=answer)
            there.until(lambda done=item: done["approval_id"] not in {  # type: ignore[misc]
                one["approval_id"] for one in approvals.pending(TENANT)[0]}, "it still waits")
        assert there.status(id, "completed", "failed").status == "failed"
        there.service.retry(TENANT, id, by="bob")
        (again,) = pending(there, 1)
        there.effects.failing = set()
        approvals.decide(TENANT, again["approval_id"], "answer", by=Person("joe"), answer="retry")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"shaky": 4}
