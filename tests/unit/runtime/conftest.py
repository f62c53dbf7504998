"""AWS by moto for tests of adapters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS by moto, with clients of its own."""
    from moto import mock_aws
    from moto.dynamodb.responses import DynamoHandler

    from aslant.adapters import clients
    from infra.local.moto_patches.tables import one_at_a_time

    monkeypatch.setattr(DynamoHandler, "call_action", one_at_a_time(DynamoHandler.call_action))

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    clients.forget()
    with mock_aws():
        yield
    clients.forget()
