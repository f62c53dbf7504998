"""The catalog of versions in its DynamoDB table."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.dynamo import Refused, Row, query, transact
from aslant.adapters.dynamo_definitions import actions_of
from aslant.adapters.execution_items import key_of
from aslant.catalog import Change
from aslant.errors import ConflictError, NotFoundError, ValidationError
from aslant.releases import Release
from aslant.values import compact

MAX_FACTS = 350_000  # bytes; an item has 400 KB at most


@dataclass(frozen=True, slots=True)
class DynamoCatalog:
    """Columns of a version: workflow, version, hash, machine, rollback, contents, and `facts`: the release as gzipped JSON."""

    region: str
    table: str

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Release:
        if version is None:
            found = self._get(keys.workflow(tenant, workflow))
            version = found["published"]["S"] if found is not None and "published" in found else None
        row = self._get(keys.version(tenant, workflow, version)) if version else None
        if row is None:
            raise NotFoundError(f"there is no workflow {workflow}" + (f" {version}" if version else ""))
        release: Release = json.loads(gzip.decompress(bytes(row["facts"]["B"])))
        return release

    def of_machine(self, tenant: str, machine: str) -> Release:
        row = self._get(keys.machine(tenant, machine))
        if row is None:
            raise NotFoundError(f"no workflow has the state machine {machine}")
        return self.get(tenant, row["workflow"]["S"], row["version"]["S"])

    def put(self, tenant: str, release: Release, change: Change | None = None) -> None:
        facts = gzip.compress(compact(release).encode(), mtime=0)
        if len(facts) > MAX_FACTS:
            raise ValidationError(f"what is known of {release['workflow']} has {len(facts):,} bytes; {MAX_FACTS:,} are kept")
        texts = {
            "tenant": tenant, "workflow": release["workflow"], "version": release["version"], "hash": release["hash"],
            "machine": release["machine"], "rollback": release.get("rollback", ""),
            "contents": release.get("contents", ""),
        }  # fmt: skip
        named = {name: {"S": texts[name]} for name in ("tenant", "workflow", "version")}
        item = {name: {"S": text} for name, text in texts.items() if text} | {"facts": {"B": facts}}
        key = key_of(keys.version(tenant, release["workflow"], release["version"]))
        published: Row = {"published": {"S": release["version"]}}
        record: list[dict[str, Any]] = [{"Update": {
            "TableName": self.table, "Key": key_of(keys.workflow(tenant, release["workflow"])),
            "UpdateExpression": "SET published = :version, tenant = :tenant, workflow = :workflow",
            "ExpressionAttributeValues": {f":{name}": value for name, value in named.items()},
        }}]  # fmt: skip
        try:
            transact(client("dynamodb", self.region), [
                {"Put": {"TableName": self.table, "Item": item | key, **_unless_other(release)}},
                {"Put": {"TableName": self.table, "Item": named | key_of(keys.machine(tenant, release["machine"]))}},
                *(record if change is None else actions_of(self.table, change, published)),
            ], "publishing a version")  # fmt: skip
        except Refused:
            raise ConflictError(f"{release['workflow']} has changed meanwhile") from None

    def versions(self, tenant: str, workflow: str) -> frozenset[str]:
        found = query(
            client("dynamodb", self.region), "reading the versions of a workflow", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :kind)", ProjectionExpression="version",
            ExpressionAttributeValues={":pk": {"S": keys.workflow(tenant, workflow).pk}, ":kind": {"S": keys.VERSIONS}},
        )
        return frozenset(row["version"]["S"] for row in found)

    def withdraw(self, tenant: str, workflow: str) -> None:
        from botocore.exceptions import ClientError

        with calling("withdrawing a workflow"):
            try:
                client("dynamodb", self.region).update_item(
                    TableName=self.table, Key=key_of(keys.workflow(tenant, workflow)), UpdateExpression="REMOVE published",
                    ConditionExpression="attribute_not_exists(#status) OR #status = :archived",
                    ExpressionAttributeNames={"#status": "status"}, ExpressionAttributeValues={":archived": {"S": "archived"}},
                )
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise

    def _get(self, key: keys.Key) -> dict[str, Any] | None:
        with calling("reading the catalog"):
            answer = client("dynamodb", self.region).get_item(
                TableName=self.table, Key=key_of(key), ConsistentRead=True
            )
        row: dict[str, Any] | None = answer.get("Item")
        return row


def _unless_other(release: Release) -> dict[str, Any]:
    """The condition that the version is not there with other contents."""
    if "contents" not in release:
        return {}
    return {
        "ConditionExpression": "attribute_not_exists(contents) OR contents = :contents",
        "ExpressionAttributeValues": {":contents": {"S": release["contents"]}},
    }
