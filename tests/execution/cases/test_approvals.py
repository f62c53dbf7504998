"""Approvals and time: an answer in time stays, one that comes late or for an ended execution is refused."""

from __future__ import annotations

import time
from typing import Any

import pytest

from aslant import keys
from aslant.errors import ApprovalClosed, NotFoundError
from infra.local.approvals import Decision, Request
from tests.execution.cases.deployment import deployed
from tests.execution.cases.spelling import errors_of, in_every_dialect, start_as
from tests.execution.support import Skills

GATE = """
    name: exp
    steps:
      - {{id: ask, type: approval, timeout: {limit}, config: {{message: "ok?", on_timeout: reject, on_reject: continue}}}}
      - {{id: slow, type: wait, seconds: {wait}, depends_on: [ask]}}
      - {{id: show, type: transform, depends_on: [slow], config: {{data: {{who: "{{{{ steps.ask.output.by }}}}", ok: "{{{{ steps.ask.output.approved }}}}"}}}}}}
"""


def test_an_answer_in_time_is_not_undone_when_the_time_is_over() -> None:
    with deployed(GATE.format(limit=3, wait=3), time_scale=1) as cloud:
        handle = cloud.start("one")
        (request,) = cloud.approvals()
        made = cloud.answer(request)
        assert handle.wait(10).output == {"show": {"who": "ben", "ok": True}}
        assert cloud.answer(request) == made  # the same again: nothing changes, no error
        with pytest.raises(ApprovalClosed, match="approved by ben"):
            cloud.answer(request, "reject")


def test_an_answer_after_the_time_is_refused_and_the_rejection_stays() -> None:
    with deployed(GATE.format(limit=3, wait=0), time_scale=1) as cloud:
        handle = cloud.start("one")
        (request,) = cloud.approvals()
        assert handle.wait(20).output == {"show": {"who": "timeout", "ok": False}}
        with pytest.raises(ApprovalClosed, match="expired"):
            cloud.answer(request)


def test_an_answer_to_an_execution_that_ran_out_of_patience_first_is_refused() -> None:
    """The machine's clock is the judge, also where the request itself has not expired yet."""
    with deployed(GATE.format(limit=30, wait=30), time_scale=60) as cloud:
        handle = cloud.start("one")
        (request,) = cloud.approvals()
        time.sleep(0.7)
        with pytest.raises(ApprovalClosed):
            cloud.answer(request)
        assert handle.wait(10).output == {"show": {"who": "timeout", "ok": False}}


@in_every_dialect
def test_nobody_answers(skills: Skills, dialect: str) -> None:
    result = start_as(dialect, GATE.format(limit=20, wait=0), time_scale=60)
    assert result.output == {"show": {"who": "timeout", "ok": False}}
    failing = start_as(dialect, GATE.format(limit=20, wait=0).replace(", on_reject: continue", ""), time_scale=60)
    assert failing.status == "failed" and failing.error is not None
    assert (failing.error.error, failing.error.step) == ("ApprovalExpired", "ask")


def test_the_answer_to_a_stopped_execution_is_refused() -> None:
    with deployed(GATE.format(limit=600, wait=0), time_scale=1) as cloud:
        stopped, other = cloud.start("one"), cloud.start("two")
        first = next(item for item in cloud.approvals(2) if item["execution"] == "one")
        assert cloud.cloud.stop(stopped.arn)
        with pytest.raises(ApprovalClosed):
            cloud.answer(first)
        time.sleep(0.2)
        assert (stopped.status, other.status) == ("ABORTED", "RUNNING")  # the answer went nowhere else
        (second,) = (item for item in cloud.approvals() if item["execution"] == "two")
        cloud.answer(second)
        assert other.wait(10).output == {"show": {"who": "ben", "ok": True}}


def test_an_answer_is_for_one_step_of_one_execution() -> None:
    two = """
        name: two
        steps:
          - {id: first, type: approval, timeout: 600, config: {message: one}}
          - {id: second, type: approval, timeout: 600, config: {message: two}}
    """
    with deployed(two, time_scale=1) as cloud:
        handle = cloud.start("one")
        requests = {item["step"]: item for item in cloud.approvals(2)}
        assert all("token" not in item for item in requests.values())
        cloud.answer(requests["first"])
        cloud.answer(requests["first"])
        time.sleep(0.2)
        assert handle.status == "RUNNING"
        with pytest.raises(NotFoundError):
            cloud.answer({"approval_id": keys.approval_id(keys.ApprovalRef("one", "third", (), 0))})
        with pytest.raises(NotFoundError):
            cloud.answer({"approval_id": keys.approval_id(keys.ApprovalRef("two", "second", (), 0))})
        cloud.answer(requests["second"])
        assert handle.wait(10).status == "SUCCEEDED"


def test_an_approver_of_a_local_run_who_comes_too_late() -> None:
    def approver(request: Request) -> Any:
        time.sleep(0.8)
        return Decision("approve")

    result = start_as("canonical", GATE.format(limit=20, wait=0), time_scale=60, approver=approver)
    assert result.output == {"show": {"who": "timeout", "ok": False}}
    assert [one.outcome for one in result.approvals] == ["open"]


@pytest.mark.parametrize("key", ["timeout", "on_timeout", "on_reject"])
def test_what_shapes_the_machine_cannot_be_computed(key: str) -> None:
    found = errors_of(f"steps: [{{id: ask, type: approval, config: {{message: ok, {key}: '{{{{ input.t }}}}'}}}}]")
    assert [one.code for one in found] == ["G015"]
    assert key in found[0].message
