"""AWS by moto, with clients of its own and no credentials of whoever runs the tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def moto_aws(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside, boto3 talks to moto."""
    from moto import mock_aws

    from aslant.adapters import clients

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        patch.setenv(name, "testing")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.delenv("AWS_PROFILE", raising=False)
    clients.forget()
    with mock_aws():
        yield
    clients.forget()
