"""Approvals in the executions table, and call-backs through Step Functions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.contracts import Json
from aslant.errors import ApprovalClosed
from aslant.values import compact

_GONE = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})


@dataclass(frozen=True, slots=True)
class DynamoApprovals:
    """Attributes that are read by others are columns; config and decision are JSON texts, so that numbers stay exact."""

    region: str
    table: str

    def create(self, item: Mapping[str, Json]) -> None:
        key = _key(item["tenant"], item["approval_id"])
        index = keys.waiting(item["tenant"], item["requested_at"], item["approval_id"])
        row = {**item, "config": compact(item["config"]), "iteration": compact(item["iteration"])}
        attributes = {name: _attribute(value) for name, value in row.items()}
        attributes.update(pk={"S": key.pk}, sk={"S": key.sk}, gsi_pk={"S": index.pk}, gsi_sk={"S": index.sk})
        with calling("storing an approval"):
            try:
                self._client.put_item(
                    TableName=self.table, Item=attributes,
                    ConditionExpression="attribute_not_exists(pk) OR #status = :pending",
                    ExpressionAttributeNames={"#status": "status"},
                    ExpressionAttributeValues={":pending": {"S": "pending"}},
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return

    def read(self, tenant: str, approval_id: str) -> dict[str, Json] | None:
        with calling("reading an approval"):
            answer = self._client.get_item(
                TableName=self.table, Key=_key_attributes(tenant, approval_id), ConsistentRead=True
            )
        return _item(answer["Item"]) if "Item" in answer else None

    def close(self, tenant: str, approval_id: str, decision: Mapping[str, Json], now: int) -> bool:
        with calling("deciding an approval"):
            try:
                self._client.update_item(
                    TableName=self.table, Key=_key_attributes(tenant, approval_id),
                    UpdateExpression="SET #status = :decided, decision = :decision REMOVE gsi_pk, gsi_sk",
                    ConditionExpression="#status = :pending AND expires_at > :now",
                    ExpressionAttributeNames={"#status": "status"},
                    ExpressionAttributeValues={
                        ":decided": {"S": "decided"}, ":pending": {"S": "pending"}, ":now": {"N": str(now)},
                        ":decision": {"S": compact(decision)},
                    },
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return False
        return True

    def delivered(self, tenant: str, approval_id: str) -> None:
        with calling("noting a decision"):
            self._client.update_item(
                TableName=self.table, Key=_key_attributes(tenant, approval_id),
                UpdateExpression="SET delivered = :yes", ExpressionAttributeValues={":yes": {"BOOL": True}},
            )

    def pending(self, tenant: str, limit: int) -> list[dict[str, Json]]:
        with calling("listing approvals"):
            answer = self._client.query(
                TableName=self.table, IndexName="waiting", Limit=limit, KeyConditionExpression="gsi_pk = :pk",
                ExpressionAttributeValues={":pk": {"S": keys.waiting(tenant, 0, "").pk}},
            )
        return [_item(row) for row in answer["Items"]]

    @property
    def _client(self) -> Any:
        return client("dynamodb", self.region)


@dataclass(frozen=True, slots=True)
class StepFunctionsCallbacks:
    region: str

    def success(self, token: str, output: Json) -> None:
        self._send("send_task_success", taskToken=token, output=compact(output))

    def failure(self, token: str, error: str, cause: str) -> None:
        self._send("send_task_failure", taskToken=token, error=error[:256], cause=cause[:32_768])

    def _send(self, operation: str, **arguments: str) -> None:
        from botocore.exceptions import ClientError

        with calling("calling the state machine back"):
            try:
                getattr(client("stepfunctions", self.region), operation)(**arguments)
            except ClientError as error:
                if error_code(error) in _GONE:
                    raise ApprovalClosed("nobody waits for this answer any more; the step timed out or ended") from None
                raise


def _key(tenant: str, approval_id: str) -> keys.Key:
    return keys.approval(tenant, keys.approval_ref(approval_id))


def _key_attributes(tenant: str, approval_id: str) -> dict[str, Any]:
    key = _key(tenant, approval_id)
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _attribute(value: Json) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": str(value)}


def _item(row: Mapping[str, Any]) -> dict[str, Json]:
    item: dict[str, Json] = {}
    for name, attribute in row.items():
        kind, value = next(iter(attribute.items()))
        item[name] = int(value) if kind == "N" else value
    for name in ("config", "iteration", "decision"):
        if name in item:
            item[name] = json.loads(item[name])
    return item
