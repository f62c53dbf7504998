"""Kept events and WebSocket connections in small DynamoDB tables of their own, with time to live."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.dynamo import query
from aslant.contracts import Json
from aslant.errors import StepError
from aslant.event_log import Connection, place_of


@dataclass(frozen=True, slots=True)
class DynamoEventLog:
    region: str
    table: str

    def put(self, detail: Mapping[str, Json], until: int) -> None:
        pk = keys.events(str(detail["tenant_id"]), str(detail.get("execution_id") or ""))
        with calling("keeping an event"):
            client("dynamodb", self.region).put_item(TableName=self.table, Item={
                "pk": {"S": pk}, "sk": {"S": place_of(detail)}, "detail": {"S": json.dumps(dict(detail))},
                "ttl": {"N": str(until)},
            })  # fmt: skip

    def read(self, tenant: str, execution: str, after: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
        rows = query(
            client("dynamodb", self.region), "reading events", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND sk > :after",
            ExpressionAttributeValues={":pk": {"S": keys.events(tenant, execution)}, ":after": {"S": after or " "}},
        )
        for row in rows:
            yield row["sk"]["S"], json.loads(row["detail"]["S"])


@dataclass(frozen=True, slots=True)
class DynamoConnections:
    region: str
    table: str

    def add(self, connection: Connection) -> None:
        with calling("noting a connection"):
            client("dynamodb", self.region).put_item(TableName=self.table, Item={
                "pk": {"S": connection.id}, "connection": {"S": json.dumps(asdict(connection))},
                "execution_pk": {"S": keys.partition(connection.tenant, connection.execution)},
                "ttl": {"N": str(connection.expires)},
            })  # fmt: skip

    def get(self, id: str) -> Connection | None:
        with calling("reading a connection"):
            answer = client("dynamodb", self.region).get_item(
                TableName=self.table, Key={"pk": {"S": id}}, ConsistentRead=True
            )
        return Connection(**json.loads(answer["Item"]["connection"]["S"])) if "Item" in answer else None

    def remove(self, id: str) -> None:
        with calling("removing a connection"):
            client("dynamodb", self.region).delete_item(TableName=self.table, Key={"pk": {"S": id}})

    def of(self, tenant: str, execution: str) -> list[Connection]:
        rows = query(
            client("dynamodb", self.region), "looking up connections", TableName=self.table, IndexName="by_execution",
            KeyConditionExpression="execution_pk = :pk",
            ExpressionAttributeValues={":pk": {"S": keys.partition(tenant, execution)}},
        )
        return [Connection(**json.loads(row["connection"]["S"])) for row in rows]


@dataclass(frozen=True, slots=True)
class GatewaySender:
    """API Gateway's management of WebSocket connections, at the address of the API's stage."""

    region: str
    url: str

    def send(self, connection: str, data: bytes) -> bool:
        return self._call("post_to_connection", ConnectionId=connection, Data=data)

    def close(self, connection: str) -> None:
        self._call("delete_connection", ConnectionId=connection)

    def _call(self, name: str, **given: Any) -> bool:
        from botocore.exceptions import ClientError

        if not self.url:
            raise StepError("ASLANT_STREAM_URL does not say where connections are managed")
        with calling("talking to a connection"):
            try:
                getattr(client("apigatewaymanagementapi", self.region, endpoint=self.url), name)(**given)
            except ClientError as error:
                if error_code(error) not in ("GoneException", "410"):
                    raise
                return False
        return True
