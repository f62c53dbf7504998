"""Approval gates: answers of each kind, refusals, time-outs of each policy."""

from __future__ import annotations

from typing import Any

import pytest

from infra.local.approvals import Decision, Request
from infra.local.progress import Status
from tests.execution.support import Skills, run_text, status_of


def answering(*decisions: Decision | None) -> Any:
    """An approver who gives these decisions one after the other, and stays silent where there is None."""
    left = list(decisions)

    def approver(request: Request) -> Decision | None:
        return left.pop(0) if left else None

    return approver


GATE = """
    steps:
      - {{id: ask, type: approval, timeout: {timeout}, {policy} config: {{message: "Go {{{{ 1 + 1 }}}}?", approvers: [ann], {config}}}}}
      - {{id: show, type: transform, depends_on: [ask], config: {{data: "{{{{ steps.ask.output }}}}"}}}}
"""


def run_gate(approver: Any, config: str = "", policy: str = "", timeout: int = 1200) -> Any:
    """`timeout`: the clock's seconds, twenty of them in a real one. Somebody answers well before a minute is over."""
    return run_text(GATE.format(config=config, policy=policy, timeout=timeout), approver=approver, time_scale=20)


SHORT = 20  # for a gate that nobody answers


def test_an_approval_lets_the_workflow_go_on() -> None:
    result = run_gate(answering(Decision("approve", comment="fine")))
    assert result.status == "completed"
    output = result.output["show"]
    assert (output["approved"], output["comment"]) == (True, "fine")
    assert output["by"]


def test_a_refusal_fails_the_step() -> None:
    result = run_gate(answering(Decision("reject", comment="no")))
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.error, result.error.step) == ("ApprovalRejected", "ask")


@pytest.mark.parametrize("policy", ["on_failure: continue,", ""])
def test_a_refusal_can_be_read(policy: str) -> None:
    config = "" if policy else "on_reject: continue"
    result = run_gate(answering(Decision("reject", comment="no")), config, policy)
    assert result.status == "completed"
    assert result.output["show"]["approved"] is False
    assert result.output["show"]["comment"] == "no"
    assert status_of(result, "ask") == ("failed" if policy else "completed")


@pytest.mark.parametrize(("kind", "extra", "answer"), [
    ("text_input", "", "some words"), ("multiple_choice", "options: [red, blue],", "blue"),
])
def test_answers_reach_the_output(kind: str, extra: str, answer: str) -> None:
    result = run_gate(answering(Decision("answer", answer)), f"{extra} approval_type: {kind}")
    assert result.status == "completed"
    assert result.output["show"]["answer"] == answer


@pytest.mark.parametrize(("on_timeout", "status", "approved"), [
    ("approve", "completed", True), ("reject", "failed", None), ("cancel", "failed", None),
])
def test_nobody_answers(on_timeout: str, status: str, approved: bool | None) -> None:
    result = run_gate(answering(), f"on_timeout: {on_timeout}", timeout=SHORT)
    assert result.status == status
    if approved is not None:
        assert result.output["show"] == {"approved": True, "by": "timeout"}
    else:
        assert result.error is not None
        assert result.error.error == {"reject": "ApprovalExpired", "cancel": "Cancelled"}[on_timeout]


def test_an_expired_approval_can_be_read() -> None:
    result = run_gate(answering(), "", "on_failure: continue,", SHORT)
    assert result.output == {"show": {"approved": False, "by": "timeout"}}
    gate = next(step for step in result.steps if step.type == "approval")
    assert (gate.status, gate.error) == (Status.FAILED, "ApprovalExpired")


def test_escalation_asks_others() -> None:
    asked: list[tuple[str, ...]] = []

    def approver(request: Request) -> Decision | None:
        if request.approvers not in asked:
            asked.append(request.approvers)
        return Decision("approve") if request.approvers == ("boss",) else None

    result = run_gate(approver, "on_timeout: escalate, escalate_to: [boss]", timeout=60)
    assert result.status == "completed"
    assert asked == [("ann",), ("boss",)]


@pytest.mark.parametrize(("value", "asks"), [("true", False), ("'{{ input.auto }}'", False), ("false", True)])
def test_automatic_approval(value: str, asks: bool) -> None:
    asked: list[str] = []

    def approver(request: Request) -> Decision:
        asked.append(request.id)
        return Decision("approve")

    result = run_text(GATE.format(config=f"auto_approve: {value}", policy="", timeout=1200), input={"auto": True}, approver=approver)
    assert result.status == "completed"
    assert result.output["show"]["approved"] is True
    assert bool(asked) is asks


def test_a_gate_with_the_same_id_in_a_child_asks_again(skills: Skills) -> None:
    asked: list[str] = []

    def approver(request: Request) -> Decision:
        asked.append(request.workflow)
        return Decision("approve")

    result = run_text("""
        id: parent
        steps:
          - {id: review, type: approval, config: {message: one}}
          - {id: child, type: workflow, workflow: child-flow, depends_on: [review]}
    """, """
        id: child-flow
        steps:
          - {id: review, type: approval, config: {message: two}}
          - {id: publish, type: skill, depends_on: [review], config: {skill: echo, parameters: {value: done}}}
    """, approver=approver)
    assert result.status == "completed"
    assert result.output == {"child": {"publish": "done"}}
    assert len(asked) == 2


def test_approvals_in_a_loop_are_told_apart() -> None:
    asked: list[str] = []

    def approver(request: Request) -> Decision:
        asked.append(request.label)
        return Decision("approve", comment=request.label)

    result = run_text("""
        steps:
          - {id: each, type: foreach, items: [a, b], steps: [{id: ask, type: approval, config: {message: "{{ item }}"}}]}
    """, approver=approver)
    assert sorted(asked) == ["ask[0]", "ask[1]"]
    assert [one["comment"] for one in result.output["each"]] == ["ask[0]", "ask[1]"]
