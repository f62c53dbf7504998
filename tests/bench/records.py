"""What the wrapper and its records cost a step: time of this machine, requests, bytes that DynamoDB charges for."""

from __future__ import annotations

import os
import statistics
import time
from typing import Any
from unittest.mock import patch

from aslant import bootstrap, keys
from aslant.adapters import clients
from aslant.configs.base import Config
from aslant.step import result, step

STEPS = 300


class _Empty(Config):
    pass


@step("bench", _Empty)
def _handler(config: _Empty, run: Any) -> Any:
    return result({"ok": True})


@step("bench", _Empty, records=False)
def _bare(config: _Empty, run: Any) -> Any:
    return result({"ok": True})


def main() -> None:
    """The wrapper alone, with a store in memory, and with moto's DynamoDB (which is no measure of AWS's)."""
    from moto import mock_aws

    from tests.unit.runtime.fakes import MemorySteps

    _report("without records", _timed(_bare))
    memory = MemorySteps()
    with patch.object(bootstrap, "steps", lambda settings: memory):
        _report("records in memory", _timed(_handler))
    environment = {"AWS_ACCESS_KEY_ID": "bench", "AWS_SECRET_ACCESS_KEY": "bench", "AWS_DEFAULT_REGION": "us-east-1"}
    with patch.dict(os.environ, environment), mock_aws():
        clients.forget()
        client = clients.client("dynamodb", "us-east-1")
        client.create_table(**keys.executions_table("aslant-executions"))
        requests: list[str] = []
        client.meta.events.register("before-call.dynamodb", lambda model, **_: requests.append(model.name))
        _report("records in moto", _timed(_handler))
        asked = len(requests)
        item = client.scan(TableName="aslant-executions", Limit=1)["Items"][0]
        size = sum(len(name) + len(str(next(iter(value.values())))) for name, value in item.items())
        print(f"  DynamoDB requests a step: {asked / STEPS:g}; a record without its output: about {size} bytes")
        clients.forget()


def types() -> None:
    """Each type of step: CPU time of the wrapper and the handler together, where whom it asks answers at once from memory."""
    import importlib

    import pytest

    from aslant import skills
    from aslant.settings import Settings
    from infra.local.cloud import LocalCloud
    from infra.local.provision import create_store
    from tests.faults.steps.outside import CASES, put_in_place
    from tests.unit.runtime.fakes import MemorySteps

    with pytest.MonkeyPatch.context() as patch, LocalCloud() as cloud:
        put_in_place(patch)
        create_store(cloud, Settings.read())
        of_cloud, memory = bootstrap.steps, MemorySteps()
        for kind, config in CASES.items():
            handler = importlib.import_module(f"functions.steps.{kind}.handler").handler
            taken = []
            for store, calls in ((lambda settings: memory, 40), (of_cloud, 8)):
                patch.setattr(bootstrap, "steps", store)
                taken.append(_cpu_times(handler, kind, config, calls))
            print(f"  {kind:10} {taken[0]:6.2f} ms with records in memory   {taken[1]:6.2f} ms with those of the local cloud")
        skills.unregister("away")


def _cpu_times(handler: Any, kind: str, config: dict[str, Any], calls: int) -> float:
    """The median, in ms."""
    taken = []
    for number in range(calls):
        event = {"step": f"{kind}{number}", "type": kind, "execution": {"id": "bench", "tenant": "t", "workflow": "w"}, "config": config}
        started = time.process_time()
        handler(event, None)
        taken.append(1000 * (time.process_time() - started))
    return statistics.median(taken)


def _timed(handler: Any) -> list[float]:
    taken = []
    for number in range(STEPS):
        event = {"step": f"s{number}", "execution": {"id": "bench", "tenant": "t", "workflow": "w"}, "config": {}}
        started = time.perf_counter()
        handler(event, None)
        taken.append(1000 * (time.perf_counter() - started))
    return taken


def _report(what: str, times: list[float]) -> None:
    cuts = statistics.quantiles(times, n=20)
    print(f"  {what:20} p50 {statistics.median(times):6.2f} ms   p95 {cuts[18]:6.2f} ms")


if __name__ == "__main__":
    main()
