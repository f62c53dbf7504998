"""Every route as every role, of the own tenant and of another one."""

from __future__ import annotations

import pytest

from functions.api.app import PREFIX, app
from functions.api.permissions import ROUTES
from tests.served.api import Served
from tests.served.things import made_by_ann, request

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
def things(api: Served) -> dict[str, str]:
    return made_by_ann(api)


@pytest.mark.parametrize("role", ["nobody", "viewer", "approver", "editor"])
def test_what_a_role_may_not_do_is_refused(api: Served, things: dict[str, str], role: str) -> None:
    refused = {
        row for row in EVERYTHING
        if api.call(*request(row, things), user="zoe", roles=[role]).status == 403
    }
    assert refused == EVERYTHING - MAY[role]


def test_what_is_ones_own_needs_no_role(api: Served, things: dict[str, str]) -> None:
    own = {row for row in ROUTES if "{workflow_id}" in row[1] or "{execution_id}" in row[1]}
    own -= {("POST", "/workflows/{workflow_id}/execute"), *ARCHIVES}
    for row in sorted(own, key=lambda row: row[0] != "GET"):
        if row[1].endswith(("/cancel", "/rollback")):
            continue  # tried by nobody else: they end what the others look at
        answer = api.call(*request(row, things), roles=[])
        assert answer.status != 403, row
