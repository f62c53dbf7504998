"""The store in memory, and on DynamoDB by moto."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import keys
from tests.unit.executions.memory import MemoryArtifacts, MemoryExecutions
from tests.unit.moto_aws import moto_aws

TABLE = "aslant-executions"


@pytest.fixture(scope="module")
def shared_aws() -> Iterator[None]:
    """AWS by moto, for all tests of a module."""
    with pytest.MonkeyPatch.context() as patch, moto_aws(patch):
        yield


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
    request.getfixturevalue("shared_aws")
    return fresh_table


@pytest.fixture
def store(make_store: Callable[[], Any]) -> Any:
    return make_store()
