"""The catalog of versions in its DynamoDB table."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.dynamo import transact
from aslant.adapters.execution_items import key_of
from aslant.errors import NotFoundError, ValidationError
from aslant.releases import Release
from aslant.values import compact

MAX_FACTS = 350_000  # bytes; an item has 400 KB at most


@dataclass(frozen=True, slots=True)
class DynamoCatalog:
    """Columns of a version: workflow, version, hash, machine, rollback, and `facts`, which is the release as gzipped JSON."""

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

    def put(self, tenant: str, release: Release) -> None:
        facts = gzip.compress(compact(release).encode(), mtime=0)
        if len(facts) > MAX_FACTS:
            raise ValidationError(f"what is known of {release['workflow']} has {len(facts):,} bytes; {MAX_FACTS:,} are kept")
        texts = {
            "tenant": tenant, "workflow": release["workflow"], "version": release["version"], "hash": release["hash"],
            "machine": release["machine"], "rollback": release.get("rollback", ""),
        }  # fmt: skip
        named = {name: {"S": texts[name]} for name in ("tenant", "workflow", "version")}
        item = {name: {"S": text} for name, text in texts.items() if text} | {"facts": {"B": facts}}
        key = key_of(keys.version(tenant, release["workflow"], release["version"]))
        transact(client("dynamodb", self.region), [
            {"Put": {"TableName": self.table, "Item": item | key}},
            {"Update": {
                "TableName": self.table, "Key": key_of(keys.workflow(tenant, release["workflow"])),
                "UpdateExpression": "SET published = :version, tenant = :tenant, workflow = :workflow",
                "ExpressionAttributeValues": {
                    ":version": {"S": release["version"]}, ":tenant": {"S": tenant}, ":workflow": {"S": release["workflow"]},
                },
            }},
            {"Put": {"TableName": self.table, "Item": named | key_of(keys.machine(tenant, release["machine"]))}},
        ], "publishing a version")  # fmt: skip

    def withdraw(self, tenant: str, workflow: str) -> None:
        with calling("withdrawing a workflow"):
            client("dynamodb", self.region).update_item(
                TableName=self.table, Key=key_of(keys.workflow(tenant, workflow)), UpdateExpression="REMOVE published"
            )

    def _get(self, key: keys.Key) -> dict[str, Any] | None:
        with calling("reading the catalog"):
            answer = client("dynamodb", self.region).get_item(
                TableName=self.table, Key=key_of(key), ConsistentRead=True
            )
        row: dict[str, Any] | None = answer.get("Item")
        return row
