"""Gates in the executions table: one item for each waiting point of each run.

`done` is the set of who has signalled, `token` the task token of who waits; `values#<by>` is what a signal brings as JSON text,
`stored#<by>` the key of a larger one in the bucket; number: ttl; text: gate. And one item for each pool of turns: `pool` is
its JSON text, `revision` counts its changes.
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
from aslant.errors import RateLimited
from aslant.gates import Came, GateKey, Pool, turned
from aslant.ports import Artifacts
from aslant.values import compact

INLINE = 16 * 1024  # bytes of values in the item, which holds 400 KB and those of all who signal
_KEEP = 400 * 24 * 3600  # seconds: a Standard execution lasts a year at most
_TRIES = 50  # writes of a pool that others change at the same time
_UNSATISFIED = "attribute_not_exists(done) OR size(done) < :need"


@dataclass(frozen=True, slots=True)
class DynamoGates:
    region: str
    table: str
    artifacts: Artifacts

    def signal(self, key: GateKey, *, by: str, values: Mapping[str, Json], now: int) -> Came:
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
        return Came(len(item["done"]["SS"]), str(item["token"]["S"]) if "token" in item else None)

    def wait(self, key: GateKey, *, need: int, token: str, now: int) -> Came:
        with calling("waiting at a gate"):
            try:
                item = self._client.update_item(
                    TableName=self.table, Key=_key(key), ConditionExpression=_UNSATISFIED, ReturnValues="ALL_NEW",
                    UpdateExpression="SET gate = :gate, #ttl = :ttl, #token = :token",
                    ExpressionAttributeNames={"#ttl": "ttl", "#token": "token"},
                    ExpressionAttributeValues={
                        ":gate": {"S": key.gate}, ":ttl": {"N": str(now + _KEEP)}, ":token": {"S": token},
                        ":need": {"N": str(need)},
                    },
                )["Attributes"]
            except self._client.exceptions.ConditionalCheckFailedException:
                return Came(need, token)
        return Came(len(item["done"]["SS"]) if "done" in item else 0, token)

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

    def turn(
        self, key: GateKey, *, limit: int, asks: tuple[float, str] | None = None, gives: str | None = None, now: int
    ) -> tuple[str, ...]:
        for _ in range(_TRIES):
            with calling("reading a pool of turns"):
                item = self._client.get_item(TableName=self.table, Key=_key(key), ConsistentRead=True).get("Item")
            before = _pool(item["pool"]["S"]) if item else Pool()
            after, told = turned(before, limit, asks=asks, gives=gives)
            if after == before or self._changed(key, after, int(item["revision"]["N"]) if item else 0, now):
                return told
        raise RateLimited("too many steps end at once")

    def _changed(self, key: GateKey, pool: Pool, revision: int, now: int) -> bool:
        text = compact({"turns": sorted(pool.turns), "queued": [[*one] for one in pool.queued], "over": sorted(pool.over)})
        with calling("changing a pool of turns"):
            try:
                self._client.put_item(
                    TableName=self.table, ConditionExpression="attribute_not_exists(pk) OR revision = :known",
                    ExpressionAttributeValues={":known": {"N": str(revision)}},
                    Item={
                        **_key(key), "gate": {"S": key.gate}, "pool": {"S": text}, "revision": {"N": str(revision + 1)},
                        "ttl": {"N": str(now + _KEEP)},
                    },
                )
            except self._client.exceptions.ConditionalCheckFailedException:
                return False
        return True

    @property
    def _client(self) -> Any:
        return client("dynamodb", self.region, read_timeout=5)


def _pool(text: str) -> Pool:
    data = json.loads(text)
    return Pool(frozenset(data["turns"]), tuple((priority, name) for priority, name in data["queued"]), frozenset(data["over"]))


def _key(key: GateKey) -> dict[str, Any]:
    pk, sk = keys.gate(key.tenant, key.execution, key.machine, key.gate, key.iteration)
    return {"pk": {"S": pk}, "sk": {"S": sk}}
