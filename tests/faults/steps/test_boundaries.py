"""Killed, starved and doubled between any two calls: no completed step runs again, no result is lost, no lock stays."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from aslant import errors
from aslant.error_names import LAMBDA_SERVICE
from aslant.executions.records import Failure
from aslant.step import WAITS
from tests.faults.steps.support import KEY, Context, Effects, Killed, event


def still_waiting(match: str) -> Any:
    """The failure that every state that calls Lambda tries again."""
    return pytest.raises(errors.StepError, match=match, check=lambda error: type(error).__name__ == WAITS)


RECEIPT = {"output": {"receipt": 1}}


def at(point: str, error: BaseException, times: int = 1) -> Any:
    """Raises `error` at the first requests of that name."""
    left = [times]

    def call(name: str) -> None:
        if name == point and left[0]:
            left[0] -= 1
            raise error

    return call


def look(store: Any, now: int = 0) -> Any:
    """The record as it is: somebody else's begin, long before any lease is over."""
    mine, record = store.begin(KEY, type="test", run=1, owner="observer", now=now, lease_until=1)
    assert not mine
    return record


def test_killed_before_begin(store, use):
    effects = Effects()
    use(store, before=at("begin", Killed()))
    with pytest.raises(Killed):
        effects.handler()(event(), None)
    assert effects.handler()(event(), None)["output"] == {"receipt": 1}
    assert effects.count == 1


@pytest.mark.parametrize("point", ["after begin", "after the side effect"])
def test_killed_while_it_has_the_lease(store, use, point):
    """The next attempt waits for the lease, and then runs. That a side effect may be done again then, nobody can help."""

    def act(number: int) -> Any:
        if number == 1 and point == "after the side effect":
            raise Killed
        return {"receipt": number}

    effects = Effects(act)
    use(store, after=at("begin", Killed()) if point == "after begin" else None)
    with pytest.raises(Killed):
        effects.handler()(event(), Context(0.4))
    record = look(store)
    assert (record.status, record.attempts) == ("running", 1)
    started = time.time_ns() // 1000
    output = effects.handler()(event(), Context(20))["output"]
    assert output == {"receipt": effects.count} and effects.count == (1 if point == "after begin" else 2)
    assert look(store).status == "completed" and look(store).attempts == 2
    assert effects.runs[-1].attempt == 1
    assert len(effects.keys) == 1, "the other side can tell that it is the same"
    assert time.time_ns() // 1000 - started < 10_000_000


@pytest.mark.parametrize("point", ["after finish", "before the reply"])
def test_killed_when_it_was_recorded(store, use, point):
    effects = Effects()
    use(store, after=at("finish", Killed()))
    with pytest.raises(Killed):
        effects.handler()(event(), None)
    for _ in range(3):
        assert effects.handler()(event(run=2), None) == RECEIPT
    assert effects.count == 1


def test_killed_before_finish(store, use):
    effects = Effects()
    use(store, before=at("finish", Killed()))
    with pytest.raises(Killed):
        effects.handler()(event(), Context(0.3))
    assert look(store).status == "running"
    assert effects.handler()(event(), Context(20))["output"] == {"receipt": 2}


