"""The stores that fault tests run on: in memory, and DynamoDB by moto with S3 for what is large."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import bootstrap, keys
from tests.faults.steps.support import Faulty
from tests.unit.moto_aws import moto_aws
from tests.unit.runtime.fakes import MemorySteps, one_write_at_a_time


@pytest.fixture
def dynamo(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Step records in DynamoDB by moto."""
    import boto3

    from aslant.adapters.dynamo_steps import DynamoSteps
    from aslant.adapters.s3_artifacts import S3Artifacts

    one_write_at_a_time(monkeypatch)
    with moto_aws(monkeypatch):
        boto3.client("dynamodb").create_table(**keys.executions_table("records"))
        boto3.client("s3").create_bucket(Bucket="large")
        yield DynamoSteps("us-east-1", "records", S3Artifacts("us-east-1", "large"))


@pytest.fixture(params=["memory", "dynamo"])
def store(request: pytest.FixtureRequest) -> Any:
    return MemorySteps() if request.param == "memory" else request.getfixturevalue("dynamo")


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`use(store, before=…, after=…)`: from now on the wrapper keeps its records there."""

    def choose(store: Any, before: Any = None, after: Any = None) -> None:
        chosen = Faulty(store, before, after)
        monkeypatch.setattr(bootstrap, "steps", lambda settings: chosen)

    return choose
