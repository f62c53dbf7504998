"""Failures that people are asked about."""

from __future__ import annotations

from typing import Any

import pytest

from infra.local.approvals import Decision, Request
from tests.execution.support import Skills, run_text, status_of

ASKS = """
    id: esc
    steps:
      - id: a
        type: skill
        config: {{skill: flaky, parameters: {{name: a, times: {times}}}}}
        on_failure: {{action: escalate, approvers: [ops], timeout: {timeout}{then}}}
      - {{id: b, type: skill, depends_on: [a], config: {{skill: echo, parameters: {{value: ["{{{{ steps.a.output }}}}",
          "{{{{ errors.a.error }}}}"]}}}}}}
    outputs: {{b: "{{{{ steps.b.output }}}}"}}
"""


def run_asking(*answers: str | None, times: int = 2, timeout: int = 6000, then: str = "") -> tuple[Any, list[Request]]:
    asked: list[Request] = []

    def approver(request: Request) -> Decision | None:
        asked.append(request)
        answer = answers[len(asked) - 1]
        return None if answer is None else Decision("reject") if answer == "reject" else Decision("answer", answer)

    text = ASKS.format(times=times, timeout=timeout, then=f", then: {then}" if then else "")
    return run_text(text, approver=approver, user="ops", time_scale=20), asked


def test_retry_runs_the_step_again_and_each_failure_is_a_question_of_its_own(skills: Skills) -> None:
    result, asked = run_asking("retry", "retry")
    assert result.status == "completed", result.error
    assert result.output == {"b": [3, None]}
    assert skills.count("a") == 3
    assert len({request.id for request in asked}) == 2
    assert asked[0].options == ("retry", "skip", "abort")
    assert asked[0].approvers == ("ops",)
    assert "a failed: NoisyError" in asked[0].message and "call 1" in asked[0].message


def test_skip_goes_on_with_the_error_set(skills: Skills) -> None:
    result, _ = run_asking("skip")
    assert result.output == {"b": [None, "NoisyError"]}
    assert skills.count("a") == 1


@pytest.mark.parametrize("answer", ["abort", "reject"])
def test_abort_fails_with_the_steps_own_error(skills: Skills, answer: str) -> None:
    result, _ = run_asking(answer)
    assert result.status == "failed"
    assert (result.error.error, result.error.step) == ("NoisyError", "a")
    assert skills.count("echo") == 0


def test_no_answer_in_time_is_giving_up(skills: Skills) -> None:
    result, asked = run_asking(None, timeout=20)
    assert result.status == "failed"
    assert result.error.error == "NoisyError"
    assert len(asked) == 1


def test_then_says_what_giving_up_means(skills: Skills) -> None:
    result, _ = run_asking("abort", then="continue")
    assert result.output == {"b": [None, "NoisyError"]}


def test_a_failed_child_is_asked_about_and_tried_again_as_another_execution(skills: Skills) -> None:
    result = run_text(
        """
        id: parent
        steps:
          - {id: c, type: workflow, workflow: child, on_failure: escalate}
        outputs: {c: "{{ steps.c.output.s }}"}
        """,
        """
        id: child
        steps:
          - {id: s, type: skill, config: {skill: flaky, parameters: {name: s, times: 1}}}
        """,
        approver=lambda request: Decision("answer", "retry"), time_scale=20,
    )
    assert result.status == "completed", result.error
    assert result.output == {"c": 2}


def test_an_escalation_inside_of_a_loop_asks_for_each_item(skills: Skills) -> None:
    answers = {0: "skip", 2: "skip"}
    result = run_text(
        """
        id: loop
        steps:
          - id: l
            type: foreach
            items: [1, 2, 1]
            steps:
              - id: s
                type: skill
                config: {skill: fail_if, parameters: {n: "{{ item }}", bad: 1}}
                on_failure: escalate
        outputs: {l: "{{ steps.l.output }}"}
        """,
        approver=lambda request: Decision("answer", answers[request.iteration[0]]), time_scale=20,
    )
    assert result.status == "completed", result.error
    assert result.output == {"l": [None, 2, None]}
    assert status_of(result, "l") == "completed"


def test_an_approval_that_nobody_answers_can_be_escalated(skills: Skills) -> None:
    asked: list[str] = []

    def approver(request: Request) -> Decision | None:
        asked.append(request.step)
        return Decision("answer", "skip") if request.step == "gate escalated" else None

    result = run_text(
        """
        id: gated
        steps:
          - {id: gate, type: approval, config: {timeout: 20}, on_failure: {action: escalate, timeout: 6000}}
          - {id: b, type: skill, depends_on: [gate], config: {skill: echo, parameters: {value: "{{ errors.gate.error }}"}}}
        outputs: {b: "{{ steps.b.output }}"}
        """,
        approver=approver, time_scale=20,
    )
    assert asked == ["gate", "gate escalated"]
    assert (result.status, result.output) == ("completed", {"b": "ApprovalExpired"})


def test_a_parallel_that_failed_is_asked_about_and_runs_again(skills: Skills) -> None:
    result = run_text(
        """
        id: both
        steps:
          - id: p
            type: parallel
            on_failure: escalate
            branches:
              - steps: [{id: l, type: skill, config: {skill: echo, parameters: {name: l}}}]
              - steps: [{id: r, type: skill, config: {skill: flaky, parameters: {name: r, times: 1}}}]
        outputs: {r: "{{ steps.r.output }}"}
        """,
        approver=lambda request: Decision("answer", "retry"), time_scale=20,
    )
    assert (result.status, result.output) == ("completed", {"r": 2})
    assert skills.count("l") == 1, "what had completed answers from its record"


def test_giving_up_may_roll_back(skills: Skills) -> None:
    result = run_text(
        """
        id: back
        steps:
          - id: a
            type: skill
            config: {skill: echo, parameters: {name: a}}
            compensation: {id: c, type: skill, config: {skill: echo, parameters: {name: undo a}}}
          - {id: x, type: skill, depends_on: [a], config: {skill: fail}, on_failure: {action: escalate, then: compensate}}
        """,
        approver=lambda request: Decision("answer", "abort"), time_scale=20,
    )
    assert result.status == "failed"
    assert [name for name, _ in skills.calls] == ["a", "fail", "undo a"]
