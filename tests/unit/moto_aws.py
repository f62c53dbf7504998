"""AWS by moto, with clients of its own and no credentials of whoever runs the tests.

Tables and answers are as the local cloud mends them, but for streams: a transaction copies no tables, an expression is parsed
once.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import pytest

from infra.local.moto_patches import answers, tables, updates
from infra.local.moto_patches.registry import PATCHES, install

_TABLES = [
    one for one in PATCHES
    if one.replacement.__module__ in (answers.__name__, tables.__name__, updates.__name__) and one.replacement is not tables.one_at_a_time
]  # fmt: skip


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
    with mock_aws(), ExitStack() as stack:
        install(stack, _TABLES)
        cast(Any, boto3).DEFAULT_SESSION = _session()
        yield
    clients.forget()
