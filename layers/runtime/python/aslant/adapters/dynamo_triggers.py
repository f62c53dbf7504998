"""Which workflows the events of a topic may start, in the catalog table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.dynamo import query
from aslant.adapters.execution_items import key_of


@dataclass(frozen=True, slots=True)
class DynamoSubscriptions:
    region: str
    table: str

    def add(self, tenant: str, topic: str, workflow: str) -> None:
        with calling("subscribing a workflow"):
            client("dynamodb", self.region).put_item(
                TableName=self.table, Item=key_of(keys.subscription(tenant, topic, workflow)) | {"workflow": {"S": workflow}}
            )

    def remove(self, tenant: str, topic: str, workflow: str) -> None:
        with calling("unsubscribing a workflow"):
            client("dynamodb", self.region).delete_item(
                TableName=self.table, Key=key_of(keys.subscription(tenant, topic, workflow))
            )

    def workflows(self, tenant: str, topics: Iterable[str]) -> list[str]:
        found = {
            row["workflow"]["S"]
            for topic in topics
            for row in query(
                client("dynamodb", self.region), "looking up triggers", TableName=self.table, ConsistentRead=True,
                KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": keys.topic(tenant, topic)}},
            )
        }  # fmt: skip
        return sorted(found)
