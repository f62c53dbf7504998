"""What the machine itself does in a later run of an execution: deadlines go on, children keep their ids."""

from __future__ import annotations

import time
from typing import Any

from aslant.history.timeline import Timeline
from infra.local import provision
from infra.local.cloud import LocalCloud, Result
from tests.execution.support import compile_text

PAUSES = """
    id: pauses
    steps:
      - id: each
        type: foreach
        items: [1, 2]
        steps: [{id: "wait 'here\\"", type: wait, seconds: 100}]
"""


def start(cloud: LocalCloud, texts: tuple[str, ...], execution: dict[str, Any] | None) -> tuple[Result, str]:
    arns = provision.create_machines(cloud, compile_text(*texts), {}, simulate=False)
    first = next(iter(arns))
    entry = {"execution": {"tenant": "t", "workflow": first} | execution} if execution is not None else {}
    handle = cloud.start(arns[first if first != "kid" else "par"], {"input": {}} | entry)
    return handle.wait(60), handle.arn


def test_a_wait_goes_on_from_when_it_was_first_entered() -> None:
    with LocalCloud(time_scale=20) as cloud:
        now = time.time()
        entered = {f"x/wait 'here\"[{index}]": round((now - gone) * 1000) for index, gone in enumerate((200, 20))}
        result, arn = start(cloud, (PAUSES,), {"id": "x", "run": 2, "entered": entered})
        waits = [visit for visit in Timeline.from_events(cloud.execution(arn).events()).visits if visit.type == "Wait"]
    assert result.status == "SUCCEEDED"
    over, rest = sorted(waits, key=lambda visit: visit.path)
    assert over.ended is not None and over.ended.timestamp() < now + 80, "its deadline had passed, so it took no time"
    assert rest.ended is not None and now + 80 <= rest.ended.timestamp() < now + 100, "twenty of the hundred were over"


def test_waits_of_another_execution_or_of_one_started_by_hand_take_their_whole_time() -> None:
    with LocalCloud(time_scale=500) as cloud:
        for execution in ({"id": "x", "run": 2, "entered": {"y/wait 'here\"[0]": 0}}, {"id": "x", "run": 1}, None):
            result, _ = start(cloud, (PAUSES,), execution)
            assert (result.stopped - result.started).total_seconds() > 95


def test_a_child_has_the_same_id_in_every_run_and_a_name_of_its_own_in_each() -> None:
    parent = """
        id: par
        steps: [{id: call, type: workflow, workflow: kid}]
    """
    kid = """
        id: kid
        outputs: {me: "{{ execution.id }}"}
        steps: [{id: one, type: transform, config: {expression: "1"}}]
    """
    ids, names = set(), []
    with LocalCloud(time_scale=50) as cloud:
        for run in (1, 2, 3):
            result, arn = start(cloud, (kid, parent), {"id": "x", "run": run})
            ids.add(result.output["call"]["me"])
            names += [child.rpartition(":")[2] for child in cloud.children(arn)]
    assert len(ids) == 1
    (identifier,) = ids
    assert names == [identifier, f"{identifier}-r2", f"{identifier}-r3"]
    assert len(names[-1]) <= 80
