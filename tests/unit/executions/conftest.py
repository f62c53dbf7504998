"""The store in memory, and on DynamoDB by moto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import keys
from tests.unit.executions.memory import MemoryArtifacts, MemoryExecutions

TABLE = "aslant-executions"


@pytest.fixture(scope="module")
def moto_aws() -> Iterator[None]:
    """AWS by moto, with clients of its own."""
    from moto import mock_aws

    from aslant.adapters import clients

    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            patch.setenv(name, "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.delenv("AWS_PROFILE", raising=False)
        clients.forget()
        with mock_aws():
            yield
        clients.forget()


def fresh_table() -> Any:
    """An empty table of executions and the store on it."""
    from aslant.adapters.clients import client
    from aslant.adapters.dynamo_executions import DynamoExecutions

    dynamo = client("dynamodb", "us-east-1")
    if TABLE in dynamo.list_tables()["TableNames"]:
        dynamo.delete_table(TableName=TABLE)
    dynamo.create_table(**keys.executions_table(TABLE))
    return DynamoExecutions("us-east-1", TABLE, MemoryArtifacts())


@pytest.fixture(params=["memory", "dynamodb"])
def make_store(request: pytest.FixtureRequest) -> Callable[[], Any]:
    """Makes an empty store."""
    if request.param == "memory":
        return MemoryExecutions
    request.getfixturevalue("moto_aws")
    return fresh_table


@pytest.fixture
def store(make_store: Callable[[], Any]) -> Any:
    return make_store()
