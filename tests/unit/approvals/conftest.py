"""Approvals on a table of moto, with a machine that notes its call-backs, and a clock that stands still."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest

from aslant import keys
from aslant.adapters.aws_approvals import DynamoApprovals
from aslant.approvals.rules import Person
from aslant.approvals.service import Approvals
from aslant.configs.approval import ApprovalConfig
from aslant.errors import AuthorizationError

NOW = 1_700_000_000
REF = keys.ApprovalRef("exec-1", "go_live", (2, 0), 0)


def person(user: str, *roles: str) -> Person:
    return Person(user, roles=roles)


class Machine:
    """The call-backs that a state machine got."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.fail: Exception | None = None

    def success(self, token: str, output: Any) -> None:
        self.answer("success", token, output)

    def failure(self, token: str, error: str, cause: str) -> None:
        self.answer("failure", token, error, json.loads(cause))

    def answer(self, *call: Any) -> None:
        if self.fail is not None:
            raise self.fail
        self.calls.append(call)


class Sealed:
    """Turns a text around, and keeps it to its context."""

    def encrypt(self, text: str, context: Mapping[str, str]) -> str:
        return json.dumps([text[::-1], dict(context)])

    def decrypt(self, text: str, context: Mapping[str, str]) -> str:
        turned, meant = json.loads(text)
        if meant != dict(context):
            raise AuthorizationError("another context")
        return str(turned[::-1])


class Timers:
    """Timers by name: when, which function, with what."""

    def __init__(self) -> None:
        self.timers: dict[str, tuple[int, str, dict[str, Any]]] = {}

    def set(self, name: str, at: int, function: str, payload: Mapping[str, Any]) -> None:
        self.timers[name] = (at, function, dict(payload))

    def cancel(self, name: str) -> None:
        self.timers.pop(name, None)


class Time:
    def __init__(self) -> None:
        self.now = float(NOW)

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def timers() -> Timers:
    return Timers()


@pytest.fixture
def paused() -> set[str]:
    """Ids of executions that rest."""
    return set()


@pytest.fixture
def approvals(aws: None, machine: Machine, time: Time, timers: Timers, paused: set[str]) -> Approvals:
    client: Any = boto3.client("dynamodb")
    client.create_table(**keys.executions_table("executions"))
    store = DynamoApprovals("us-east-1", "executions")
    return Approvals(store, machine, Sealed(), timers, lambda tenant, execution: execution in paused, time)


@pytest.fixture
def ask(approvals: Approvals) -> Any:
    """Asks; gives the approval's id."""

    def request(
        ref: keys.ApprovalRef = REF, tenant: str = "acme", token: str = "task-token", requester: str = "", **config: Any
    ) -> str:
        asked = approvals.request(
            ApprovalConfig(**config), tenant=tenant, ref=ref, token=token, workflow="release", requester=requester
        )
        return str(asked.item["approval_id"])

    return request
