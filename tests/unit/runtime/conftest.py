"""AWS by moto for tests of adapters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.runtime.fakes import one_write_at_a_time


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS by moto, with clients of its own."""
    from moto import mock_aws
    from moto.dynamodb.responses import DynamoHandler

    from aslant.adapters import clients

    lock, original = threading.RLock(), DynamoHandler.call_action

    def one_at_a_time(self: Any) -> Any:  # moto's writes are not atomic between threads
        with lock:
            return original(self)

    monkeypatch.setattr(DynamoHandler, "call_action", one_at_a_time)

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    clients.forget()
    with mock_aws():
        yield
    clients.forget()
