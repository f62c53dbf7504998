"""Every route as every role, of the own tenant and of another one."""

from __future__ import annotations

from typing import Any

import pytest

from functions.api.app import PREFIX, app
from functions.api.permissions import ROUTES
from tests.integration.api.conftest import Api, definition

# What each role is for, written down once more and apart from the product's table.
EVERYTHING = {row for row, rule in ROUTES.items() if rule is not None}  # the others need no token
READS = {(method, path) for method, path in EVERYTHING if method == "GET" and path != "/audit"} | {
    ("POST", "/workflows/{workflow_id}/validate"), ("POST", "/optimize"),
}  # fmt: skip
ANSWERS = {(method, path) for method, path in EVERYTHING if method == "POST" and path.startswith("/approvals/")}
CREATES = {("POST", path) for path in (
    "/workflows", "/workflows/create", "/skills", "/agents/register", "/workflows/agents/register", "/templates",
    "/templates/{template_id}/instantiate", "/compose",
)}  # fmt: skip
ARCHIVES = {("DELETE", "/workflows/{workflow_id}"), ("DELETE", "/templates/{template_id}"), ("DELETE", "/skills/{skill_name}")}
MAY = {
    "admin": EVERYTHING,
    "editor": EVERYTHING - ANSWERS - CREATES - ARCHIVES - {("GET", "/audit")},
    "viewer": READS,
    "approver": READS | ANSWERS,
    "nobody": set(),
}


def test_every_route_has_a_row_and_every_row_a_route() -> None:
    routes = {
        (method, route.openapi_path.removeprefix(PREFIX))
        for route in app()._static_routes + app()._dynamic_routes
        for method in ([route.method] if isinstance(route.method, str) else route.method)
    }
    assert routes == set(ROUTES)


@pytest.fixture(scope="module")
def things(api: Api) -> dict[str, str]:
    """A workflow of ann's that runs and waits, and its parts by the names that paths have for them."""
    api.call("POST", "/workflows", definition("guarded"), tenant="own")
    api.call("POST", "/workflows/guarded/publish", tenant="own")
    id = api.call("POST", "/workflows/guarded/execute", {}, tenant="own").body["id"]
    found: list[dict[str, Any]] = []
    while not found:
        found = api.call("GET", "/approvals", tenant="own").body["items"]
    api.call("POST", f"/executions/{id}/checkpoints", {}, tenant="own")
    skill = {"name": "fetch", "target": "https://example.com/fetch"}
    assert api.call("POST", "/skills", skill, tenant="own").status == 201
    template = {"id": "asked", "definition": definition("<<name>>"), "parameters": {"name": {"type": "string"}}}
    assert api.call("POST", "/templates", template, tenant="own").status == 201
    schedule = {"workflow": "guarded", "every": "7 days"}
    assert api.call("POST", "/schedules", schedule, tenant="own").body["id"] == "guarded:schedule-1"
    return {
        "workflow_id": "guarded", "execution_id": id, "approval_id": found[0]["id"], "number": "1", "version": "1.0.0",
        "trigger_id": "guarded:schedule-1", "skill_name": "fetch", "template_id": "asked",
    }  # fmt: skip


def _body(path: str) -> dict[str, Any]:
    bodies = {
        "/rerun": {"step": "greet"}, "/triggers": {"workflow": "guarded", "type": "event"}, "/schedules": {"workflow": "guarded"},
        "{trigger_id}": {"config": {}}, "/templates": {"id": "a", "definition": "a"}, "/create": {"description": "a"},
        "{template_id}": {"id": "a", "definition": "a"}, "/compose": {"id": "a", "parts": [{"workflow": "a"}]},
    }  # fmt: skip
    return next((body for end, body in bodies.items() if path.endswith(end)), {})


def _path(path: str, things: dict[str, str]) -> str:
    query = "?from=1.0.0&to=1.0.0" if path.endswith("/diff") else ""
    return path.format(**things) + query


@pytest.mark.parametrize("role", ["nobody", "viewer", "approver", "editor"])
def test_what_a_role_may_not_do_is_refused(api: Api, things: dict[str, str], role: str) -> None:
    refused = {
        row for row in EVERYTHING
        if api.call(row[0], _path(row[1], things), _body(row[1]), tenant="own", user="zoe", roles=[role]).status == 403
    }
    assert refused == EVERYTHING - MAY[role]


def test_what_is_ones_own_needs_no_role(api: Api, things: dict[str, str]) -> None:
    own = {row for row in ROUTES if "{workflow_id}" in row[1] or "{execution_id}" in row[1]}
    own -= {("POST", "/workflows/{workflow_id}/execute"), *ARCHIVES}
    for row in sorted(own, key=lambda row: row[0] != "GET"):
        if row[1].endswith(("/cancel", "/rollback")):
            continue  # tried by nobody else: they end what the others look at
        answer = api.call(row[0], _path(row[1], things), _body(row[1]), tenant="own", user="ann", roles=[])
        assert answer.status != 403, row


def test_another_tenant_finds_nothing(api: Api, things: dict[str, str]) -> None:
    """Not even that there is something: an id of another tenant is one that does not exist."""
    named = {row for row in EVERYTHING if "{" in row[1]}
    statuses = {row: api.call(row[0], _path(row[1], things), _body(row[1]), tenant="other", user="ann").status for row in named}
    strange = {row: status for row, status in statuses.items() if status != 404}
    # Lists by a name and definitions as bodies are looked at before the thing that is named.
    assert set(strange.items()) <= {
        (("GET", "/workflows/{workflow_id}/executions"), 200), (("PUT", "/workflows/{workflow_id}"), 422),
        (("POST", "/workflows/{workflow_id}/versions"), 422),
    }
    for path in ("/workflows", "/executions", "/approvals", "/workflows/guarded/executions"):
        assert api.call("GET", path, tenant="other").body["items"] == []
