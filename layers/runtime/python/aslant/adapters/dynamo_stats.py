"""Figures of workflows in the executions table: an item for each day, one for each step and day, and the installation's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aslant import keys
from aslant.adapters.clients import client
from aslant.adapters.dynamo import Refused, query, transact
from aslant.adapters.execution_items import key_of
from aslant.analytics import KEEP, Counts, Tally
from aslant.clock import now

_BATCH = 90   # steps that one transaction counts
_MARK = 14 * 86_400  # seconds that an event is remembered; the bus tries for a day


@dataclass(frozen=True, slots=True)
class DynamoStats:
    region: str
    table: str

    def add(self, tenant: str, workflow: str, tally: Tally, *, event: str, shard: int) -> bool:
        steps = sorted(tally.steps.items())
        done = False
        for start in range(0, max(1, len(steps)), _BATCH):
            actions = [self._mark(tenant, f"{event}-{start}")]
            if start == 0:
                actions += [
                    self._add(keys.day_stats(tenant, workflow, tally.day), tally.workflow),
                    self._add(keys.installation_stats(shard), tally.workflow, errors=False, kept=False),
                ]
            actions += [
                self._add(keys.step_stats(tenant, workflow, tally.day, step), counts, step=step)
                for step, counts in steps[start : start + _BATCH]
            ]
            try:
                transact(client("dynamodb", self.region), actions, "counting an execution")
                done = True
            except Refused:
                continue  # counted before
        return done

    def days(self, tenant: str, workflow: str, first: str, last: str) -> Sequence[tuple[str, Counts]]:
        between = (keys.day_stats(tenant, workflow, first), keys.day_stats(tenant, workflow, last))
        return [(row["sk"]["S"].partition("#")[2], _counts(row)) for row in self._between(*between)]

    def steps(self, tenant: str, workflow: str, first: str, last: str) -> Sequence[tuple[str, Counts]]:
        between = (keys.step_stats(tenant, workflow, first, ""), keys.step_stats(tenant, workflow, last, "\uffff"))
        return [(row["step"]["S"], _counts(row)) for row in self._between(*between)]

    def installation(self) -> Counts:
        total: Counter[str] = Counter()
        for row in self._between(keys.installation_stats(0), keys.installation_stats(keys.STATS_SHARDS - 1)):
            total.update(_counts(row))
        return dict(total)

    def _between(self, first: keys.Key, last: keys.Key) -> Iterator[dict[str, Any]]:
        return query(
            client("dynamodb", self.region), "reading figures", TableName=self.table,
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={":pk": {"S": first.pk}, ":first": {"S": first.sk}, ":last": {"S": last.sk}},
        )

    def _mark(self, tenant: str, event: str) -> dict[str, Any]:
        item = key_of(keys.counted(tenant, event)) | {"ttl": {"N": str(int(now()) + _MARK)}}
        return {"Put": {"TableName": self.table, "Item": item, "ConditionExpression": "attribute_not_exists(pk)"}}

    def _add(
        self, key: keys.Key, counts: Counts, *, step: str = "", errors: bool = True, kept: bool = True
    ) -> dict[str, Any]:
        given = {name: number for name, number in counts.items() if number and (errors or not name.startswith("e:"))}
        names = {f"#n{index}": f"n:{name}" for index, name in enumerate(given)}
        values: dict[str, Any] = {f":n{index}": {"N": str(number)} for index, number in enumerate(given.values())}
        sets = []
        if kept:
            names["#ttl"], values[":ttl"] = "ttl", {"N": str(int(now()) + KEEP)}
            sets.append("#ttl = :ttl")
        if step:
            names["#step"], values[":step"] = "step", {"S": step}
            sets.append("#step = :step")
        adds = ", ".join(f"#n{index} :n{index}" for index in range(len(given)))
        parts = [f"SET {', '.join(sets)}"] * bool(sets) + [f"ADD {adds}"] * bool(adds)
        return {"Update": {
            "TableName": self.table, "Key": key_of(key), "ExpressionAttributeNames": names, "ExpressionAttributeValues": values,
            "UpdateExpression": " ".join(parts),
        }}  # fmt: skip


def _counts(row: dict[str, Any]) -> Counts:
    return {name[2:]: int(value["N"]) for name, value in row.items() if name.startswith("n:")}
