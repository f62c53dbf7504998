"""Records of executions as items and back.

A field of a record is a column of the same name; what is neither a text, a number nor a boolean is a JSON text, so that
numbers stay exact. Fields that are empty have no column, unless a record cannot be without. Step records are
`aslant.adapters.dynamo_steps`'s.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from typing import Any, TypeVar

from aslant import keys
from aslant.adapters.dynamo import Row
from aslant.executions.records import Checkpoint, Child, Execution, Failure, Parent, Run, Transition
from aslant.values import compact

Record = TypeVar("Record", Execution, Run, Child, Transition, Checkpoint)

_JSON = frozenset({
    "error", "parent", "trigger", "labels", "undone", "not_undone", "usage", "preparing", "options", "entered", "iteration",
    "steps",
})  # fmt: skip


def columns(record: Any) -> Row:
    """The columns of a record."""
    found: Row = {}
    for field in fields(record):
        value = getattr(record, field.name)
        attribute = _attribute(field.name, value)
        if value == "" and field.default is MISSING:
            attribute = {"S": ""}
        if attribute is not None:
            found[field.name] = attribute
    return found


def _attribute(name: str, value: Any) -> dict[str, Any] | None:
    if value is None or value is False or (name != "iteration" and isinstance(value, str | tuple | dict) and not value):
        return None
    if name in _JSON:
        return {"S": compact(asdict(value) if is_dataclass(value) and not isinstance(value, type) else _plain(value))}
    if isinstance(value, bool):
        return {"BOOL": value}
    return {"N": str(value)} if isinstance(value, int) else {"S": str(value)}


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def record(kind: type[Record], row: Mapping[str, Mapping[str, Any]]) -> Record:
    """The record that an item holds; columns that are no fields are left out."""
    values: dict[str, Any] = {}
    for field in fields(kind):
        if field.name not in row:
            if field.default is MISSING and field.default_factory is MISSING:
                values[field.name] = ""  # an empty text has no column, such as the user of one started by hand
            continue
        tag, value = next(iter(row[field.name].items()))
        values[field.name] = json.loads(value) if field.name in _JSON else int(value) if tag == "N" else value
    for name in ("iteration", "undone", "not_undone", "steps"):
        if name in values:
            values[name] = tuple(values[name])
    if isinstance(values.get("error"), dict):
        values["error"] = Failure(**_failure(values["error"]))
    if isinstance(values.get("parent"), dict):
        values["parent"] = Parent(**_failure(values["parent"]))
    return kind(**values)


def _failure(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "iteration": tuple(data.get("iteration") or ())}


def indexed(execution: Execution) -> Row:
    """The attributes that put an execution into the indexes."""
    shard = keys.shard(execution.id)
    return {
        "workflow_pk": {"S": keys.by_workflow(execution.tenant, execution.workflow)},
        "tenant_pk": {"S": keys.by_tenant(execution.tenant, shard)},
        "started_sk": {"S": keys.started(execution.started_at, execution.id)},
        **by_status(execution),
    }


def by_status(execution: Execution) -> Row:
    """Those that change with the status."""
    shard = keys.shard(execution.id)
    return {
        "status_pk": {"S": keys.by_status(execution.tenant, execution.status, shard)},
        "gsi_pk": {"S": keys.having(execution.tenant, execution.workflow, execution.status)},
        "gsi_sk": {"S": keys.started(execution.started_at, execution.id)},
    }


def key_of(key: keys.Key) -> Row:
    return {"pk": {"S": key.pk}, "sk": {"S": key.sk}}


def changes(before: Execution, after: Execution) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any] | None]]:
    """Columns that differ: as they are before (an empty mapping for none), and after (None for none)."""
    old, new = columns(before), columns(after)
    names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return {name: old.get(name, {}) for name in names}, {name: new.get(name) for name in names}
