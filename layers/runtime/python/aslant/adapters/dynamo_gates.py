"""Gates in the executions table: one item for each waiting point of each run.

`done` is the set of who has signalled, `token` the task token of who waits; `values#<by>` is what a signal brings as JSON text,
`stored#<by>` the key of a larger one in the bucket; number: ttl; text: gate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.contracts import Json
from aslant.gates import GateKey
from aslant.ports import Artifacts
from aslant.values import compact

INLINE = 16 * 1024  # bytes of values in the item, which holds 400 KB and those of all who signal
_KEEP = 400 * 24 * 3600  # seconds: a Standard execution lasts a year at most
_UNSATISFIED = "attribute_not_exists(done) OR size(done) < :need"


@dataclass(frozen=True, slots=True)
class DynamoGates:
    region: str
    table: str
    artifacts: Artifacts

    def signal(self, key: GateKey, *, by: str, need: int, values: Mapping[str, Json], now: int) -> str | None:
        update = "SET gate = :gate, #ttl = :ttl ADD done :by"
        names, given = {"#ttl": "ttl"}, {
            ":gate": {"S": key.gate}, ":ttl": {"N": str(now + _KEEP)}, ":by": {"SS": [by]},
        }  # fmt: skip
        if values:
            text = compact(dict(values))
            stored = len(text) > INLINE
            if stored:
                name = f"gates/{key.machine.rpartition(':')[2]}/{key.gate}{list(key.iteration)}/{by}"
                text = self.artifacts.put(key.tenant, key.execution, name, text.encode("utf-8", "surrogatepass"))
            update = update.replace(" ADD", ", #values = :values ADD")
            names["#values"], given[":values"] = f"{'stored' if stored else 'values'}#{by}", {"S": text}
        with calling("signalling a gate"):
            item = self._client.update_item(
                TableName=self.table, Key=_key(key), UpdateExpression=update, ExpressionAttributeNames=names,
                ExpressionAttributeValues=given, ReturnValues="ALL_NEW",
            )["Attributes"]
        return str(item["token"]["S"]) if "token" in item and len(item["done"]["SS"]) >= need else None

    def wait(self, key: GateKey, *, need: int, token: str, now: int) -> bool:
        with calling("waiting at a gate"):
            try:
                self._client.update_item(
                    TableName=self.table, Key=_key(key), ConditionExpression=_UNSATISFIED,
                    UpdateExpression="SET gate = :gate, #ttl = :ttl, #token = :token",
                    ExpressionAttributeNames={"#ttl": "ttl", "#token": "token"},
                    ExpressionAttributeValues={
                        ":gate": {"S": key.gate}, ":ttl": {"N": str(now + _KEEP)}, ":token": {"S": token},
                        ":need": {"N": str(need)},
                    },
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return True
        return False

    def values(self, key: GateKey) -> dict[str, Json]:
        with calling("reading a gate"):
            item = self._client.get_item(TableName=self.table, Key=_key(key), ConsistentRead=True).get("Item", {})
        found: dict[str, Json] = {}
        for name in sorted(item):
            kind = name.partition("#")[0]
            if kind == "values":
                found |= json.loads(item[name]["S"])
            elif kind == "stored":
                found |= json.loads(self.artifacts.get(key.tenant, item[name]["S"]))
        return found

    @property
    def _client(self) -> Any:
        return client("dynamodb", self.region, read_timeout=5)


def _key(key: GateKey) -> dict[str, Any]:
    pk, sk = keys.gate(key.tenant, key.execution, key.machine, key.gate, key.iteration)
    return {"pk": {"S": pk}, "sk": {"S": sk}}
