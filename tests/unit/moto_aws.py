"""AWS by moto, with clients of its own and no credentials of whoever runs the tests."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest


@functools.cache
def _session() -> Any:
    """One for all tests of a process: a new one reads the descriptions of the services again."""
    import boto3

    return boto3.Session()


@contextmanager
def moto_aws(patch: pytest.MonkeyPatch) -> Iterator[None]:
    """Inside, boto3 talks to moto."""
    import boto3
    from moto import mock_aws

    from aslant.adapters import clients

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        patch.setenv(name, "testing")
    patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    patch.delenv("AWS_PROFILE", raising=False)
    clients.forget()
    with mock_aws():
        cast(Any, boto3).DEFAULT_SESSION = _session()
        yield
    clients.forget()
