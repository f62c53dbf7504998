"""Approvals on a real table (moto): one decision, delivered once, never late."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from aslant import keys
from aslant.adapters import aws_approvals
from aslant.adapters.aws_approvals import StepFunctionsCallbacks
from aslant.errors import ApprovalClosed, NetworkError, NotFoundError, ValidationError
from tests.unit.approvals.conftest import NOW, REF, person


def test_approve(approvals, machine, ask, time):
    identifier = ask(message="Go?", approvers=["bob"], timeout=60)
    time.now += 5
    decision = approvals.decide("acme", identifier, "approve", by=person("bob"), comment="fine")
    assert decision == {"approved": True, "by": "bob", "at": "2023-11-14T22:13:25Z", "comment": "fine", "answer": None}
    assert machine.calls == [("success", "task-token", decision)]


def test_reject_fails_the_step_or_is_an_answer(approvals, machine, ask):
    first = ask()
    second = ask(ref=REF._replace(step="other"), on_reject="continue")
    decision = approvals.decide("acme", first, "reject", by=person("bob"), comment="no")
    approvals.decide("acme", second, "reject", by=person("bob"))
    assert machine.calls[0] == ("failure", "task-token", "ApprovalRejected", decision)
    assert machine.calls[1][0] == "success" and machine.calls[1][2]["approved"] is False


@pytest.mark.parametrize(("config", "decision", "answer", "good"), [
    ({}, "approve", None, True), ({}, "answer", "x", False), ({}, "approve", "x", False), ({}, "maybe", None, False),
    ({"approval_type": "text_input"}, "answer", "Because.", True), ({"approval_type": "text_input"}, "answer", "  ", False),
    ({"approval_type": "text_input"}, "approve", None, False), ({"approval_type": "text_input"}, "answer", 5, False),
    ({"approval_type": "text_input"}, "reject", None, True), ({"approval_type": "text_input"}, "answer", "x" * 4001, False),
    ({"approval_type": "multiple_choice", "options": ["blue", "green"]}, "answer", "blue", True),
    ({"approval_type": "multiple_choice", "options": ["blue", "green"]}, "answer", "Blue", False),
    ({"approval_type": "multiple_choice", "options": ["blue", "green"]}, "reject", "blue", True),
])
def test_answers_must_fit_the_question(approvals, machine, ask, config, decision, answer, good):
    identifier = ask(**config)
    if good:
        made = approvals.decide("acme", identifier, decision, by=person("bob"), answer=answer)
        assert made["answer"] == (None if decision == "reject" else answer)
    else:
        with pytest.raises(ValidationError):
            approvals.decide("acme", identifier, decision, by=person("bob"), answer=answer)
    assert len(machine.calls) == good


def test_the_second_decision_loses(approvals, machine, ask):
    identifier = ask()
    first = approvals.decide("acme", identifier, "approve", by=person("bob"))
    with pytest.raises(ApprovalClosed, match="approved by bob already"):
        approvals.decide("acme", identifier, "reject", by=person("eve"))
    assert approvals.decide("acme", identifier, "approve", by=person("bob")) == first
    assert len(machine.calls) == 1


def test_a_call_back_that_failed_is_repeated_by_deciding_again(approvals, machine, ask, time):
    identifier = ask()
    machine.fail = NetworkError("gone")
    with pytest.raises(NetworkError):
        approvals.decide("acme", identifier, "approve", by=person("bob"))
    machine.fail = None
    time.now += 60
    decision = approvals.decide("acme", identifier, "approve", by=person("bob"))
    assert decision["at"] == "2023-11-14T22:13:20Z"
    assert machine.calls == [("success", "task-token", decision)]


def test_many_people_at_once_make_one_decision(approvals, machine, ask):
    identifier = ask()

    def decide(number):
        try:
            return approvals.decide("acme", identifier, "approve", by=person(f"user{number}"))["by"]
        except ApprovalClosed:
            return None

    with ThreadPoolExecutor(8) as pool:
        winners = [winner for winner in pool.map(decide, range(8)) if winner]
    assert len(winners) == 1
    assert [call[2]["by"] for call in machine.calls] == winners


def test_late_decisions_are_refused(approvals, machine, ask, time):
    identifier = ask(timeout=60)
    time.now += 60
    for _ in range(2):
        with pytest.raises(ApprovalClosed, match="expired at 2023-11-14T22:14:20Z"):
            approvals.decide("acme", identifier, "approve", by=person("bob"))
    assert machine.calls == []
    assert approvals.read("acme", identifier)["status"] == "expired"


def test_a_machine_that_waits_no_more(approvals, machine, ask):
    identifier = ask()
    machine.fail = ApprovalClosed("nobody waits")
    with pytest.raises(ApprovalClosed):
        approvals.decide("acme", identifier, "approve", by=person("bob"))
    after = approvals.read("acme", identifier)
    assert after["status"] == "cancelled" and after["decisions"][0]["by"] == "bob", "what bob said is kept, and did nothing"
    assert approvals.pending("acme") == ([], None)
    machine.fail = None
    ask(token="of a later run")
    approvals.decide("acme", identifier, "approve", by=person("bob"))
    assert [call[:2] for call in machine.calls] == [("success", "of a later run")]


def test_tenants_do_not_see_each_other(approvals, machine, ask):
    identifier = ask(tenant="acme")
    for tenant in ("other", "acme#approvals", ""):
        with pytest.raises(NotFoundError):
            approvals.decide(tenant, identifier, "approve", by=person("eve"))
        assert approvals.pending(tenant) == ([], None)
    assert machine.calls == []


@pytest.mark.parametrize("identifier", ["", "x", "!!!", "WyJhIl0", "bnVsbA", "é", "W" * 5000])
def test_ids_that_are_none(approvals, identifier):
    with pytest.raises(NotFoundError):
        approvals.decide("acme", identifier, "approve", by=person("bob"))


def test_pending_lists_the_oldest_first_and_no_token(approvals, ask, time):
    earlier = ask(ref=REF._replace(step="a#b%"), message="First?")
    time.now += 10
    later = ask()
    decided = ask(ref=REF._replace(step="c"))
    approvals.decide("acme", decided, "approve", by=person("bob"))
    listed, _ = approvals.pending("acme")
    assert [item["approval_id"] for item in listed] == [earlier, later]
    assert listed[0]["step"] == "a#b%" and listed[0]["config"]["message"] == "First?"
    assert listed[1]["iteration"] == [2, 0] and listed[1]["expires_at"] == NOW + 10 + 3600
    assert "task-token" not in json.dumps(listed)


def test_asking_again_renews_the_token_but_never_reopens(approvals, machine, ask):
    identifier = ask(token="old")
    assert ask(token="new") == identifier
    approvals.decide("acme", identifier, "approve", by=person("bob"))
    assert machine.calls[0][1] == "new"
    ask(token="newer")
    assert approvals.pending("acme") == ([], None)


def test_keys_cannot_be_forged():
    plain = keys.approval("t", keys.ApprovalRef("e", "s", (1,), 0))
    for tenant, ref in [("t#execution#e", keys.ApprovalRef("", "s", (1,), 0)), ("t", keys.ApprovalRef("e", "s#1", (), 0)),
                        ("t", keys.ApprovalRef("e%23", "s", (1,), 0))]:
        assert keys.approval(tenant, ref) != plain
    assert keys.approval_ref(keys.approval_id(REF)) == REF
    assert plain.pk.startswith("t#")


class StepFunctions:
    def __init__(self, error: str = "") -> None:
        self.error = error
        self.calls: list[dict[str, str]] = []

    def send_task_success(self, **arguments):
        from botocore.exceptions import ClientError

        self.calls.append(arguments)
        if self.error:
            raise ClientError({"Error": {"Code": self.error, "Message": ""}}, "SendTaskSuccess")

    send_task_failure = send_task_success


@pytest.mark.parametrize(("code", "kind"), [("TaskTimedOut", ApprovalClosed), ("TaskDoesNotExist", ApprovalClosed),
                                            ("InvalidToken", ApprovalClosed), ("InvalidOutput", ValidationError)])
def test_tokens_that_nobody_waits_for(monkeypatch, code, kind):
    monkeypatch.setattr(aws_approvals, "client", lambda service, region: StepFunctions(code))
    with pytest.raises(kind):
        StepFunctionsCallbacks("us-east-1").success("token", {})


def test_call_backs_fit_the_limits_of_the_service(monkeypatch):
    service = StepFunctions()
    monkeypatch.setattr(aws_approvals, "client", lambda name, region: service)
    StepFunctionsCallbacks("us-east-1").failure("token", "E" * 300, "c" * 40_000)
    StepFunctionsCallbacks("us-east-1").success("token", {"answer": "é"})
    assert len(service.calls[0]["error"]) == 256 and len(service.calls[0]["cause"]) == 32_768
    assert json.loads(service.calls[1]["output"]) == {"answer": "é"}
