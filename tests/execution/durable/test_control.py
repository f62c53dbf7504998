"""Pause, resume, retry, restore, rerun and cancel, with side effects counted."""

from __future__ import annotations

import random
import time

import pytest

from aslant import bootstrap, skills
from aslant.approvals.rules import Person
from aslant.errors import ApprovalClosed, InvalidTransition, PayloadTooLarge
from aslant.history.timeline import Timeline
from tests.execution.durable.control import TENANT, world

LINE = """
    id: line
    outputs: {all: "{{ steps.first.output }}-{{ steps.second.output }}-{{ steps.third.output }}"}
    steps:
      - {id: first, type: skill, config: {skill: effect, parameters: {name: first}}}
      - {id: second, type: skill, depends_on: [first], config: {skill: gate, parameters: {name: second}}}
      - {id: third, type: skill, depends_on: [second], config: {skill: effect, parameters: {name: third}}}
"""


LARGE = """
    id: large
    inputs: {t: {type: string}, n: {type: integer, default: 1}}
    outputs: {n: "{{ steps.a.output }}", m: "{{ steps.b.output }}"}
    steps:
      - {id: a, type: skill, when: "input.n > 0", config: {skill: length, parameters: {value: "{{ input.t }}"}}}
      - {id: b, type: skill, depends_on: [a], config: {skill: later, parameters: {value: "{{ input.t }}"}}}
"""


def test_a_large_input_is_there_in_every_run() -> None:
    failing = [True]

    def later(value: str) -> int:
        if failing:
            raise RuntimeError("not yet")
        return len(value)

    with world(LARGE, scale=30) as there:
        skills.register("length", lambda value: len(value))
        skills.register("later", later)
        with pytest.raises(PayloadTooLarge):
            there.start("large", t="x" * 5_300_000)
        assert there.service.list(TENANT).items == ()
        id = there.start("large", t="x" * 300_000)
        assert there.status(id, "completed", "failed").status == "failed"
        failing.clear()
        there.service.retry(TENANT, id, by="bob")
        done = there.status(id, "completed", "failed")
        assert (done.status, done.run) == ("completed", 2)
        assert there.service.output(TENANT, id) == {"n": 300_000, "m": 300_000}
        assert there.service.input(TENANT, id) == {"t": "x" * 300_000, "n": 1}


def test_pause_and_resume_of_a_line() -> None:
    with world(LINE) as there:
        id = there.start("line")
        there.reached("second")
        paused = there.service.pause(TENANT, id, by="bob")
        assert paused.status == "paused"
        there.effects.open.set()  # what is in flight ends, and its result counts
        there.until(lambda: len([one for one in there.store.steps(TENANT, id) if one.status == "completed"]) == 2, "not recorded")
        assert there.service.get(TENANT, id).status == "paused"
        there.service.resume(TENANT, id, by="bob")
        done = there.status(id, "completed", "failed")
        assert (done.status, done.run) == ("completed", 2)
        assert there.effects.count() == {"first": 1, "second": 1, "third": 1}
        assert there.service.output(TENANT, id) == {"all": "first-second-third"}
        assert [one.after for one in there.service.transitions(TENANT, id)] == ["running", "paused", "running", "completed"]
        assert [(run.why, run.status) for run in there.service.runs(TENANT, id)] == [("start", "ABORTED"), ("resume", "SUCCEEDED")]


def test_resume_while_a_step_of_the_old_run_is_still_at_work() -> None:
    with world(LINE) as there:
        id = there.start("line")
        there.reached("second")
        there.service.pause(TENANT, id, by="bob")
        there.service.resume(TENANT, id, by="bob")
        there.until(lambda: len(Timeline.from_events(there.service.machines.history(there.service.get(TENANT, id).arn)).visits) > 1, "it does not go on")
        there.effects.open.set()
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"first": 1, "second": 1, "third": 1}


NESTED = """
    id: nested
    steps:
      - {id: before, type: skill, config: {skill: effect, parameters: {name: before}}}
      - id: both
        type: parallel
        depends_on: [before]
        branches:
          - steps:
              - {id: left, type: skill, config: {skill: gate, parameters: {name: left}}}
              - {id: left_end, type: skill, depends_on: [left], config: {skill: effect, parameters: {name: left_end}}}
          - steps:
              - id: each
                type: foreach
                items: [a, b, c]
                steps:
                  - {id: one, type: skill, config: {skill: effect, parameters: {name: "one {{ item }}"}}}
                  - {id: hold, type: skill, depends_on: [one], config: {skill: gate, parameters: {name: "hold {{ item }}"}}}
                  - {id: two, type: skill, depends_on: [hold], config: {skill: effect, parameters: {name: "two {{ item }}"}}}
      - {id: after, type: skill, depends_on: [both], config: {skill: effect, parameters: {name: after}}}
"""


