"""Approvals in the executions table, and call-backs through Step Functions."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters import dynamo
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.contracts import Json
from aslant.errors import ApprovalClosed, ValidationError
from aslant.values import compact

_GONE = frozenset({"TaskTimedOut", "TaskDoesNotExist", "InvalidToken"})
_TEXTS = ("config", "iteration", "decisions", "decision", "earlier")  # stored as JSON, so that numbers stay exact


@dataclass(frozen=True, slots=True)
class DynamoApprovals:
    """A request is one item; it is in the index `waiting` until it is closed and, if it was decided, delivered."""

    region: str
    table: str

    def create(self, item: Mapping[str, Json]) -> dict[str, Json] | None:
        row = _row(dict(item) | {"revision": 1}) | _key(item["tenant"], item["approval_id"]) | _place(item)
        with calling("storing an approval"):
            try:
                self._client.put_item(
                    TableName=self.table, Item=row, ConditionExpression="attribute_not_exists(pk)",
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except self._client.exceptions.ConditionalCheckFailedException as error:
                return _item(error.response["Item"])
        return None

    def read(self, tenant: str, approval_id: str) -> dict[str, Json] | None:
        with calling("reading an approval"):
            answer = self._client.get_item(TableName=self.table, Key=_key(tenant, approval_id), ConsistentRead=True)
        return _item(answer["Item"]) if "Item" in answer else None

    def change(self, item: Mapping[str, Json], changes: Mapping[str, Json]) -> dict[str, Json] | None:
        after = {**item, **changes}
        row = _row({**changes, "revision": int(item.get("revision", 1)) + 1})
        if _is_open(after):
            row |= _place(after)
        names = {f"#{number}": name for number, name in enumerate(row)}
        values = {f":{number}": value for number, value in enumerate(row.values())}
        update = "SET " + ", ".join(f"#{number} = :{number}" for number in range(len(row)))
        if not _is_open(after):
            update += " REMOVE gsi_pk, gsi_sk"
        with calling("changing an approval"):
            try:
                answer = self._client.update_item(
                    TableName=self.table, Key=_key(item["tenant"], item["approval_id"]), UpdateExpression=update,
                    ConditionExpression="revision = :before", ExpressionAttributeNames=names,
                    ExpressionAttributeValues=values | {":before": {"N": str(item.get("revision", 1))}},
                    ReturnValues="ALL_NEW",
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return None
        return _item(answer["Attributes"])

    def waiting(self, tenant: str, after: str | None) -> Iterator[tuple[str, dict[str, Json]]]:
        condition = "gsi_pk = :pk"
        values = {":pk": {"S": keys.waiting(tenant, 0, "").pk}}
        if after is not None:
            if not after[:12].isdecimal() or after[12:13] != "#":
                raise ValidationError("this is no place in the list of approvals")
            condition += " AND gsi_sk > :after"
            values[":after"] = {"S": after}
        rows = dynamo.query(
            self._client, "listing approvals", TableName=self.table, IndexName="waiting",
            KeyConditionExpression=condition, ExpressionAttributeValues=values,
        )
        for row in rows:
            yield row["gsi_sk"]["S"], _item(row)

    def of_execution(self, tenant: str, execution: str) -> list[dict[str, Json]]:
        rows = dynamo.query(
            self._client, "listing approvals", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :sk)",
            ExpressionAttributeValues={
                ":pk": {"S": keys.partition(tenant, execution)}, ":sk": {"S": keys.APPROVALS},
            },
        )
        return [_item(row) for row in rows]

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


def _is_open(item: Mapping[str, Json]) -> bool:
    """Whether somebody has to do something about it: answer, or tell the machine."""
    return item["status"] == "pending" or (item["status"] in ("approved", "rejected") and not item.get("delivered"))


def _key(tenant: str, approval_id: str) -> dict[str, Any]:
    key = keys.approval(tenant, keys.approval_ref(approval_id))
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def _place(item: Mapping[str, Json]) -> dict[str, Any]:
    index = keys.waiting(item["tenant"], item["requested_at"], item["approval_id"])
    return {"gsi_pk": {"S": index.pk}, "gsi_sk": {"S": index.sk}}


def _row(values: Mapping[str, Json]) -> dict[str, Any]:
    return {name: _attribute(compact(value) if name in _TEXTS else value) for name, value in values.items()}


def _attribute(value: Json) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": str(value)}


def _item(row: Mapping[str, Any]) -> dict[str, Json]:
    item: dict[str, Json] = {}
    for name, attribute in row.items():
        if name in ("pk", "sk", "gsi_pk", "gsi_sk"):
            continue
        kind, value = next(iter(attribute.items()))
        item[name] = json.loads(value) if name in _TEXTS else int(value) if kind == "N" else value
    return item
