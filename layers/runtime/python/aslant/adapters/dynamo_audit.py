"""The audit trail in the executions table, a partition for each month."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.dynamo import query
from aslant.adapters.execution_items import key_of
from aslant.audit import KEEP, AuditRecord


@dataclass(frozen=True, slots=True)
class DynamoAudit:
    region: str
    table: str

    def put(self, tenant: str, month: str, record: AuditRecord) -> None:
        with calling("writing the audit trail"):
            client("dynamodb", self.region).put_item(
                TableName=self.table, Item=key_of(keys.audit(tenant, month, record.at, record.id)) | {
                    "record": {"S": json.dumps(asdict(record))}, "user": {"S": record.user},
                    "ttl": {"N": str(record.at // 1000 + KEEP)},
                },
            )  # fmt: skip

    def page(
        self, tenant: str, month: str, *, before: str | None, user: str | None, limit: int
    ) -> Sequence[tuple[str, AuditRecord]]:
        condition, values = "pk = :pk", {":pk": {"S": keys.audit(tenant, month, 0, "").pk}}
        if before is not None:
            condition, values[":before"] = f"{condition} AND sk < :before", {"S": before}
        more = {}
        if user is not None:
            values[":user"] = {"S": user}
            more = {"FilterExpression": "#user = :user", "ExpressionAttributeNames": {"#user": "user"}}
        rows = query(
            client("dynamodb", self.region), "reading the audit trail", TableName=self.table, ScanIndexForward=False,
            KeyConditionExpression=condition, ExpressionAttributeValues=values, Limit=max(limit, 100 if user else 1), **more,
        )
        found = []
        for row in islice(rows, limit):
            data = json.loads(row["record"]["S"])
            found.append((row["sk"]["S"], AuditRecord(**{**data, "roles": tuple(data["roles"])})))
        return found
