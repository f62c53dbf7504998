"""Definitions in the catalog table. A text is gzipped; one that is still beyond 350 KB is refused."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.dynamo import Refused, Row, query, transact
from aslant.adapters.execution_items import key_of
from aslant.catalog import Change, DefinitionRecord, WorkflowRecord
from aslant.errors import ConflictError, PayloadTooLarge

MAX_TEXT = 350_000  # bytes, gzipped; an item has 400 KB at most


@dataclass(frozen=True, slots=True)
class DynamoDefinitions:
    region: str
    table: str

    def read(self, tenant: str, workflow: str) -> WorkflowRecord | None:
        row = self._get(keys.workflow(tenant, workflow))
        return None if row is None or "revision" not in row else _workflow(row)

    def write(self, change: Change) -> None:
        try:
            transact(client("dynamodb", self.region), actions_of(self.table, change, {}), "writing a definition")
        except Refused:
            raise ConflictError(f"{change.after.id} has changed meanwhile") from None

    def definition(self, tenant: str, workflow: str, version: str) -> DefinitionRecord | None:
        row = self._get(keys.definition(tenant, workflow, version))
        return None if row is None else _definition(row)

    def versions(self, tenant: str, workflow: str) -> tuple[DefinitionRecord, ...]:
        found = query(
            client("dynamodb", self.region), "reading the versions of a workflow", TableName=self.table,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)", ScanIndexForward=False, ConsistentRead=True,
            ProjectionExpression="workflow, version, dialect, sha256, created_by, created_at",
            ExpressionAttributeValues={
                ":pk": {"S": keys.workflow(tenant, workflow).pk}, ":kind": {"S": keys.DEFINITIONS},
            },
        )  # fmt: skip
        return tuple(_definition(row) for row in found)

    def page(self, tenant: str, *, limit: int, after: str | None) -> tuple[WorkflowRecord, ...]:
        condition, values = "tenant_pk = :pk", {":pk": {"S": keys.workflows(tenant)}}
        if after is not None:
            condition, values = condition + " AND listed_sk > :after", values | {":after": {"S": after}}
        found: list[WorkflowRecord] = []
        for row in query(
            client("dynamodb", self.region), "listing workflows", TableName=self.table, IndexName="by_tenant",
            KeyConditionExpression=condition, ExpressionAttributeValues=values, Limit=limit,
        ):  # fmt: skip
            found.append(_workflow(row))
            if len(found) == limit:
                break
        return tuple(found)

    def _get(self, key: keys.Key) -> Row | None:
        with calling("reading a definition"):
            answer = client("dynamodb", self.region).get_item(TableName=self.table, Key=key_of(key), ConsistentRead=True)
        row: Row | None = answer.get("Item")
        return row


def actions_of(table: str, change: Change, more: Row) -> list[dict[str, Any]]:
    """The actions of a change in a transaction; `more` are other columns of the workflow's item, which stay without."""
    before, after, definition = change
    columns: Row = more | {
        "tenant": {"S": after.tenant}, "workflow": {"S": after.id}, "display": {"S": after.name},
        "status": {"S": after.status}, "latest": {"S": after.latest}, "owner": {"S": after.owner},
        "created_at": {"N": str(after.created_at)}, "changed_at": {"N": str(after.changed_at)},
        "revision": {"N": str(after.revision)}, "description": {"S": after.description},
        "tags": {"S": json.dumps(list(after.tags))}, "live": {"S": after.published},
        "tenant_pk": {"S": keys.workflows(after.tenant)}, "listed_sk": {"S": after.id},
    }  # fmt: skip
    values: Row = {f":{name}": value for name, value in columns.items()}
    condition = "attribute_not_exists(revision)"
    if before is not None:
        condition, values[":before"] = "revision = :before", {"N": str(before.revision)}
    actions: list[dict[str, Any]] = [{"Update": {
        "TableName": table, "Key": key_of(keys.workflow(after.tenant, after.id)),
        "UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in columns), "ConditionExpression": condition,
        "ExpressionAttributeNames": {f"#{name}": name for name in columns}, "ExpressionAttributeValues": values,
    }}]  # fmt: skip
    if definition is not None:
        actions.append({"Put": {
            "TableName": table, "Item": _item(after.tenant, definition), "ConditionExpression": "attribute_not_exists(pk)",
        }})  # fmt: skip
    return actions


def _item(tenant: str, definition: DefinitionRecord) -> Row:
    text = gzip.compress(definition.text.encode(), mtime=0)
    if len(text) > MAX_TEXT:
        raise PayloadTooLarge(f"the definition has {len(text):,} bytes when it is compressed; {MAX_TEXT:,} are kept")
    columns: Row = {
        "tenant": {"S": tenant}, "workflow": {"S": definition.workflow}, "version": {"S": definition.version},
        "dialect": {"S": definition.dialect}, "sha256": {"S": definition.sha256},
        "created_by": {"S": definition.created_by}, "created_at": {"N": str(definition.created_at)}, "text": {"B": text},
    }  # fmt: skip
    return columns | key_of(keys.definition(tenant, definition.workflow, definition.version))


def _definition(row: Row) -> DefinitionRecord:
    text = gzip.decompress(bytes(row["text"]["B"])).decode() if "text" in row else ""
    return DefinitionRecord(
        row["workflow"]["S"], row["version"]["S"], text, row["dialect"]["S"], row["sha256"]["S"], row["created_by"]["S"],
        int(row["created_at"]["N"]),
    )


def _workflow(row: Row) -> WorkflowRecord:
    status: Any = row["status"]["S"]
    return WorkflowRecord(
        row["tenant"]["S"], row["workflow"]["S"], row["display"]["S"], status, row["latest"]["S"], row["owner"]["S"],
        int(row["created_at"]["N"]), int(row["changed_at"]["N"]), int(row["revision"]["N"]), row["description"]["S"],
        row["live"]["S"], tuple(json.loads(row["tags"]["S"])),
    )
