"""Step records in the executions table. Columns are flat, so that the table's stream can be read without this module.

Texts: tenant, execution, workflow, step, type, status, owner, output_sha256, output_ref, error, message, outcome; JSON texts:
iteration, output, usage; numbers: run, attempts, total_attempts, started_at, begun_at, finished_at, stopped_at,
lease_until, ttl; booleans: settled, native, late. A record that was set aside leaves one of status keys.ASIDE with ids, `run`,
ttl, and `since`, which the next record of the step keeps.
`attempts_<run>` counts the begins of one run and `first_<run>` is the moment of the first; `attempts` and `first_at` repeat
those of the latest one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.contracts import Json
from aslant.errors import ConflictError
from aslant.executions.records import Failure, StepRecord
from aslant.ports import Artifacts, StepKey
from aslant.values import compact

# DynamoDB charges each write per KiB of the item, and the record is written again when its failure is settled or it is set
# aside; S3 charges per request. An output beyond this is one object in the bucket.
INLINE = 32 * 1024
_KEEP = 90 * 24 * 3600  # seconds after the last begin or end

# A record may be begun when there is none, when it was set aside, when it failed and the workflow did not go on after that,
# when it was skipped by an earlier run, or when nobody has a lease any more: nobody ever had one on what the history tells
# of a step that a stop interrupted. A failure that only the history told of leaves the lease to who may still be at work.
# Never by a run that is not the latest.
_MAY_BEGIN = (
    "attribute_not_exists(pk) OR (#run <= :run AND attribute_not_exists(settled)"
    " AND (#status IN (:skipped, :aside) OR (#status IN (:running, :failed) AND"
    " (attribute_not_exists(lease_until) OR lease_until < :now))))"
)
_BEGIN = (
    "SET tenant = :tenant, execution = :execution, workflow = :workflow, #step = :step, iteration = :iteration,"
    " #type = :type, #status = :running, #run = :run, #owner = :owner, lease_until = :lease, begun_at = :began,"
    " started_at = if_not_exists(started_at, :began),"
    " total_attempts = if_not_exists(total_attempts, :zero) + :one,"
    # Both read the count as it was: so a run's attempts start at 1 without a request to look first.
    " attempts = if_not_exists(#counted, :zero) + :one, #counted = if_not_exists(#counted, :zero) + :one,"
    " first_at = if_not_exists(#first, :began), #first = if_not_exists(#first, :began),"
    " #ttl = :ttl REMOVE #error, #message, finished_at, native, stopped_at, late"
)
# `started_at` says that it is the record which began: one that a restore set aside leaves its place to a new one.
_SAME = "started_at = :started AND #status <> :completed AND attribute_not_exists(settled)"
_FINISH = (
    "SET #status = :completed, finished_at = :now, #owner = :owner, output_sha256 = :hash, #usage = :usage, #ttl = :ttl,"
    " {place} = :output REMOVE lease_until, #error, #message, stopped_at"
)
_FAIL = (
    "SET #status = :failed, finished_at = :now, #error = :error, #message = :message, #usage = :usage, #ttl = :ttl"
    " REMOVE lease_until, stopped_at"
)
_NAMES = {
    "#status": "status", "#run": "run", "#owner": "owner", "#type": "type", "#step": "step", "#ttl": "ttl",
    "#error": "error", "#message": "message", "#usage": "usage",
}


@dataclass(frozen=True, slots=True)
class DynamoSteps:
    region: str
    table: str
    artifacts: Artifacts

    def begin(
        self, key: StepKey, *, type: str, run: int, owner: str, now: int, lease_until: int, workflow: str = "",
        began: int | None = None,
    ) -> tuple[bool, StepRecord]:
        values: dict[str, str | int] = {
            ":tenant": key.tenant, ":execution": key.execution, ":workflow": workflow, ":step": key.step,
            ":iteration": compact(list(key.iteration)), ":type": type, ":run": run, ":owner": owner, ":now": now,
            ":lease": lease_until, ":ttl": _ttl(now), ":zero": 0, ":one": 1,
            ":running": "running", ":failed": "failed", ":skipped": "skipped",
            ":aside": keys.ASIDE, ":began": now if began is None else min(began, now),
        }
        item, mine = self._update("beginning", key, _BEGIN, _MAY_BEGIN, values, {
            "#counted": f"attempts_{run}", "#first": f"first_{run}",
        }, "ALL_NEW")
        if item is None:
            raise ConflictError(f"the record of {key.step} went away while it was begun")
        record = record_of(item)
        # The client repeats a request whose answer got lost; then the lease that is in the way is our own.
        mine = mine or (record.status == "running" and record.owner == owner)
        return mine, record if mine else self._with_output(key.tenant, record)

    def finish(self, key: StepKey, began: StepRecord, *, now: int, output: Json, usage: Mapping[str, float]) -> StepRecord:
        text = compact(output)
        data = text.encode()
        digest = hashlib.sha256(data).hexdigest()
        ref = self.artifacts.put(key.tenant, key.execution, f"outputs/{digest}", data) if len(data) > INLINE else ""
        values: dict[str, str | int] = {
            ":started": began.started_at, ":completed": "completed", ":now": now, ":owner": began.owner, ":hash": digest,
            ":usage": compact(dict(usage)), ":ttl": _ttl(now), ":output": ref or text,
        }
        update = _FINISH.format(place="output_ref" if ref else "#output")
        item, mine = self._update("finishing", key, update, _SAME, values, {} if ref else {"#output": "output"})
        if mine:
            return replace(
                began, status="completed", finished_at=now, lease_until=None, error=None, output=output,
                output_sha256=digest, output_ref=ref, usage=dict(usage),
            )
        if item is None or item.get("started_at") != {"N": str(began.started_at)}:
            raise ConflictError(f"the record of {key.step} that this attempt began was set aside")
        return self._with_output(key.tenant, record_of(item))

    def fail(self, key: StepKey, began: StepRecord, *, now: int, failure: Failure, usage: Mapping[str, float]) -> None:
        values: dict[str, str | int] = {
            ":started": began.started_at, ":running": "running", ":owner": began.owner, ":failed": "failed", ":now": now,
            ":error": failure.error, ":message": failure.message, ":usage": compact(dict(usage)), ":ttl": _ttl(now),
        }
        condition = "started_at = :started AND #status = :running AND #owner = :owner"
        self._update("failing", key, _FAIL, condition, values)

    def _update(
        self, doing: str, key: StepKey, update: str, condition: str, values: Mapping[str, str | int],
        names: Mapping[str, str] | None = None, give: str = "NONE",
    ) -> tuple[dict[str, Any] | None, bool]:
        """One UpdateItem: (the new item if asked for, True); (the item as it is, None when it is not there, False)."""
        from botocore.exceptions import ClientError

        used = {name: real for name, real in _NAMES.items() if name in update or name in condition} | dict(names or {})
        pk, sk = keys.step(key.tenant, key.execution, key.step, key.iteration)
        with calling(f"{doing} the record of a step"):
            try:
                answer = self._client.update_item(
                    TableName=self.table, Key={"pk": {"S": pk}, "sk": {"S": sk}}, UpdateExpression=update,
                    ConditionExpression=condition, ExpressionAttributeNames=used, ReturnValues=give,
                    ExpressionAttributeValues={name: _attribute(value) for name, value in values.items()},
                    ReturnValuesOnConditionCheckFailure="ALL_OLD",
                )
            except ClientError as error:
                if error_code(error) == "ConditionalCheckFailedException":
                    refused: Mapping[str, Any] = error.response
                    return refused.get("Item") or None, False
                raise
        return answer.get("Attributes"), True

    def _with_output(self, tenant: str, record: StepRecord) -> StepRecord:
        return read_output(record, self.artifacts, tenant) if record.output_ref else record

    @property
    def _client(self) -> Any:
        # A request takes milliseconds. One that got lost must leave time for the next within the attempt.
        return client("dynamodb", self.region, read_timeout=5)


def read_output(record: StepRecord, artifacts: Artifacts, tenant: str) -> StepRecord:
    """The record with its output from the bucket. Raises NotFoundError when it is gone, ConflictError when it differs."""
    data = artifacts.get(tenant, record.output_ref)
    if hashlib.sha256(data).hexdigest() != record.output_sha256:
        raise ConflictError(f"the stored output of {record.label} is not the one that was recorded")
    return replace(record, output=json.loads(data))


def record_of(item: Mapping[str, Any]) -> StepRecord:
    """The record that an item, or a stream's image, holds; `output` only where it is in the item."""

    def text(name: str) -> str:
        return str(item[name]["S"]) if name in item else ""

    def number(name: str) -> int | None:
        return int(item[name]["N"]) if name in item else None

    iteration = tuple(json.loads(text("iteration") or "[]"))
    failure = Failure(text("error"), text("message"), text("step"), iteration) if "error" in item else None
    status: Any = text("status")
    return StepRecord(
        step=text("step"), iteration=iteration, status=status, type=text("type"), run=number("run") or 1,
        attempts=number("attempts") or 0, total_attempts=number("total_attempts") or 0,
        started_at=number("started_at") or 0, begun_at=number("begun_at") or 0, finished_at=number("finished_at"),
        lease_until=number("lease_until"), owner=text("owner"), since=number("since") or 0,
        output=json.loads(text("output")) if "output" in item else None,
        output_sha256=text("output_sha256"), output_ref=text("output_ref"), error=failure,
        settled=bool(item.get("settled", {}).get("BOOL")), native=bool(item.get("native", {}).get("BOOL")),
        outcome=text("outcome"), usage=json.loads(text("usage") or "{}"),
        first_at=number("first_at") or 0, stopped_at=number("stopped_at"), late=bool(item.get("late", {}).get("BOOL")),
    )