def test_pause_inside_of_parallels_and_loops() -> None:
    with world(NESTED) as there:
        id = there.start("nested")
        there.reached("left", "hold a", "hold b", "hold c")
        there.service.pause(TENANT, id, by="bob")
        there.effects.open.set()
        there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        names = ["before", "left", "left_end", "after", *(f"{what} {item}" for what in ("one", "hold", "two") for item in "abc")]
        assert there.effects.count() == dict.fromkeys(sorted(names), 1)


def test_a_wait_keeps_its_deadline() -> None:
    text = """
        id: waits
        steps:
          - {id: first, type: skill, config: {skill: effect, parameters: {name: first}}}
          - {id: long, type: wait, depends_on: [first], seconds: 100}
          - {id: last, type: skill, depends_on: [long], config: {skill: effect, parameters: {name: last}}}
    """
    with world(text, scale=40) as there:
        id = there.start("waits")
        arn = there.service.get(TENANT, id).arn

        def waits(arn: str) -> list:
            return [one for one in Timeline.from_events(there.service.machines.history(arn)).visits if one.type == "Wait"]

        there.until(lambda: bool(waits(arn)), "it does not wait")
        (began,) = waits(arn)
        there.service.pause(TENANT, id, by="bob")
        resumed = there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        (again,) = waits(resumed.arn)
        assert again.ended is not None
        total = (again.ended - began.started).total_seconds()
        # Two whole waits would be 200 at least. A machine waits in whole seconds.
        assert 99 <= total < 190
        assert there.effects.count() == {"first": 1, "last": 1}


FAILING = """
    id: failing
    steps:
      - {id: good, type: skill, config: {skill: effect, parameters: {name: good}}}
      - id: allowed
        type: skill
        depends_on: [good]
        config: {skill: effect, parameters: {name: allowed}}
        on_failure: continue
      - id: each
        type: foreach
        depends_on: [allowed]
        items: [a, b]
        steps: [{id: item, type: skill, config: {skill: effect, parameters: {name: "item {{ item }}"}}}]
      - {id: bad, type: skill, depends_on: [each], config: {skill: effect, parameters: {name: bad, value: "{{ steps.allowed.status }}"}}}
"""


def test_retry_repeats_only_what_failed_the_workflow() -> None:
    with world(FAILING) as there:
        there.effects.failing = {"allowed", "bad"}
        id = there.start("failing")
        failed = there.status(id, "completed", "failed")
        assert failed.status == "failed"
        assert failed.error is not None and failed.error.step == "bad"
        there.effects.failing = set()  # `allowed` would succeed now, but the workflow has gone on without it
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"allowed": 1, "bad": 2, "good": 1, "item a": 1, "item b": 1}
        steps = {one.label: one for one in there.service.steps(TENANT, id, outputs=True)}
        assert steps["bad"].output == "failed"
        assert steps["allowed"].settled


def test_restore_and_rerun_repeat_what_they_say() -> None:
    with world(LINE) as there:
        there.effects.open.set()
        id = there.start("line")
        first = there.status(id, "completed", "failed")
        records = {one.step: one for one in there.store.steps(TENANT, id)}
        there.service.take_checkpoint(first, reason="manual", by="ann", at=records["second"].finished_at)
        plan = there.service.plan(TENANT, id, "restore", checkpoint=1)
        assert [(one.label, one.repeats) for one in plan.again] == [("third", True)]
        there.service.restore(TENANT, id, 1, by="bob")
        there.until(lambda: there.service.get(TENANT, id).status == "completed", "it does not complete")
        assert there.effects.count() == {"first": 1, "second": 1, "third": 2}
        there.service.rerun(TENANT, id, "second", by="bob")
        done = there.status(id, "completed")
        assert (done.status, done.run) == ("completed", 3)
        assert there.effects.count() == {"first": 1, "second": 2, "third": 3}


PARENT = """
    id: parent
    steps:
      - {id: before, type: skill, config: {skill: effect, parameters: {name: before}}}
      - id: many
        type: foreach
        depends_on: [before]
        items: [1, 2, 3]
        steps: [{id: call, type: workflow, workflow: mid, input: {n: "{{ item }}"}}]
      - {id: after, type: skill, depends_on: [many], config: {skill: effect, parameters: {name: after}}}
"""
MID = """
    id: mid
    inputs: {n: {type: integer}}
    steps:
      - {id: own, type: skill, config: {skill: effect, parameters: {name: "own {{ input.n }}"}}}
      - {id: down, type: workflow, workflow: leaf, depends_on: [own], input: {n: "{{ input.n }}"}}
"""
LEAF = """
    id: leaf
    inputs: {n: {type: integer}}
    steps:
      - {id: hold, type: skill, config: {skill: gate, parameters: {name: "hold {{ input.n }}"}}}
      - {id: act, type: skill, depends_on: [hold], config: {skill: effect, parameters: {name: "act {{ input.n }}"}}}
"""


