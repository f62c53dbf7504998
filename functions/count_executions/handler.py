"""The Lambda function that the bus tells of ended executions: it adds them to the figures of their workflow."""

from __future__ import annotations

from typing import Any

from aslant import analytics, bootstrap, keys, observability, serving
from aslant.settings import Settings


def handler(event: Any, context: Any) -> dict[str, bool]:
    """`event` is an event of our own. Gives whether it was counted now; the same event counts once."""
    observability.listen()
    settings, detail = Settings.read(), event["detail"]
    tenant, id = str(detail["tenant_id"]), str(detail["execution_id"])
    store = bootstrap.execution_store(settings)
    execution = store.read(tenant, id)
    if execution is None:
        return {"counted": False}
    run = int(detail["payload"].get("run") or execution.run)
    found = analytics.tally(execution, store.steps(tenant, id), str(detail["payload"]["status"]), run)
    shard = keys.stats_shard(id)
    return {"counted": serving.stats(settings).add(tenant, execution.workflow, found, event=detail["event_id"], shard=shard)}