def item_of(tenant: str, execution: str, workflow: str, record: StepRecord, *, now: int) -> dict[str, Any]:
    """The item of a record, its output inside or at `output_ref`: for what no function begins. `now`: epoch microseconds."""
    pk, sk = keys.step(tenant, execution, record.step, record.iteration)
    row: dict[str, str | int | None] = {
        "pk": pk, "sk": sk, "tenant": tenant, "execution": execution, "workflow": workflow, "step": record.step,
        "iteration": compact(list(record.iteration)), "status": record.status, "type": record.type, "run": record.run,
        "attempts": record.attempts, f"attempts_{record.run}": record.attempts, "total_attempts": record.total_attempts,
        "started_at": record.started_at, "begun_at": record.begun_at, "finished_at": record.finished_at,
        "lease_until": record.lease_until, "owner": record.owner or None, "usage": compact(dict(record.usage)),
        "ttl": _ttl(now), "native": record.native or None, "settled": record.settled or None,
        "outcome": record.outcome or None, "since": record.since or None, "stopped_at": record.stopped_at,
        "late": record.late or None, "first_at": record.first_at or None,
        **({f"first_{record.run}": record.first_at} if record.first_at else {}),
    }
    if record.status == "completed":
        text = compact(record.output)
        row["output_sha256"] = record.output_sha256 or hashlib.sha256(text.encode()).hexdigest()
        row |= {"output_ref": record.output_ref} if record.output_ref else {"output": text}
    if record.error is not None:
        row |= {"error": record.error.error, "message": record.error.message}
    return {name: _attribute(value) for name, value in row.items() if value is not None}


def left_by(row: Mapping[str, Any], run: int) -> dict[str, Any]:
    """What stays in the place of an item that is set aside for a run. A state of the machine's own may take the place."""
    kept = ("pk", "sk", "tenant", "execution", "workflow", "step", "iteration", "ttl")
    ids = {name: row[name] for name in kept if name in row}
    number = {"N": str(run)}
    return ids | {"status": {"S": keys.ASIDE}, "run": number, "since": number, "native": {"BOOL": True}}


def _attribute(value: str | int) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": value}


def _ttl(now: int) -> int:
    return now // 1_000_000 + _KEEP
