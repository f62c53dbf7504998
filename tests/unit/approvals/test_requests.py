"""Who may answer, quorums, later runs, reminders, and the ends of a request."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from aslant import keys
from aslant.approvals.rules import Person
from aslant.configs.approval import ApprovalConfig
from aslant.errors import ApprovalClosed, AuthorizationError, NetworkError, RateLimited
from tests.unit.approvals.conftest import NOW, REF, person


def asked_again(approvals: Any, token: str, **config: Any) -> Any:
    return approvals.request(
        ApprovalConfig(**config), tenant="acme", ref=REF, token=token, workflow="release", requester=""
    )


@pytest.mark.parametrize(("who", "may"), [
    (Person("ann"), True), (Person("ANN"), True), (Person("x", email="Bob@Example.com"), True),
    (Person("x", roles=("ops",)), True), (Person("x", roles=("OPS", "dev")), True), (Person("x", roles=("dev",)), False),
    (Person("ops"), False), (Person("bob"), False), (Person("role:ops"), False), (Person("x", email="role:ops"), False), (Person(""), False),
])
def test_who_may_answer(approvals, machine, ask, who, may):
    identifier = ask(approvers=["ann", "bob@example.com", "role:ops"])
    if may:
        assert approvals.decide("acme", identifier, "approve", by=who)["approved"]
    else:
        with pytest.raises(AuthorizationError):
            approvals.decide("acme", identifier, "approve", by=who)
        assert machine.calls == []


def test_who_started_it_cannot_approve_it(approvals, ask):
    first = ask(requester="ann")
    second = ask(ref=REF._replace(step="b"), requester="ann", allow_requester=True)
    with pytest.raises(AuthorizationError, match="somebody else"):
        approvals.decide("acme", first, "approve", by=person("Ann"))
    assert approvals.decide("acme", second, "approve", by=person("ann"))["approved"]
    assert approvals.decide("acme", first, "approve", by=Person("ann", everybody=True))["approved"], "a local run"


def test_a_quorum_counts_people_not_answers(approvals, machine, ask):
    identifier = ask(quorum=2)
    first = approvals.decide("acme", identifier, "approve", by=person("ann"))
    assert first["missing"] == 1 and machine.calls == []
    assert approvals.decide("acme", identifier, "approve", by=person("ann"))["missing"] == 1
    with pytest.raises(ApprovalClosed, match="ANN has answered"):
        approvals.decide("acme", identifier, "reject", by=person("ANN"))
    final = approvals.decide("acme", identifier, "approve", by=person("bob"), comment="me too")
    assert final["approved"] and final["by"] == "bob"
    assert [each["by"] for each in final["decisions"]] == ["ann", "bob"]
    assert machine.calls == [("success", "task-token", final)]
    with pytest.raises(ApprovalClosed):
        approvals.decide("acme", identifier, "approve", by=person("eve"))


def test_one_refusal_is_enough_unless_more_are_wanted(approvals, machine, ask):
    plain, strong = ask(quorum=3), ask(ref=REF._replace(step="b"), quorum=3, reject_quorum=2)
    assert approvals.decide("acme", plain, "reject", by=person("ann"))["approved"] is False
    assert "missing" in approvals.decide("acme", strong, "reject", by=person("ann"))
    assert approvals.decide("acme", strong, "reject", by=person("bob"))["approved"] is False
    assert [call[2] for call in machine.calls] == ["ApprovalRejected"] * 2


def test_a_choice_needs_the_quorum_for_one_option(approvals, machine, ask):
    identifier = ask(approval_type="multiple_choice", options=["blue", "green"], quorum=2)
    for user, option in (("ann", "blue"), ("bob", "green")):
        assert "missing" in approvals.decide("acme", identifier, "answer", by=person(user), answer=option)
    final = approvals.decide("acme", identifier, "answer", by=person("eve"), answer="green")
    assert final["answer"] == "green" and len(final["decisions"]) == 3 and len(machine.calls) == 1


@pytest.mark.parametrize("decisions", [["approve"] * 6, ["approve", "reject"] * 3, ["reject"] * 6])
def test_answers_at_the_same_moment_give_one_outcome(approvals, machine, ask, decisions):
    identifier = ask(quorum=2)
    gate = threading.Barrier(len(decisions))

    def decide(number):
        gate.wait()
        try:
            made = approvals.decide("acme", identifier, decisions[number], by=person(f"user{number}"))
        except ApprovalClosed:
            return None
        return None if "missing" in made else made

    with ThreadPoolExecutor(len(decisions)) as pool:
        outcomes = [made for made in pool.map(decide, range(len(decisions))) if made]
    assert len(outcomes) == 1 and len(machine.calls) == 1
    assert outcomes[0]["approved"] == (machine.calls[0][0] == "success")
    assert len({each["by"] for each in outcomes[0].get("decisions", [1])}) == len(outcomes[0].get("decisions", [1]))


def test_an_answer_while_the_execution_rests_is_kept_for_its_next_run(approvals, machine, ask, paused):
    identifier = ask(token="first-run")
    paused.add(REF.execution)
    machine.fail = ApprovalClosed("nobody waits")
    decision = approvals.decide("acme", identifier, "approve", by=person("ann"))
    machine.fail = None
    paused.clear()
    item, told = asked_again(approvals, "second-run")
    assert item["status"] == "approved" and machine.calls == [("success", "second-run", decision)]
    assert approvals.pending("acme") == ([], None)


def test_what_was_answered_is_told_by_step(approvals, ask, paused):
    paused.add(REF.execution)
    ask()
    assert approvals.answered("acme", REF.execution) == {}
    first = ask(ref=REF._replace(step="other", attempt=0), on_reject="fail")
    approvals.decide("acme", first, "approve", by=person("ann"))
    again = ask(ref=REF._replace(step="other", attempt=1))  # a further attempt asks anew
    assert approvals.answered("acme", REF.execution) == {}
    approvals.decide("acme", again, "reject", by=person("bob"), comment="not now")
    found = approvals.answered("acme", REF.execution)
    assert found == {("other", (2, 0)): (False, 1000 * NOW, "rejected by bob: not now")}
    assert approvals.answered("umbrella", REF.execution) == {}


def test_an_answer_just_before_a_later_run_asks_is_kept_for_it(approvals, machine, ask, paused):
    identifier = ask(token="first-run")
    paused.add(REF.execution)
    machine.fail = ApprovalClosed("nobody waits")
    decision = approvals.decide("acme", identifier, "approve", by=person("ann"))
    for _ in range(2):  # the timer comes by in between
        approvals.wake("acme", identifier, lambda item, kind: None)
    machine.fail = None
    asked_again(approvals, "second-run")
    assert machine.calls == [("success", "second-run", decision)]


def test_what_was_never_delivered_leaves_the_list_with_its_execution(approvals, machine, ask, paused):
    identifier = ask()
    paused.add(REF.execution)
    machine.fail = ApprovalClosed("nobody waits")
    approvals.decide("acme", identifier, "approve", by=person("ann"))
    assert [item["status"] for _, item in approvals.store.waiting("acme", None)] == ["approved"]
    approvals.cancel("acme", REF.execution)
    assert list(approvals.store.waiting("acme", None)) == []
    assert approvals.read("acme", identifier)["status"] == "approved"


def test_the_time_to_answer_counts_from_when_the_state_was_entered(approvals, time):
    config = ApprovalConfig(timeout=100)
    time.now += 7
    item, _ = approvals.request(
        config, tenant="acme", ref=REF, token="t", workflow="release", requester="", entered=float(NOW)
    )
    assert item["expires_at"] == NOW + 100, "not later than the machine's own limit"


def test_a_later_run_keeps_what_was_said_and_when_it_ends(approvals, machine, ask, time):
    identifier = ask(token="first-run", quorum=2, timeout=100)
    approvals.decide("acme", identifier, "approve", by=person("ann"))
    time.now += 40
    item, _ = asked_again(approvals, "second-run", quorum=2, timeout=100)
    assert item["expires_at"] == NOW + 100 and len(item["decisions"]) == 1
    approvals.decide("acme", identifier, "approve", by=person("bob"))
    assert machine.calls[0][1] == "second-run"


def test_a_cancelled_request_is_asked_anew_by_a_later_run(approvals, machine, ask, time):
    identifier = ask(quorum=2)
    approvals.decide("acme", identifier, "approve", by=person("ann"))
    approvals.cancel("acme", REF.execution)
    for who in ("ann", "bob"):
        with pytest.raises(ApprovalClosed, match="cancelled"):
            approvals.decide("acme", identifier, "approve", by=person(who))
    assert approvals.read("acme", identifier)["status"] == "cancelled" and approvals.pending("acme") == ([], None)
    time.now += 1000
    item, told = asked_again(approvals, "second-run", quorum=2)
    assert not told and item["status"] == "pending" and item["decisions"] == [] and item["expires_at"] == NOW + 4600
    assert item["earlier"][0]["decisions"][0]["by"] == "ann", "what was said before is not lost"
    assert machine.calls == []


def test_a_restore_asks_again_what_was_decided_after_it(approvals, machine, ask, time):
    kept, again = ask(), ask(ref=REF._replace(step="later"))
    approvals.decide("acme", kept, "approve", by=person("ann"))
    time.now += 10
    approvals.decide("acme", again, "approve", by=person("ann"))
    for _ in range(2):
        approvals.set_aside("acme", REF.execution, run=2, chosen=lambda step, iteration, at: at > (NOW + 5) * 1000)
    assert approvals.read("acme", kept)["status"] == "approved"
    assert approvals.read("acme", again)["status"] == "cancelled"


def test_executions_and_tenants_are_cancelled_apart(approvals, ask):
    ask()
    others = [ask(ref=REF._replace(execution="exec-12")), ask(tenant="acme2")]
    approvals.cancel("acme", REF.execution)
    assert [item["approval_id"] for item in approvals.pending("acme")[0]] == others[:1]
    assert len(approvals.pending("acme2")[0]) == 1


def test_the_list_of_a_person(approvals, ask):
    everybody = ask()
    mine = ask(ref=REF._replace(step="b"), approvers="ann")
    roles = ask(ref=REF._replace(step="c"), approvers=["role:ops"])
    own = ask(ref=REF._replace(step="d"), requester="ann")
    answered = ask(ref=REF._replace(step="e"), quorum=2)
    approvals.decide("acme", answered, "approve", by=person("ann"))

    def listed(who):
        return {item["approval_id"] for item in approvals.pending("acme", person=who)[0]}

    assert listed(person("ann")) == {everybody, mine}
    assert listed(person("bob", "ops")) == {everybody, roles, own, answered}


def test_pages_of_pending_requests_are_full_and_complete(approvals, ask, time):
    expected = [ask(ref=REF._replace(step=f"s{number:02}"), approvers=["ann" if number % 3 else "bob"]) for number in range(20)]
    wanted = [identifier for number, identifier in enumerate(expected) if number % 3]
    found, after = [], None
    while True:
        items, after = approvals.pending("acme", person=person("ann"), limit=4, after=after)
        found += [item["approval_id"] for item in items]
        if after is None:
            break
        assert len(items) == 4
    assert sorted(found) == sorted(wanted) and len(set(found)) == len(found)


def test_reminders_come_as_often_as_asked_and_then_the_end(approvals, ask, time, timers):
    told: list[str] = []
    identifier = ask(timeout=100, reminders={"every": 30, "count": 2})
    approvals.tell(approvals.store.read("acme", identifier), "asked", lambda item, kind: told.append(kind))
    while timers.timers:
        (at, function, payload), = timers.timers.values()
        assert function == "aslant-approvals" and payload == {"tenant": "acme", "approval": identifier}
        assert at > time.now, "a timer that is due at once would fire for ever"
        timers.timers.clear()
        time.now = at
        approvals.wake("acme", identifier, lambda item, kind: told.append(kind))
    assert told == ["asked", "reminder", "reminder"]
    assert approvals.read("acme", identifier)["status"] == "expired"
    assert NOW + 100 <= time.now <= NOW + 105


def test_a_notice_that_fails_is_sent_later(approvals, ask, time, timers):
    identifier = ask(timeout=1000)

    def fail(item, kind):
        raise NetworkError("no way out")

    approvals.tell(approvals.store.read("acme", identifier), "asked", fail)
    assert "no way out" in approvals.read("acme", identifier)["notice_error"]
    told = []
    time.now += 60
    approvals.wake("acme", identifier, lambda item, kind: told.append(kind))
    assert told == ["asked"] and approvals.read("acme", identifier)["notified"] is True


def test_the_timer_makes_good_a_call_back_that_was_lost(approvals, machine, ask):
    identifier = ask()
    machine.fail = NetworkError("killed here")
    with pytest.raises(NetworkError):
        approvals.decide("acme", identifier, "approve", by=person("ann"))
    machine.fail = None
    approvals.wake("acme", identifier, lambda item, kind: None)
    approvals.wake("acme", identifier, lambda item, kind: None)
    assert [call[:2] for call in machine.calls] == [("success", "task-token")]


def test_a_timer_of_nothing_does_nothing(approvals):
    approvals.wake("acme", keys.approval_id(REF), lambda item, kind: None)
    approvals.wake("acme", "garbage", lambda item, kind: None)


def test_a_token_only_opens_in_its_own_request(approvals, machine, ask):
    mine, other = ask(token="mine"), ask(ref=REF._replace(step="other"), token="other")
    stolen = approvals.store.read("acme", mine)["token"]
    approvals.store.change(approvals.store.read("acme", other), {"token": stolen})
    with pytest.raises(AuthorizationError):
        approvals.decide("acme", other, "approve", by=person("ann"))
    assert machine.calls == []
    assert "mine" not in str(approvals.read("acme", mine)) or "token" not in approvals.read("acme", mine)


@pytest.mark.parametrize("reminders", [None, {"every": 3600}])
def test_a_process_that_dies_before_its_call_back_is_made_good_for_within_a_minute(
    approvals, machine, ask, time, timers, reminders
):
    identifier = ask(timeout=36_000, **({"reminders": reminders} if reminders else {}))

    class Died(BaseException):
        pass

    machine.fail = Died()
    with pytest.raises(Died):
        approvals.decide("acme", identifier, "approve", by=person("ann"))
    machine.fail = None
    ((at, function, payload),) = timers.timers.values()
    assert NOW < at <= NOW + 60
    time.now = at
    approvals.wake(payload["tenant"], payload["approval"], lambda item, kind: None)
    ((kind, token, output),) = machine.calls
    assert (kind, token, output["approved"]) == ("success", "task-token", True)
    assert timers.timers == {}


def test_an_answer_counts_although_no_timer_can_be_set(approvals, machine, ask, timers, monkeypatch):
    identifier = ask()

    def refuse(*given):
        raise RateLimited("too many schedules")

    monkeypatch.setattr(timers, "set", refuse)
    assert approvals.decide("acme", identifier, "approve", by=person("ann"))["approved"] is True
    assert len(machine.calls) == 1


def test_a_timer_that_was_set_for_an_answer_that_was_not_written_only_asks_on(approvals, machine, ask, time, timers, monkeypatch):
    identifier = ask(timeout=36_000)

    class Died(BaseException):
        pass

    def die(self, before, changes):
        raise Died

    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(type(approvals.store), "change", die)
        approvals.decide("acme", identifier, "approve", by=person("ann"))
    time.now = NOW + 60
    approvals.wake("acme", identifier, lambda item, kind: None)
    assert approvals.read("acme", identifier)["status"] == "pending" and machine.calls == []
    ((at, _, _),) = timers.timers.values()
    assert at >= NOW + 36_000
