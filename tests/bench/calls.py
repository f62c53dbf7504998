"""What calls of the API ask of DynamoDB, and how long its function works, by how many executions are stored.

The function is called in this process, on the local cloud. moto looks at every item of a table, so its time says nothing; requests
and the items that they read are counted at botocore's clients, and their time is taken off that of the handler.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from moto.dynamodb.models import dynamodb_backends

from aslant import bootstrap, keys
from aslant.adapters.execution_items import columns, indexed, key_of
from aslant.executions.records import Execution
from aslant.settings import Settings
from infra.local.cloud import LocalCloud
from infra.local.functions import ACCOUNT
from tests.served.api import FLOW, REGION, Served, served

SIZES = (100, 1_000, 10_000, 100_000)
CALLS = 40  # of each kind, for its times
_DAY = 86_400_000


@dataclass
class Store:
    """What the calls of one thread asked of AWS: seconds of CPU, DynamoDB's requests, and the items that these read."""

    seconds: float = 0.0
    requests: int = 0
    items: int = 0


class Watched(threading.local):
    def __init__(self) -> None:
        self.now = Store()


WATCHED = Watched()


@contextmanager
def watching() -> Iterator[None]:
    """Inside, every call of a botocore client is counted for its thread."""
    from botocore.client import BaseClient

    original = BaseClient._make_api_call

    def counted(self: Any, operation: str, parameters: Any) -> Any:
        store, began = WATCHED.now, time.thread_time()
        try:
            answer = original(self, operation, parameters)
        finally:
            store.seconds += time.thread_time() - began
            if self.meta.service_model.service_name == "dynamodb":
                store.requests += 1
        if self.meta.service_model.service_name == "dynamodb":
            store.items += _items(operation, parameters, answer)
        return answer

    BaseClient._make_api_call = counted
    try:
        yield
    finally:
        BaseClient._make_api_call = original


def _items(operation: str, parameters: Any, answer: Any) -> int:
    """The items that a request reads or writes; of a query those that it looks at, up to its limit."""
    if operation == "Query":
        return min(int(answer["ScannedCount"]), int(parameters.get("Limit") or answer["ScannedCount"]))
    if operation == "TransactWriteItems":
        return len(parameters["TransactItems"])
    return 1


@dataclass
class Row:
    """Calls of one kind: milliseconds of CPU of the handler without AWS's clients, requests and items of each."""

    own: list[float] = field(default_factory=list)
    requests: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)

    def measure(self, call: Callable[[], Any]) -> Any:
        WATCHED.now = store = Store()
        began = time.thread_time()
        answer = call()
        self.own.append(max(0.0, time.thread_time() - began - store.seconds) * 1000)
        self.requests.append(store.requests)
        self.items.append(store.items)
        return answer


def seed(api: Served, count: int, already: int) -> None:
    """Stored executions of the workflow `flow`, copies of one that really started; one in ten has failed."""
    settings = Settings.read()
    table = dynamodb_backends[ACCOUNT][REGION].get_table(settings.executions_table)
    model = api.execution("flow") if already == 0 else api.call("GET", "/executions?limit=1").body["items"][0]["id"]
    one: Execution = bootstrap.executions(settings).get("acme", model)
    for number in range(already, count):
        id = f"stored-{number:07d}"
        made = replace(
            one, id=id, status="failed" if number % 10 == 0 else "completed", started_at=one.started_at - _DAY + number,
            finished_at=one.started_at, arn=f"{one.arn}-{number}",
        )
        table.put_item(item_of(made))


def item_of(execution: Execution) -> dict[str, Any]:
    return key_of(keys.execution(execution.tenant, execution.id)) | columns(execution) | indexed(execution)


def measure(sizes: tuple[int, ...] = SIZES, times: int = CALLS) -> dict[int, dict[str, Row]]:
    """Rows by kind of call, for each number of stored executions. `times` calls of each with the least of them, then one."""
    found: dict[int, dict[str, Row]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        api = stack.enter_context(served(folder, patch, LocalCloud()))
        patch.setenv("ASLANT_START_RATE", "0")
        api.workflow("flow")
        token, already = api.token(seconds=36_000), 0
        stack.enter_context(watching())
        for size in sizes:
            seed(api, size, already)
            already = size
            rows = found[size] = {}
            for number in range(times if size == sizes[0] else 1):
                _round(api, token, f"{size}-{number}", rows)
    return found


def _round(api: Served, token: str, name: str, rows: dict[str, Row]) -> None:
    def call(kind: str, method: str, path: str, body: Any = None, **more: Any) -> Any:
        answer = rows.setdefault(kind, Row()).measure(lambda: api.call(method, path, body, **{"token": token, **more}))
        assert answer.status < 300, (kind, answer.body)
        return answer.body

    call("create", "POST", "/workflows", FLOW.format(id=f"made-{name}"))
    id = call("start", "POST", "/workflows/flow/execute", {})["id"]
    call("status", "GET", f"/executions/{id}")
    call("list", "GET", "/executions")
    call("list of a workflow", "GET", "/workflows/flow/executions")
    call("list by status", "GET", "/executions?status=failed")
    call("the same of a workflow", "GET", "/workflows/flow/executions?status=failed")
    asked = api.approval(id, requester="somebody")
    call("approve", "POST", f"/approvals/{asked}/approve", {})


def report(found: dict[int, dict[str, Row]]) -> None:
    sizes = list(found)
    print("The API's function, called directly: DynamoDB requests and items of one call, by executions stored")
    print(f"{'':22}" + "".join(f"{size:>16,}" for size in sizes) + "   p50      p95   ms of CPU without AWS's clients")
    for kind in found[sizes[0]]:
        cells = [f"{max(found[size][kind].requests)} / {max(found[size][kind].items)}" for size in sizes]
        own = sorted(found[sizes[0]][kind].own[1:])
        p95 = own[int(len(own) * 0.95)]
        print(f"{kind:22}" + "".join(f"{cell:>16}" for cell in cells) + f"{statistics.median(own):8.1f} {p95:8.1f}")


if __name__ == "__main__":
    report(measure())
