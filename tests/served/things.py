"""One of each thing that routes are about, and a request for each route."""

from __future__ import annotations

from typing import Any

from tests.served.api import FLOW, Served


def made_by_ann(api: Served) -> dict[str, str]:
    """What ann of acme has, by the names that paths have for it."""
    api.workflow("flow")
    id = api.execution("flow")
    assert api.call("POST", f"/executions/{id}/checkpoints", {}).status == 200
    api.call("POST", "/schedules", {"workflow": "flow", "every": "7 days"})
    api.call("POST", "/skills", {"name": "fetch", "target": "https://example.com/fetch"})
    api.call("POST", "/templates", {"id": "kept", "definition": FLOW.format(id="kept")})
    return {
        "workflow_id": "flow", "execution_id": id, "approval_id": api.approval(id), "number": "1", "version": "1.0.0",
        "trigger_id": "flow:schedule-1", "skill_name": "fetch", "template_id": "kept",
    }  # fmt: skip


BODIES = {
    "/rerun": {"step": "greet"}, "/triggers": {"workflow": "flow", "type": "event"}, "/schedules": {"workflow": "flow"},
    "{trigger_id}": {"config": {}}, "/templates": {"id": "a", "definition": "a"}, "/create": {"description": "a"},
    "{template_id}": {"id": "kept", "definition": "a"}, "/compose": {"id": "a", "parts": [{"workflow": "a"}]},
    "PUT /workflows/{workflow_id}": FLOW.format(id="flow"), "/workflows/{workflow_id}/versions": FLOW.format(id="flow"),
}  # fmt: skip


def request(row: tuple[str, str], things: dict[str, str]) -> tuple[str, str, Any]:
    method, path = row
    body = next((body for end, body in BODIES.items() if f"{method} {path}".endswith(end)), {})
    query = "?from=1.0.0&to=1.0.0" if path.endswith("/diff") else ""
    return method, path.format(**things) + query, None if method in ("GET", "DELETE") else body
