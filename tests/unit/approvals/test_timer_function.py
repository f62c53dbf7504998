"""The function behind the timers, with the real adapters on moto."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from aslant import bootstrap, keys
from aslant.adapters import aws_approvals
from aslant.configs.approval import ApprovalConfig
from aslant.errors import ValidationError
from aslant.settings import Settings
from functions.approvals.handler import handler
from tests.unit.approvals.conftest import Machine, person

ROOT = Path(__file__).resolve().parents[3]
SAMPLE = json.loads((ROOT / "events" / "approvals" / "timer.json").read_text(encoding="utf-8"))
ROLE = "arn:aws:iam::123456789012:role/timers"
CONFIG = {"message": "Go?", "approvers": ["ann"]}


@pytest.fixture
def asked(aws: None, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("ASLANT_SCHEDULER_ROLE", ROLE)
    settings = Settings.read()
    client: Any = boto3.client("dynamodb")
    client.create_table(**keys.executions_table(settings.executions_table))
    kms: Any = boto3.client("kms", "us-east-1")
    kms.create_alias(AliasName=settings.key, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
    reference = keys.approval_ref(SAMPLE["approval"])
    service = bootstrap.approvals(settings)
    service.request(
        ApprovalConfig(**CONFIG), tenant=SAMPLE["tenant"], ref=reference, token="task-token-of-this-step",
        workflow="release", requester="bob",
    )
    return service


def everything() -> str:
    rows = boto3.client("dynamodb", "us-east-1").scan(TableName="aslant-executions")["Items"]
    schedules = boto3.client("scheduler", "us-east-1").list_schedules()["Schedules"]
    return repr(rows) + repr(schedules)


def test_the_token_is_stored_encrypted(asked: Any) -> None:
    assert "task-token-of-this-step" not in everything()
    assert asked._token(asked.store.read(SAMPLE["tenant"], SAMPLE["approval"])) == "task-token-of-this-step"


def test_a_lost_call_back_is_made_good_by_the_function(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine()
    monkeypatch.setattr(aws_approvals.StepFunctionsCallbacks, "_send", lambda self, op, **given: machine.answer(op, given))
    machine.fail = RuntimeError("killed here")
    with pytest.raises(RuntimeError):
        asked.decide(SAMPLE["tenant"], SAMPLE["approval"], "approve", by=person("ann"))
    machine.fail = None
    for _ in range(2):
        handler(SAMPLE, None)
    assert len(machine.calls) == 1 and machine.calls[0][1]["taskToken"] == "task-token-of-this-step"
    schedules: Any = boto3.client("scheduler", "us-east-1")
    assert schedules.list_schedules()["Schedules"] == []


@pytest.mark.parametrize("event", [None, [], "x", {}, {"tenant": "acme"}, {"tenant": 1, "approval": "x"}])
def test_other_events_are_refused(event: Any) -> None:
    with pytest.raises(ValidationError):
        handler(event, None)
