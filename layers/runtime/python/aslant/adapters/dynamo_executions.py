"""Executions in the DynamoDB table of executions; large inputs, outputs and checkpoints in the bucket of artifacts."""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain, islice
from typing import Any, NamedTuple

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.dynamo import MAX_ACTIONS, Refused, Row, query, transact
from aslant.adapters.dynamo_steps import INLINE, item_of, left_by, read_output, record_of
from aslant.adapters.execution_items import by_status, changes, columns, indexed, key_of, record
from aslant.contracts import Json
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.records import Checkpoint, Child, Execution, Failure, Run, StepRecord, Transition
from aslant.executions.store import NOTHING
from aslant.ports import Artifacts
from aslant.values import compact

_BATCH = 3_000_000   # bytes of a transaction; DynamoDB takes 4 MB
# Seconds that notes are kept after they were written: an execution may run for a year, and is kept for some time then.
_KEEP = 456 * 24 * 3600
_AGAIN = 20          # times that a set of records is read again because some changed

_FIELDS = [field.name for field in fields(StepRecord) if field.name != "output"] + ["message"]
_WITHOUT_OUTPUT: Mapping[str, Any] = {
    "ProjectionExpression": ",".join(f"#{name}" for name in _FIELDS),
    "ExpressionAttributeNames": {f"#{name}": name for name in _FIELDS},
}


