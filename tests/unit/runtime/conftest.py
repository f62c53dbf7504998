"""AWS by moto for tests of adapters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.runtime.fakes import one_write_at_a_time


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """AWS by moto, with clients of its own."""
    from moto import mock_aws

    from aslant.adapters import clients

    one_write_at_a_time(monkeypatch)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    clients.forget()
    with mock_aws():
        yield
    clients.forget()
