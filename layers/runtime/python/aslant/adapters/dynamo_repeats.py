"""Answers of the API that are given again to the same request, in the executions table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.execution_items import key_of


@dataclass(frozen=True, slots=True)
class Repeat:
    """What is known of a request: a hash of it, and the answer (a text) unless it is still being worked on."""

    asked: str
    answer: str | None


@dataclass(frozen=True, slots=True)
class DynamoRepeats:
    region: str
    table: str

    def begin(self, tenant: str, digest: str, asked: str, *, now: int, lease: int, keep: int) -> Repeat | None:
        """None for whoever comes first, or after one that has not answered within `lease` seconds; else what is known.

        `now` is epoch seconds; it is forgotten after `keep` seconds.
        """
        from botocore.exceptions import ClientError

        dynamodb = client("dynamodb", self.region)
        with calling("noting a request"):
            try:
                dynamodb.put_item(
                    TableName=self.table, Item=key_of(keys.repeat(tenant, digest)) | {
                        "asked": {"S": asked}, "lease": {"N": str(now + lease)}, "ttl": {"N": str(now + keep)},
                    },
                    ConditionExpression="attribute_not_exists(pk) OR #ttl <= :now OR (attribute_not_exists(answer)"
                    " AND lease <= :now)",
                    ExpressionAttributeNames={"#ttl": "ttl"}, ExpressionAttributeValues={":now": {"N": str(now)}},
                )  # fmt: skip
                return None
            except ClientError as error:
                if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                    raise
            row: dict[str, Any] = dynamodb.get_item(
                TableName=self.table, Key=key_of(keys.repeat(tenant, digest)), ConsistentRead=True
            ).get("Item", {})
        return Repeat(row["asked"]["S"], row["answer"]["S"] if "answer" in row else None) if row else None

    def finish(self, tenant: str, digest: str, answer: str) -> None:
        with calling("noting an answer"):
            client("dynamodb", self.region).update_item(
                TableName=self.table, Key=key_of(keys.repeat(tenant, digest)), UpdateExpression="SET answer = :answer",
                ExpressionAttributeValues={":answer": {"S": answer}},
            )

    def forget(self, tenant: str, digest: str) -> None:
        """The request failed: it may be made again."""
        with calling("forgetting a request"):
            client("dynamodb", self.region).delete_item(TableName=self.table, Key=key_of(keys.repeat(tenant, digest)))
