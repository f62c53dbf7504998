"""What handlers ask of AWS while tests run: with `ASLANT_RECORD_CALLS=1` a run adds it to `tests/infra/calls.json`.

    ASLANT_RECORD_CALLS=1 .venv/bin/python -m pytest tests/integration tests/execution

`tests/infra/test_rights.py` compares that file with the roles of the templates. A call is `service:Operation`, with the kind of
the table where it goes to one. Recorded are functions of a local cloud, in the threads that they are called in.
"""

from __future__ import annotations

import fcntl
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

FILE = Path(__file__).parent / "infra" / "calls.json"
RECORD = "ASLANT_RECORD_CALLS"
_TABLES = ("executions", "catalog", "events", "connections")

Call = tuple[str, str]  # a function's name, what it calls


def known() -> set[Call]:
    if not FILE.exists():
        return set()
    return {(function, call) for function, calls in json.loads(FILE.read_text("ascii")).items() for call in calls}


def write(calls: set[Call]) -> None:
    """Adds calls to the file."""
    with open(FILE.with_suffix(".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        every = known() | calls
        names = sorted({function for function, _ in every})
        found = {name: sorted(call for function, call in every if function == name) for name in names}
        FILE.write_text(json.dumps(found, indent=1) + "\n", "ascii")


def calls_of(service: str, operation: str, given: dict[str, Any]) -> Iterator[str]:
    """A request as the actions that IAM looks at; a transaction is looked at item by item."""
    if service != "dynamodb":
        yield f"{service}:{operation}"
    elif operation in ("TransactWriteItems", "TransactGetItems"):
        for item in given["TransactItems"]:
            ((kind, inner),) = item.items()
            name = {"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "Get": "GetItem"}.get(kind, "ConditionCheckItem")
            yield f"dynamodb:{name} {_table(inner)}"
    elif operation in ("BatchGetItem", "BatchWriteItem"):
        for table in given["RequestItems"]:
            yield f"dynamodb:{operation} {_table({'TableName': table})}"
    elif operation in ("ExecuteStatement", "BatchExecuteStatement", "ExecuteTransaction"):
        texts = [given["Statement"]] if "Statement" in given else [one["Statement"] for one in given.get("Statements") or given["TransactStatements"]]
        for text in texts:
            yield f"dynamodb:PartiQL{text.split()[0].title()}"
    else:
        yield f"dynamodb:{operation} {_table(given)}"


def _table(given: dict[str, Any]) -> str:
    name = str(given.get("TableName", ""))
    kind = next((kind for kind in _TABLES if kind in name.lower()), "other")
    return f"{kind}/index" if "IndexName" in given else kind


@contextmanager
def recorded(found: set[Call]) -> Iterator[None]:
    """Inside, `found` takes the calls of all functions that a local cloud invokes."""
    from infra.local.functions import Functions

    inside = threading.local()
    patched: list[Callable[[], None]] = []
    original: Any = Functions.invoke

    def invoke(self: Functions, name_or_arn: str, payload: bytes | str, *, time_left: float | None = None) -> Any:
        if not patched:
            patched.append(_hook(inside, found))
        before = getattr(inside, "name", "")
        inside.name = self.find(name_or_arn).name if name_or_arn else ""
        try:
            return original(self, name_or_arn, payload, time_left=time_left)
        finally:
            inside.name = before

    vars_of: Any = Functions
    vars_of.invoke = invoke
    try:
        yield
    finally:
        vars_of.invoke = original
        for undo in patched:
            undo()


def _hook(inside: threading.local, found: set[Call]) -> Callable[[], None]:
    from botocore.client import BaseClient

    base: Any = BaseClient
    original = base._make_api_call

    def call(self: Any, operation: str, given: dict[str, Any]) -> Any:
        name = getattr(inside, "name", "")
        if not name:
            return original(self, operation, given)
        found.update((name, each) for each in calls_of(self.meta.service_model.service_name, operation, given))
        inside.name = ""  # what the local cloud does for the call is not the function's
        try:
            return original(self, operation, given)
        finally:
            inside.name = name

    base._make_api_call = call

    def undo() -> None:
        base._make_api_call = original

    return undo