@dataclass(frozen=True, slots=True)
class DynamoExecutions:
    """See `aslant.executions.store.ExecutionStore`. Keys: `aslant.keys`."""

    region: str
    table: str
    artifacts: Artifacts

    def create(self, execution: Execution, input: Mapping[str, Json], run: Run) -> tuple[bool, Execution]:
        tenant, id = execution.tenant, execution.id
        execution = replace(execution, revision=1)
        first = Transition(1, "", execution.status, execution.changed_at, execution.user, execution.reason, run.number)
        new = {"ConditionExpression": "attribute_not_exists(pk)"}
        try:
            self._transact("storing an execution", [
                self._put(keys.execution(tenant, id), {**columns(execution), **indexed(execution)}, **new),
                self._put(keys.execution_input(tenant, id), self._value(execution, "input", dict(input))),
                self._put(keys.run(tenant, id, run.number), columns(run) | _kept(run.started_at)),
                self._put(keys.transition(tenant, id, 1), columns(first) | _kept(first.at)),
            ])  # fmt: skip
        except Refused:
            found = self.read(tenant, id)
            if found is None:
                raise ConflictError(f"the execution {id} was deleted while it was stored") from None
            return False, found
        return True, execution

    def read(self, tenant: str, id: str) -> Execution | None:
        row = self._get(keys.execution(tenant, id))
        return record(Execution, row) if row is not None else None

    def input(self, tenant: str, id: str) -> dict[str, Json]:
        row = self._get(keys.execution_input(tenant, id))
        if row is None:
            raise NotFoundError("there is no such execution")
        value: dict[str, Json] = self._read_value(tenant, row)
        return value

    def output(self, tenant: str, id: str) -> Json:
        row = self._get(keys.execution_output(tenant, id))
        return self._read_value(tenant, row) if row is not None else None

    def transition(
        self, before: Execution, after: Execution, *, by: str, reason: str = "", run: Run | None = None,
        output: Json = NOTHING,
    ) -> Execution:
        tenant, id = before.tenant, before.id
        after = replace(after, revision=before.revision + 1)
        note = Transition(after.revision, before.status, after.status, after.changed_at, by, reason, after.run)
        actions = [
            self._update(before, after),
            self._put(keys.transition(tenant, id, after.revision), columns(note) | _kept(note.at)),
        ]
        if run is not None:
            actions.append(self._put(keys.run(tenant, id, run.number), columns(run) | _kept(run.started_at)))
        if output is not NOTHING:
            value = self._value(after, "output", output)
            actions.append(self._put(keys.execution_output(tenant, id), value | _ttl(after)))
        if before.ttl != after.ttl:
            actions.append(self._expiry(keys.execution_input(tenant, id), after))
        self._changed(actions, before, f"changing the execution {id} to {after.status}")
        return after

    def amend(self, before: Execution, after: Execution) -> Execution:
        if before != after:
            self._changed([self._update(before, after)], before, f"changing the execution {before.id}")
        return after

    def transitions(self, tenant: str, id: str) -> tuple[Transition, ...]:
        return tuple(record(Transition, row) for row in self._all(tenant, id, "transition#"))

    def runs(self, tenant: str, id: str) -> tuple[Run, ...]:
        return tuple(record(Run, row) for row in self._all(tenant, id, "run#"))

    def end_run(
        self, tenant: str, id: str, number: int, *, status: str, ended_at: int, transitions: int = 0
    ) -> None:
        self._once(
            "noting the end of a run", keys.run(tenant, id, number),
            UpdateExpression="SET #status = :status, ended_at = :ended, transitions = :transitions",
            ConditionExpression="attribute_exists(pk) AND attribute_not_exists(ended_at)",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={
                ":status": {"S": status}, ":ended": {"N": str(ended_at)}, ":transitions": {"N": str(transitions)},
            },
        )

    def steps(self, tenant: str, id: str, *, outputs: bool = False) -> tuple[StepRecord, ...]:
        only = {} if outputs else _WITHOUT_OUTPUT
        return tuple(self._step(tenant, row, outputs) for row in self._records(tenant, id, **only))

    def earlier_steps(self, tenant: str, id: str) -> tuple[StepRecord, ...]:
        return tuple(record_of(row) for row in self._all(tenant, id, f"{keys.ASIDE}#", **_WITHOUT_OUTPUT))

    def set_aside(self, tenant: str, id: str, *, run: int, chosen: Callable[[StepRecord], bool]) -> int:
        moved = 0
        for _ in range(_AGAIN):
            found = [(self._step(tenant, row, False), row) for row in self._records(tenant, id)]
            found = [(step, row) for step, row in found if step.run < run and chosen(step)]
            # The newest first: whatever is left after a crash still has everything that it was made from.
            found.sort(key=lambda pair: (pair[0].finished_at or pair[0].begun_at, pair[0].started_at), reverse=True)
            if not found:
                return moved
            try:
                for batch in _batches(found):
                    self._transact("setting records aside", [
                        action for step, row in batch for action in self._move(tenant, id, run, step, row)
                    ])  # fmt: skip
                    moved += len(batch)
            except Refused:
                continue  # one of them has changed
        raise ConflictError(f"the records of the execution {id} keep changing")

    def settle(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        for step in records:
            self._once(
                "settling a failure", keys.step(tenant, id, step.step, step.iteration),
                UpdateExpression="SET settled = :yes", **_unchanged(step, {":yes": {"BOOL": True}}),
            )

    def fail_lost(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        for step in records:
            failure = step.error or Failure("Failed", "")
            condition = _unchanged(replace(step, status="running"), {
                ":failed": {"S": "failed"}, ":at": {"N": str(step.finished_at)}, ":error": {"S": failure.error},
                ":message": {"S": failure.message},
            })  # fmt: skip
            condition["ExpressionAttributeNames"] |= {"#error": "error", "#message": "message"}
            self._once(
                "noting a failure", keys.step(tenant, id, step.step, step.iteration),
                UpdateExpression="SET #status = :failed, finished_at = :at, #error = :error, #message = :message", **condition,
            )

    def cut_short(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        for step in records:
            self._once(
                "noting that a step was cut short", keys.step(tenant, id, step.step, step.iteration),
                UpdateExpression="SET stopped_at = :at", **_unchanged(step, {":at": {"N": str(step.stopped_at)}}),
            )

    def record_native(self, execution: Execution, records: Sequence[StepRecord], *, now: int) -> None:
        tenant, id = execution.tenant, execution.id
        for _ in range(_AGAIN):
            there = [record_of(row) for row in self._all(tenant, id, "step#", **_WITHOUT_OUTPUT)]
            own = {(step.step, step.iteration) for step in there if not step.native}
            since = {(step.step, step.iteration): step.since for step in there}
            left = [
                replace(step, since=since.get((step.step, step.iteration), 0)) for step in records
                if (step.step, step.iteration) not in own
            ]
            try:
                for start in range(0, len(left), MAX_ACTIONS):
                    self._transact("storing what native states did", [
                        self._put(
                            keys.step(tenant, id, step.step, step.iteration), self._native(execution, step, now),
                            ConditionExpression="attribute_not_exists(pk) OR native = :yes",
                            ExpressionAttributeValues={":yes": {"BOOL": True}},
                        )
                        for step in left[start : start + MAX_ACTIONS]
                    ])  # fmt: skip
                return
            except Refused:
                continue  # a step's function was faster
        raise ConflictError(f"the records of the execution {id} keep changing")

    def add_child(self, tenant: str, parent: str, child: Child) -> None:
        with calling("noting a child execution"):
            self._client.put_item(
                TableName=self.table, Item={**key_of(keys.child(tenant, parent, child.id)), **columns(child)}
            )

    def children(self, tenant: str, parent: str) -> tuple[Child, ...]:
        return tuple(record(Child, row) for row in self._all(tenant, parent, "child#"))

    def put_checkpoint(self, tenant: str, id: str, checkpoint: Checkpoint) -> bool:
        row = columns(checkpoint)
        if "steps" in row and len(row["steps"]["S"].encode()) > INLINE:
            data = row.pop("steps")["S"].encode()
            row["ref"] = {"S": self.artifacts.put(tenant, id, f"checkpoint-{checkpoint.number}", data)}
        try:
            self._transact("storing a checkpoint", [self._put(
                keys.checkpoint(tenant, id, checkpoint.number), row | _kept(checkpoint.at // 1000),
                ConditionExpression="attribute_not_exists(pk)",
            )])  # fmt: skip
        except Refused:
            return False
        return True

    def checkpoints(self, tenant: str, id: str) -> tuple[Checkpoint, ...]:
        rows = self._all(tenant, id, "checkpoint#")
        return tuple(self._checkpoint(tenant, row) for row in rows if "deleted" not in row)

    def last_checkpoint(self, tenant: str, id: str) -> Checkpoint | None:
        rows = self._all(tenant, id, "checkpoint#", ScanIndexForward=False, Limit=1)
        return next((self._checkpoint(tenant, row) for row in rows), None)

    def delete_checkpoint(self, tenant: str, id: str, number: int) -> bool:
        # The item stays, so that no later checkpoint gets its number.
        return self._once(
            "deleting a checkpoint", keys.checkpoint(tenant, id, number),
            UpdateExpression="SET deleted = :yes", ConditionExpression="attribute_exists(pk) AND attribute_not_exists(deleted)",
            ExpressionAttributeValues={":yes": {"BOOL": True}},
        )

    def page(
        self, tenant: str, *, workflow: str | None, status: str | None, limit: int, before: str | None
    ) -> Sequence[tuple[str, Execution]]:
        rows = heapq.merge(
            *(self._index(part, limit, before) for part in _parts(tenant, workflow, status)),
            key=lambda row: str(row["started_sk"]["S"]), reverse=True,
        )  # fmt: skip
        return [(row["started_sk"]["S"], record(Execution, row)) for row in islice(rows, limit)]

    def running(self, tenant: str, *, workflow: str | None, most: int) -> list[str]:
        rows = chain.from_iterable(self._index(part, most, None) for part in _parts(tenant, workflow, "running"))
        return [row["id"]["S"] for row in islice(rows, most)]

    def _index(self, part: _Part, limit: int, before: str | None) -> Iterator[Row]:
        condition, values = f"{part.attribute} = :pk", {":pk": {"S": part.key}}
        if before is not None:
            condition, values[":before"] = f"{condition} AND {part.order} < :before", {"S": before}
        return query(
            self._client, "listing executions", TableName=self.table, IndexName=part.name, KeyConditionExpression=condition,
            ExpressionAttributeValues=values, ScanIndexForward=False, Limit=limit,
        )

    def _update(self, before: Execution, after: Execution) -> dict[str, Any]:
        """The action that writes the fields which differ, if they and the revision are as they were."""
        old, new = changes(before, after)
        # A claim counts as well: nothing else may happen while records are set aside for the next run.
        claim = columns(before).get("preparing", {})
        old |= {"revision": {"N": str(before.revision)}, "status": {"S": before.status}, "preparing": claim}
        names = {f"#{name}": name for name in {**old, **new}}
        values, conditions = {}, []
        for name, attribute in old.items():
            if attribute:
                values[f":old_{name}"] = attribute
            conditions.append(f"#{name} = :old_{name}" if attribute else f"attribute_not_exists(#{name})")
        if before.status != after.status:
            new |= by_status(after)
            names |= {f"#{name}": name for name in by_status(after)}
        values |= {f":new_{name}": attribute for name, attribute in new.items() if attribute is not None}
        sets = [f"#{name} = :new_{name}" for name, attribute in new.items() if attribute is not None]
        removes = [f"#{name}" for name, attribute in new.items() if attribute is None]
        parts = ([f"SET {', '.join(sets)}"] if sets else []) + ([f"REMOVE {', '.join(removes)}"] if removes else [])
        return {"Update": {
            "TableName": self.table, "Key": key_of(keys.execution(before.tenant, before.id)),
            "UpdateExpression": " ".join(parts), "ConditionExpression": " AND ".join(conditions),
            "ExpressionAttributeNames": names, "ExpressionAttributeValues": values,
        }}  # fmt: skip

    def _changed(self, actions: list[dict[str, Any]], before: Execution, doing: str) -> None:
        try:
            self._transact(doing, actions)
        except Refused:
            raise ConflictError(f"the execution {before.id} was changed by somebody else meanwhile") from None

    def _expiry(self, key: keys.Key, after: Execution) -> dict[str, Any]:
        more: dict[str, Any] = {"UpdateExpression": "REMOVE #ttl"}
        if after.ttl is not None:
            more = {"UpdateExpression": "SET #ttl = :ttl", "ExpressionAttributeValues": {":ttl": {"N": str(after.ttl)}}}
        return {"Update": {
            "TableName": self.table, "Key": key_of(key), "ExpressionAttributeNames": {"#ttl": "ttl"}, **more,
        }}  # fmt: skip

    def _move(self, tenant: str, id: str, run: int, step: StepRecord, row: Row) -> list[dict[str, Any]]:
        kept = key_of(keys.aside(tenant, id, run, step.step, step.iteration))
        return [
            {"Put": {"TableName": self.table, "Item": {**row, **kept}}},
            {"Put": {"TableName": self.table, "Item": left_by(row, run), **_unchanged(step, {})}},
        ]  # fmt: skip

    def _native(self, execution: Execution, step: StepRecord, now: int) -> Row:
        step = replace(step, native=True)
        if step.status == "completed" and len(data := compact(step.output).encode()) > INLINE:
            digest = hashlib.sha256(data).hexdigest()
            ref = self.artifacts.put(execution.tenant, execution.id, f"outputs/{digest}", data)
            step = replace(step, output_ref=ref, output_sha256=digest)
        return item_of(execution.tenant, execution.id, execution.workflow, step, now=now)

    def _records(self, tenant: str, id: str, **only: Any) -> Iterator[Row]:
        """The items of step records, without what those leave behind that were set aside."""
        return (row for row in self._all(tenant, id, "step#", **only) if row["status"]["S"] != keys.ASIDE)

    def _step(self, tenant: str, row: Row, outputs: bool) -> StepRecord:
        if not outputs:
            return record_of({name: value for name, value in row.items() if name != "output"})
        step = record_of(row)
        return read_output(step, self.artifacts, tenant) if step.output_ref else step

    def _checkpoint(self, tenant: str, row: Row) -> Checkpoint:
        if "ref" in row:
            row = {**row, "steps": {"S": self.artifacts.get(tenant, row["ref"]["S"]).decode()}}
        return record(Checkpoint, {"steps": {"S": "[]"}, **row})

    def _value(self, execution: Execution, name: str, value: Json) -> Row:
        text = compact(value)
        if len(data := text.encode()) <= INLINE:
            return {"value": {"S": text}}
        return {"ref": {"S": self.artifacts.put(execution.tenant, execution.id, name, data)}}

    def _read_value(self, tenant: str, row: Row) -> Json:
        return json.loads(self.artifacts.get(tenant, row["ref"]["S"]) if "ref" in row else row["value"]["S"])

    def _get(self, key: keys.Key) -> Row | None:
        with calling("reading an execution"):
            answer = self._client.get_item(TableName=self.table, Key=key_of(key), ConsistentRead=True)
        row: Row | None = answer.get("Item")
        return row

    def _all(self, tenant: str, id: str, prefix: str, **more: Any) -> Iterator[Row]:
        return query(
            self._client, "reading an execution", TableName=self.table, ConsistentRead=True,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues={":pk": {"S": keys.partition(tenant, id)}, ":prefix": {"S": prefix}}, **more,
        )

    def _once(self, doing: str, key: keys.Key, **arguments: Any) -> bool:
        """One conditional update; whether its condition held."""
        with calling(doing):
            try:
                self._client.update_item(TableName=self.table, Key=key_of(key), **arguments)
            except self._client.exceptions.ConditionalCheckFailedException:
                return False
        return True

    def _put(self, key: keys.Key, row: Row, **condition: Any) -> dict[str, Any]:
        return {"Put": {"TableName": self.table, "Item": {**row, **key_of(key)}, **condition}}

    def _transact(self, doing: str, actions: Sequence[Mapping[str, Any]]) -> None:
        transact(self._client, actions, doing)

    @property
    def _client(self) -> Any:
        return client("dynamodb", self.region)


class _Part(NamedTuple):
    """A partition of an index, with the attributes that it is found and ordered by."""

    name: str
    attribute: str
    order: str
    key: str


def _parts(tenant: str, workflow: str | None, status: str | None) -> list[_Part]:
    """The partitions that have the executions of a workflow (or of all), with a status (or with any)."""
    if workflow is not None and status is not None:
        return [_Part("waiting", "gsi_pk", "gsi_sk", keys.having(tenant, workflow, status))]
    if workflow is not None:
        return [_Part("by_workflow", "workflow_pk", "started_sk", keys.by_workflow(tenant, workflow))]
    shards = range(keys.SHARDS)
    if status is not None:
        return [_Part("by_status", "status_pk", "started_sk", keys.by_status(tenant, status, shard)) for shard in shards]
    return [_Part("by_tenant", "tenant_pk", "started_sk", keys.by_tenant(tenant, shard)) for shard in shards]


def _kept(at: int) -> Row:
    return {"ttl": {"N": str(at // 1000 + _KEEP)}}


def _ttl(execution: Execution) -> Row:
    return {"ttl": {"N": str(execution.ttl)}} if execution.ttl is not None else {}


def _unchanged(step: StepRecord, values: Row) -> dict[str, Any]:
    """The condition that a record is still the one that was read."""
    return {
        "ConditionExpression": "#status = :status AND #run = :run AND begun_at = :begun AND total_attempts = :attempts",
        "ExpressionAttributeNames": {"#status": "status", "#run": "run"},
        "ExpressionAttributeValues": values | {
            ":status": {"S": step.status}, ":run": {"N": str(step.run)}, ":begun": {"N": str(step.begun_at)},
            ":attempts": {"N": str(step.total_attempts)},
        },
    }  # fmt: skip


def _batches(found: Sequence[tuple[StepRecord, Row]]) -> Iterator[list[tuple[StepRecord, Row]]]:
    """Parts that fit into a transaction: two actions each, and not too many bytes."""
    batch: list[tuple[StepRecord, Row]] = []
    size = 0
    for step, row in found:
        length = len(compact(row).encode("utf-8", "surrogatepass"))
        if batch and (2 * len(batch) + 2 > MAX_ACTIONS or size + length > _BATCH):
            yield batch
            batch, size = [], 0
        batch.append((step, row))
        size += length
    if batch:
        yield batch
