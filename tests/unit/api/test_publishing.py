"""Publishing that is killed, and what becomes of executions whose workflow is archived."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.client import BaseClient

from aslant.adapters import clients
from tests.served.api import FLOW, REGION, Served

TIMED = FLOW + "triggers:\n  - {{type: schedule, config: {{every: 2 hours}}}}\n  - {{type: event, config: {{event: order.new}}}}\n"


class Killed(Exception):
    pass


def test_killed_after_any_write_and_published_again(api: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    original, left, writes = BaseClient._make_api_call, [0], ("Put", "Create", "Transact", "Update", "Delete")

    def call(self: Any, operation: str, parameters: Any) -> Any:
        mine = operation.startswith(writes)
        left[0] -= mine
        answer = original(self, operation, parameters)
        if mine and left[0] == 0:
            raise Killed
        return answer

    monkeypatch.setattr(BaseClient, "_make_api_call", call)
    machines: Any = clients.client("stepfunctions", REGION)
    for number in range(1, 20):
        id = f"killed-{number}"
        assert api.call("POST", "/workflows", TIMED.format(id=id)).status == 201
        left[0] = number
        first = api.call("POST", f"/workflows/{id}/publish").status
        left[0] = 0
        done = api.call("POST", f"/workflows/{id}/publish")
        assert (done.status, done.body["status"], done.body["published"]) == (200, "published", "1.0.0"), (number, done.body)
        made = [one["name"] for one in machines.list_state_machines()["stateMachines"] if one["name"].startswith(f"{id}-1")]
        assert len(made) == 1, "one state machine, whenever it was killed"
        shown = api.call("GET", f"/workflows/{id}/triggers").body
        assert ([one["id"] for one in shown["schedules"]], [one["id"] for one in shown["events"]]) == (["schedule-1"], ["event-1"])
        if first == 200:
            break
    assert 5 <= number < 19, "machine, catalog, schedule, subscription and the audit trail"


def test_an_archived_workflow_leaves_its_executions_as_they_are(api: Served) -> None:
    api.workflow("ending")
    id = api.execution("ending")
    assert api.call("DELETE", "/workflows/ending").body["status"] == "archived"
    assert api.call("POST", "/workflows/ending/execute", {}).status == 404 and api.call("POST", "/workflows/ending/publish").status == 409
    assert api.call("GET", f"/executions/{id}").body["status"] == "running"
    assert api.call("POST", f"/executions/{id}/pause", {}).body["status"] == "paused"
    assert api.call("POST", f"/executions/{id}/resume", {}).body["version"] == "1.0.0", "it goes on, on its own version"
    assert api.call("POST", f"/executions/{id}/cancel", {}).body["status"] == "cancelled"
    assert [one["status"] for one in api.call("GET", "/workflows/ending/versions").body] == ["archived"]
