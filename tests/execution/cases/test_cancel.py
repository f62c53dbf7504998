"""Stopping an execution stops what it started, however deep, and what is just being started."""

from __future__ import annotations

import time

import pytest

from aslant.errors import ApprovalClosed
from tests.execution.cases.deployment import Deployed, deployed
from tests.execution.cases.spelling import compiled, start
from tests.execution.support import Skills

FAMILY = ("""
    id: parent
    steps:
      - {id: many, type: foreach, items: [1, 2, 3, 4, 5, 6, 7, 8], steps: [{id: go, type: workflow, workflow: mid}]}
""", """
    id: mid
    steps: [{id: s, type: workflow, workflow: leaf}]
""", """
    id: leaf
    steps:
      - {id: w, type: wait, seconds: 20}
      - {id: effect, type: skill, depends_on: [w], config: {skill: echo, parameters: {name: effect}}}
""")


def all_ended(cloud: Deployed, arn: str) -> set[str]:
    return {cloud.cloud.execution(one).wait(5).status for one in cloud.family(arn)}


@pytest.mark.parametrize("descendants", [16, 5, 1, 0])
def test_nobody_of_the_family_goes_on(skills: Skills, descendants: int) -> None:
    """Stopped when all are there, and while they are being started."""
    with deployed(*FAMILY, time_scale=1) as cloud:
        handle = cloud.start("one")
        while len(cloud.family(handle.arn)) <= descendants:
            time.sleep(0.002)
        assert cloud.cloud.stop(handle.arn, error="Cancelled", cause="enough")
        assert all_ended(cloud, handle.arn) == {"ABORTED"}
        time.sleep(0.2)
        assert all_ended(cloud, handle.arn) == {"ABORTED"}  # nobody came late
        assert skills.count("effect") == 0
        # Again, and again when it is over: no error, nothing changes.
        assert cloud.cloud.stop(handle.arn, error="Again") is False
        result = handle.wait(1)
        assert (result.status, result.error, result.cause) == ("ABORTED", "Cancelled", "enough")


def test_a_finished_execution_cannot_be_stopped(skills: Skills) -> None:
    with deployed(*FAMILY, time_scale=1000) as cloud:
        handle = cloud.start("one")
        assert handle.wait(20).status == "SUCCEEDED"
        assert skills.count("effect") == 8
        assert cloud.cloud.stop(handle.arn) is False
        assert handle.status == "SUCCEEDED"
        assert all_ended(cloud, handle.arn) == {"SUCCEEDED"}


def test_open_questions_of_children_are_closed() -> None:
    with deployed("""
        id: parent
        steps: [{id: many, type: foreach, items: [1, 2], steps: [{id: go, type: workflow, workflow: kid}]}]
    """, """
        id: kid
        steps: [{id: ask, type: approval, timeout: 600, config: {message: ok}}]
    """, time_scale=1) as cloud:
        handle = cloud.start("one")
        requests = cloud.approvals(2)
        assert cloud.cloud.stop(handle.arn)
        assert all_ended(cloud, handle.arn) == {"ABORTED"}
        for request in requests:
            with pytest.raises(ApprovalClosed):
                cloud.answer(request)


def test_a_run_that_takes_too_long_is_stopped_with_its_children(skills: Skills) -> None:
    from infra.local.runner import run

    result = run(compiled(*FAMILY), {}, time_scale=1, timeout=0.6)
    assert result.status == "timed_out"
    assert skills.count("effect") == 0


def test_a_parent_whose_time_is_over_takes_its_children_with_it(skills: Skills) -> None:
    texts = (FAMILY[0].replace("id: parent", "id: parent\n    settings: {timeout: 5}"), *FAMILY[1:])
    result = start(compiled(*texts), time_scale=20)
    assert result.status == "timed_out"
    assert skills.count("effect") == 0