@pytest.mark.parametrize("error", [errors.RateLimited("throttled"), errors.ServerError("500"), errors.StepTimeout("slow"),
                                   errors.NetworkError("cut")], ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("request_name", ["begin", "finish", "fail"])
def test_requests_that_fail_for_a_while_are_repeated(store, use, error, request_name):
    def act(number: int) -> Any:
        if request_name == "fail" and number == 1:
            raise ValueError("no")
        return {"receipt": number}

    effects = Effects(act)
    use(store, before=at(request_name, error, times=3))
    if request_name == "fail":
        with pytest.raises(errors.StepError, match="no"):
            effects.handler()(event(), Context(10))
        assert (look_failed := store.begin(KEY, type="test", run=0, owner="o", now=0, lease_until=1))[0] is False
        assert look_failed[1].status == "failed" and look_failed[1].error.error == "ValueError"
    else:
        assert effects.handler()(event(), Context(10))["output"] == {"receipt": 1}
        assert effects.count == 1 and look(store).status == "completed"


def test_a_finish_whose_answer_got_lost(store, use):
    """The request arrived, its answer did not: the repetition finds its own result."""
    effects = Effects()
    use(store, after=at("finish", errors.NetworkError("cut")))
    assert effects.handler()(event(), Context(10))["output"] == {"receipt": 1}
    assert effects.count == 1 and look(store).output == {"receipt": 1}


def test_a_begin_whose_answer_got_lost(store, use):
    effects = Effects()
    use(store, after=at("begin", errors.StepTimeout("cut")))
    assert effects.handler()(event(), Context(10))["output"] == {"receipt": 1}
    assert look(store).attempts == 1


@pytest.mark.parametrize("error", [errors.RateLimited("throttled"), errors.AuthorizationError("denied")])
def test_work_that_cannot_be_recorded_is_no_success(store, use, error):
    effects = Effects()
    use(store, before=at("finish", error, times=10_000))
    with still_waiting("could not be recorded"):
        effects.handler()(event(), Context(0.8))
    assert look(store).status == "running"


def test_a_step_that_cannot_be_begun_does_nothing(store, use):
    effects = Effects()
    use(store, before=at("begin", errors.RateLimited("throttled"), times=10_000))
    with still_waiting("could not be begun"):
        effects.handler()(event(), Context(0.8))
    assert effects.count == 0


def test_two_copies_at_once(store, use):
    """The second waits, and gives what the first gave."""
    running, go = threading.Event(), threading.Event()

    def act(number: int) -> Any:
        running.set()
        go.wait(10)
        return {"receipt": number}

    effects, answers = Effects(act), []
    use(store)
    threads = [threading.Thread(target=lambda: answers.append(effects.handler()(event(), Context(20))["output"]))
               for _ in range(4)]
    for thread in threads:
        thread.start()
    assert running.wait(10)
    time.sleep(0.05)
    go.set()
    for thread in threads:
        thread.join(20)
    assert answers == [{"receipt": 1}] * 4 and effects.count == 1


def test_a_copy_that_waited_in_vain_can_be_retried(store, use):
    use(store)
    now = time.time_ns() // 1000
    store.begin(KEY, type="test", run=1, owner="other", now=now, lease_until=now + 600_000_000)
    effects = Effects()
    with still_waiting("still running") as caught:
        effects.handler()(event(retry={"max_attempts": 5, "delays": [1], "on": []}), Context(0.5))
    assert type(caught.value).__name__ in LAMBDA_SERVICE and effects.count == 0
    assert look(store).owner == "other"


def test_a_late_finisher_after_a_takeover(store, use):
    """The slow one comes back when its lease is over and another one is at work: whoever is first decides for both."""
    first_runs, second_runs, go = threading.Event(), threading.Event(), threading.Event()

    def act(number: int) -> Any:
        if number == 1:
            first_runs.set()
            second_runs.wait(10)
            return {"receipt": 1}
        second_runs.set()
        go.wait(10)
        return {"receipt": 2}

    effects, answers = Effects(act), {}
    use(store)
    handler = effects.handler()
    slow = threading.Thread(target=lambda: answers.update(slow=handler(event(), Context(0.3))))
    slow.start()
    assert first_runs.wait(10)
    other = threading.Thread(target=lambda: answers.update(other=handler(event(), Context(20))))
    other.start()
    slow.join(15)
    go.set()
    other.join(15)
    assert answers["slow"]["output"] == answers["other"]["output"] == look(store).output == {"receipt": 1}
    assert effects.count == 2


def test_a_late_failure_after_a_takeover_changes_nothing(store):
    _, slow = store.begin(KEY, type="test", run=1, owner="slow", now=1000, lease_until=2000)
    mine, other = store.begin(KEY, type="test", run=1, owner="other", now=3000, lease_until=4000)
    assert mine and other.attempts == 2
    store.fail(KEY, slow, now=3500, failure=Failure("X"), usage={})
    assert store.begin(KEY, type="test", run=1, owner="third", now=3600, lease_until=1)[1].status == "running"
    store.finish(KEY, other, now=3700, output=1, usage={})
    store.fail(KEY, other, now=3800, failure=Failure("X"), usage={})
    assert look(store).status == "completed"


def test_set_aside_while_it_ran(store, use, dynamo):
    """A restore put the record out of the way: what the old attempt did is not the new one's result."""
    effects = Effects()

    def aside(name: str) -> None:
        if name == "finish" and effects.count == 1:
            forget(store, 2)
            store.begin(KEY, type="test", run=2, owner="new", now=time.time_ns() // 1000, lease_until=2**52)

    use(store, before=aside)
    with still_waiting("recorded"):
        effects.handler()(event(), Context(5))
    record = look(store)
    assert (record.status, record.owner, record.run, record.attempts) == ("running", "new", 2, 1)


def test_an_attempt_of_an_earlier_run_begins_nothing_that_was_set_aside(store, use):
    """Its machine is stopped, but the function that it called starts late."""
    effects = Effects()
    use(store)
    _, began = store.begin(KEY, type="test", run=1, owner="old", now=1, lease_until=2)
    forget(store, 2)
    with still_waiting("run 2 of the execution has this step"):
        effects.handler()(event(), Context(5))
    assert effects.count == 0
    store.fail(KEY, began, now=3, failure=Failure("X"), usage={})
    with pytest.raises(errors.ConflictError):
        store.finish(KEY, began, now=3, output=1, usage={})
    mine, record = store.begin(KEY, type="test", run=2, owner="new", now=5, lease_until=9)
    assert mine and (record.started_at, record.attempts, record.total_attempts) == (5, 1, 1)


def forget(store: Any, run: int) -> None:
    """Sets the record aside for a run."""
    if hasattr(store, "forget"):
        store.forget(KEY, run)
    else:
        from aslant.adapters.dynamo_executions import DynamoExecutions

        executions = DynamoExecutions("us-east-1", "records", store.artifacts)
        assert executions.set_aside(KEY.tenant, KEY.execution, run=run, chosen=lambda step: True) == 1


def test_an_earlier_run_that_comes_late_does_not_take_the_step(store, use):
    effects = Effects(lambda number: 1 / 0)
    use(store)
    with pytest.raises(errors.StepError):
        effects.handler()(event(run=2), Context(5))
    with still_waiting("run 2"):
        effects.handler()(event(run=1), Context(5))
    assert effects.count == 1


def test_attempts_start_again_with_a_run(store, use):
    effects = Effects(lambda number: 1 / 0)
    use(store)
    plan = {"max_attempts": 3, "delays": [1, 2], "on": ["States.ALL"]}
    names = []
    for run in (1, 1, 1, 1, 2, 2, 2, 2):
        with pytest.raises(errors.StepError) as caught:
            effects.handler()(event(run=run, retry=plan), Context(5))
        names.append(type(caught.value).__name__)
    assert names == ["Retry.1", "Retry.2", "ZeroDivisionError", "StepTimeout"] * 2
    assert [run.attempt for run in effects.runs] == [0, 1, 2] * 2 and len(effects.keys) == 1