def descendants(there, id: str) -> list:
    children = there.service.children(TENANT, id)
    return [*children, *(one for child in children for one in descendants(there, child.id))]


def test_children_are_paused_and_resumed_with_their_parent() -> None:
    with world(PARENT, MID, LEAF) as there:
        id = there.start("parent")
        there.reached("hold 1", "hold 2", "hold 3")
        there.service.pause(TENANT, id, by="bob")
        assert there.cloud.settle(30)
        assert [one.status for one in descendants(there, id)] == ["paused"] * 6
        there.effects.open.set()
        there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert [(one.status, one.run) for one in descendants(there, id)] == [("completed", 2)] * 6
        names = ["before", "after", *(f"{what} {n}" for what in ("own", "hold", "act") for n in (1, 2, 3))]
        assert there.effects.count() == dict.fromkeys(sorted(names), 1)


@pytest.mark.parametrize("early", [False, True], ids=["when all wait", "while they start"])
def test_children_are_cancelled_with_their_parent(early: bool) -> None:
    with world(PARENT, MID, LEAF) as there:
        id = there.start("parent")
        there.reached("before") if early else there.reached("hold 1", "hold 2", "hold 3")
        first = there.service.cancel(TENANT, id, by="bob")
        again = there.service.cancel(TENANT, id, by="bob")
        assert (again.status, again.revision, again.finished_at) == ("cancelled", first.revision, first.finished_at)
        assert there.cloud.settle(30)
        there.effects.open.set()
        found = descendants(there, id)
        assert {one.status for one in found} <= {"cancelled"}
        engine = {there.service.machines.describe(one.arn)["status"] for one in [first, *found]}
        assert engine <= {"ABORTED", "FAILED"}  # one between may notice first that its child was stopped
        assert not [name for name in there.effects.count() if name.startswith(("act", "after"))]


def test_a_child_that_failed_and_was_retried_fails_the_same_way_again() -> None:
    parent = """
        id: parent
        steps:
          - id: call
            type: workflow
            workflow: child
            on_failure: continue
          - {id: hold, type: skill, depends_on: [call], config: {skill: gate, parameters: {name: hold}}}
    """
    child = """
        id: child
        steps: [{id: act, type: skill, config: {skill: effect, parameters: {name: act}}}]
    """
    with world(parent, child) as there:
        there.effects.failing = {"act"}
        id = there.start("parent")
        there.reached("hold")
        assert there.cloud.settle(30)
        there.service.pause(TENANT, id, by="bob")
        there.effects.failing = set()
        there.effects.open.set()
        there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"act": 1, "hold": 1}


def test_what_was_stopped_from_outside_can_be_retried() -> None:
    with world(LINE) as there:
        id = there.start("line")
        there.reached("second")
        there.service.machines.stop(there.service.get(TENANT, id).arn, "Stopped", "in the console")
        assert there.status(id, "cancelled").status == "cancelled"
        there.effects.open.set()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"first": 1, "second": 1, "third": 1}
        with pytest.raises(InvalidTransition):
            there.service.pause(TENANT, id, by="bob")


ASKING = """
    id: asking
    outputs: {by: "{{ steps.ask.output.by }}"}
    steps:
      - {id: before, type: skill, config: {skill: effect, parameters: {name: before}}}
      - {id: ask, type: approval, depends_on: [before], timeout: 600, config: {message: "go on?"}}
      - {id: after, type: skill, depends_on: [ask], config: {skill: effect, parameters: {name: after}}}
"""


def asked(there) -> str:
    there.until(lambda: bool(bootstrap.approvals(there.settings).pending(TENANT)[0]), "nobody is asked")
    (item,) = bootstrap.approvals(there.settings).pending(TENANT)[0]
    return item["approval_id"]


@pytest.mark.parametrize("when", ["while paused", "after the resume"])
def test_an_approval_outlives_a_pause(when: str) -> None:
    with world(ASKING) as there:
        id = there.start("asking")
        approval = asked(there)
        approvals = bootstrap.approvals(there.settings)
        there.service.pause(TENANT, id, by="bob")
        if when == "while paused":
            approvals.decide(TENANT, approval, "approve", by=Person("eve"))
            there.service.resume(TENANT, id, by="bob")
        else:
            resumed = there.service.resume(TENANT, id, by="bob")
            arn = resumed.arn
            there.until(lambda: any(event["type"] == "TaskSubmitted" for event in there.service.machines.history(arn)), "not asked")
            assert asked(there) == approval
            approvals.decide(TENANT, approval, "approve", by=Person("eve"))
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.service.output(TENANT, id) == {"by": "eve"}
        assert there.effects.count() == {"after": 1, "before": 1}


