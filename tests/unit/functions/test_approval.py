"""approval steps."""

from __future__ import annotations

import pytest

from aslant import bootstrap
from aslant.configs.approval import ApprovalConfig
from aslant.settings import Settings
from aslant.step import read_run
from functions.steps.approval import logic
from functions.steps.approval.handler import handler


def test_the_request_is_stored_with_its_token(invocation, store_of_approvals):
    output = handler(invocation("approval", {"message": "Go?", "timeout": 90}, token="tok", iteration=[1], attempt=2), None)
    service = bootstrap.approvals(Settings.read())
    (item,), _ = service.pending("acme")
    assert output["output"] == {"approval_id": item["approval_id"], "status": "pending"}
    assert (item["step"], item["iteration"], item["attempt"], item["execution"]) == ("s", [1], 2, "exec-1")
    assert item["expires_at"] - item["requested_at"] == 90
    assert item["config"]["message"] == "Go?"
    stored = service.store.read("acme", item["approval_id"])
    assert stored is not None and "tok" not in stored["token"]
    context = {"tenant": "acme", "approval": item["approval_id"]}
    assert service.cipher.decrypt(stored["token"], context) == "tok"


def test_without_a_token_nobody_could_be_told(invocation):
    with pytest.raises(Exception, match=r"step s: an approval needs a task token"):
        handler(invocation("approval", {}), None)


def test_auto_approve_asks_nobody(invocation):
    calls = []

    class Approvals:
        class callbacks:
            @staticmethod
            def success(token, output):
                calls.append((token, output))

    run = read_run("approval", invocation("approval", {}, token="tok"), None)
    result = logic.ask(ApprovalConfig(auto_approve=True), run, lambda: Approvals(), print, 1_700_000_000)  # type: ignore[arg-type, return-value]
    assert result["output"]["approved"] is True and result["output"]["by"] == "auto_approve"
    assert calls == [("tok", result["output"])]
    assert handler(invocation("approval", {"auto_approve": True}), None)["output"]["approved"] is True


@pytest.mark.parametrize("config", [
    {"approval_type": "multiple_choice"}, {"options": ["a"]}, {"on_timeout": "escalate"}, {"timeout": 0}, {"on_timeout": "x"},
])
def test_questions_that_make_no_sense(invocation, config):
    with pytest.raises(Exception, match="step s: ") as caught:
        handler(invocation("approval", config, token="t"), None)
    assert type(caught.value).__name__ == "ValidationError"
