"""Items as the stores write them, and records of their stream."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from aslant import keys
from aslant.adapters.dynamo_steps import item_of
from aslant.adapters.execution_items import columns, indexed, key_of
from aslant.executions.records import Execution, StepRecord

SCHEMAS = Path(__file__).parents[3] / "events" / "schemas"
STARTED = 1_790_000_000_000


def problems(detail: dict[str, Any]) -> list[str]:
    """What the schema of its type says against an event's detail."""
    schema = json.loads((SCHEMAS / f"{detail['event_type']}.json").read_text())
    return [f"{error.instance_path}: {error.message}" for error in jsonschema_rs.validator_for(schema).iter_errors(detail)]


class Stream:
    """Turns items before and after into records."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, before: dict[str, Any] | None, after: dict[str, Any] | None) -> dict[str, Any]:
        item = after or before or {}
        images = {"OldImage": before, "NewImage": after}
        return {
            "eventName": "INSERT" if before is None else "REMOVE" if after is None else "MODIFY",
            "dynamodb": {
                "Keys": {name: item[name] for name in ("pk", "sk")}, "SequenceNumber": str(10**20 + next(self._numbers)),
                "ApproximateCreationDateTime": STARTED // 1000,
                **{name: image for name, image in images.items() if image is not None},
            },
        }


def execution_item(**fields: Any) -> dict[str, Any]:
    base = Execution(
        tenant="acme", id="e-1", workflow="orders", version="1.2.0", status="running", revision=1, run=1, machine="m",
        arn="a", user="ada", started_at=STARTED, changed_at=STARTED,
    )
    record = replace(base, **fields)
    return {**columns(record), **indexed(record), **key_of(keys.execution(record.tenant, record.id))}


def step_item(status: str, tenant: str = "acme", execution: str = "e-1", **fields: Any) -> dict[str, Any]:
    record = replace(
        StepRecord("pay", (), status, type="http", attempts=1, total_attempts=1, started_at=STARTED * 1000, begun_at=STARTED * 1000),  # type: ignore[arg-type]
        **fields,
    )
    if status != "running" and record.finished_at is None:
        record = replace(record, finished_at=record.begun_at + 1_500_000)
    return item_of(tenant, execution, "orders", record, now=STARTED * 1000)


@pytest.fixture
def stream() -> Stream:
    return Stream()


@pytest.fixture(name="execution_item")
def execution_item_fixture() -> Callable[..., dict[str, Any]]:
    return execution_item


@pytest.fixture(name="step_item")
def step_item_fixture() -> Callable[..., dict[str, Any]]:
    return step_item


@pytest.fixture(name="problems")
def problems_fixture() -> Callable[[dict[str, Any]], list[str]]:
    return problems
