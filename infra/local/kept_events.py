"""The events of the installation's bus, kept in a table of the local cloud, so that they can be read again.

An event comes at least once; under its own id it is kept once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aslant.events import SOURCE, TYPES

TABLE = "aslant-events"
FUNCTION = "aslant-keep-events"
PATTERN: Mapping[str, Any] = {"source": [SOURCE]}
_ORDER = {name: index for index, name in enumerate(TYPES)}

Client = Any  # boto3's client of DynamoDB
Json = Any


def create_table(dynamodb: Client) -> None:
    dynamodb.create_table(
        TableName=TABLE, BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )  # fmt: skip


def keeper(dynamodb: Client) -> Callable[[dict[str, Any], Any], None]:
    """The function that the rule of the bus calls."""

    def handler(event: dict[str, Any], context: Any) -> None:
        detail = event["detail"]
        order = f"{detail['sequence']:0>40}#{_ORDER.get(detail['event_type'], 99):02d}#{detail['event_id']}"
        dynamodb.put_item(TableName=TABLE, Item={
            "pk": {"S": _partition(detail["tenant_id"], detail.get("execution_id") or "")}, "sk": {"S": order},
            "detail": {"S": json.dumps(detail)},
        })  # fmt: skip

    return handler


def read(dynamodb: Client, tenant: str, execution: str, after: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
    """The events of an execution in their order, each with its place; those behind the place `after`."""
    more: dict[str, Any] = {}
    condition = "pk = :pk AND sk > :after"
    values = {":pk": {"S": _partition(tenant, execution)}, ":after": {"S": after or " "}}
    while True:
        answer = dynamodb.query(
            TableName=TABLE, KeyConditionExpression=condition, ExpressionAttributeValues=values, ConsistentRead=True, **more
        )
        for row in answer["Items"]:
            yield row["sk"]["S"], json.loads(row["detail"]["S"])
        if not answer.get("LastEvaluatedKey"):
            return
        more = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def _partition(tenant: str, execution: str) -> str:
    return json.dumps([tenant, execution])