def test_a_granted_approval_stays_granted_and_a_rerun_asks_again() -> None:
    with world(ASKING) as there:
        there.effects.failing = {"after"}
        id = there.start("asking")
        approvals = bootstrap.approvals(there.settings)
        approvals.decide(TENANT, asked(there), "approve", by=Person("eve"))
        assert there.status(id, "completed", "failed").status == "failed"
        there.effects.failing = set()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"after": 2, "before": 1}
        there.service.rerun(TENANT, id, "ask", by="bob")
        approvals.decide(TENANT, asked(there), "approve", by=Person("joe"))
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.service.output(TENANT, id) == {"by": "joe"}
        assert there.effects.count() == {"after": 3, "before": 1}


def test_a_cancelled_execution_takes_no_answer() -> None:
    with world(ASKING) as there:
        id = there.start("asking")
        approval = asked(there)
        there.service.cancel(TENANT, id, by="bob")
        with pytest.raises(ApprovalClosed):
            bootstrap.approvals(there.settings).decide(TENANT, approval, "approve", by=Person("eve"))
        assert there.status(id, "cancelled").status == "cancelled"
        assert there.effects.count() == {"before": 1}


def test_paused_again_and_again_at_any_moment() -> None:
    """However often, and wherever it is: every effect happens once."""
    with world(NESTED.replace("skill: gate", "skill: effect")) as there:
        chance = random.Random(3)
        id = there.start("nested")
        for _ in range(4):
            time.sleep(chance.uniform(0.0, 0.25))
            try:
                there.service.pause(TENANT, id, by="bob")
            except InvalidTransition:
                break
            there.service.resume(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        names = ["before", "left", "left_end", "after", *(f"{what} {item}" for what in ("one", "hold", "two") for item in "abc")]
        assert there.effects.count() == dict.fromkeys(sorted(names), 1)


UNDOING = """
    id: undoing
    steps:
      - id: make
        type: skill
        config: {skill: effect, parameters: {name: make}}
        compensation: {id: unmake, type: skill, config: {skill: effect, parameters: {name: unmake}}}
      - {id: bad, type: skill, depends_on: [make], config: {skill: effect, parameters: {name: bad}}}
"""


def test_a_rollback_later_and_a_retry_after_it() -> None:
    with world(UNDOING) as there:
        there.effects.failing = {"bad"}
        id = there.start("undoing")
        assert there.status(id, "failed").status == "failed"
        assert there.effects.count() == {"bad": 1, "make": 1}
        there.service.rollback(TENANT, id, by="bob")
        rolled = there.status(id, "rolled_back", "completed")
        assert (rolled.status, rolled.undone) == ("rolled_back", ("make",))
        assert there.effects.count() == {"bad": 1, "make": 1, "unmake": 1}
        there.effects.failing = set()
        there.service.retry(TENANT, id, by="bob")
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"bad": 2, "make": 2, "unmake": 1}


ESCALATING = """
    id: escalating
    steps:
      - id: shaky
        type: skill
        config: {skill: effect, parameters: {name: shaky}}
        on_failure: escalate
      - {id: after, type: skill, depends_on: [shaky], config: {skill: effect, parameters: {name: after, value: "{{ steps.shaky.status }}"}}}
"""


@pytest.mark.parametrize(("answer", "shaky"), [("retry", 3), ("skip", 2)])
def test_a_question_about_a_failure_outlives_a_pause(answer: str, shaky: int) -> None:
    """Nobody has decided that the workflow goes on without the step: so it is tried in the later run, and asked again."""
    with world(ESCALATING) as there:
        there.effects.failing = {"shaky"}
        id = there.start("escalating")
        approval = asked(there)
        there.service.pause(TENANT, id, by="bob")
        resumed = there.service.resume(TENANT, id, by="bob")
        there.until(lambda: any(event["type"] == "TaskSubmitted" for event in there.service.machines.history(resumed.arn)), "not asked")
        assert asked(there) == approval
        there.effects.failing = set()
        bootstrap.approvals(there.settings).decide(TENANT, approval, "answer", by=Person("eve"), answer=answer)
        assert there.status(id, "completed", "failed").status == "completed"
        assert there.effects.count() == {"after": 1, "shaky": shaky}
