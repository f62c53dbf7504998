"""What holds for every request: its parameters, its organization, ETags, compression and limits."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from aslant import clock, serving
from aslant.analytics import Tally
from aslant.settings import Settings
from functions.api.app import MAX_BODY
from tests.served.api import FLOW, Served


@pytest.mark.parametrize(("path", "says"), [
    ("/workflows?limt=3", "did you mean limit"), ("/executions?workfow=a", "did you mean workflow"),
    ("/approvals?page=2", "it has limit, mine, next"), ("/workflows/any?verson=1", "did you mean version"),
    ("/skills?x=1", "it has none"),
])
def test_an_unknown_parameter_is_not_ignored(api: Served, path: str, says: str) -> None:
    answer = api.call("GET", path)
    assert (answer.status, answer.body["code"]) == (400, "bad_parameter") and says in answer.body["detail"]
    assert api.call("GET", path, token="").status == 401, "who may not call learns nothing"


def test_a_misspelled_parameter_that_is_needed(api: Served) -> None:
    api.workflow("compared", published=False)
    answer = api.call("GET", "/workflows/compared/diff?from=1.0.0&too=1.0.0")
    assert answer.status == 400 and "did you mean to" in answer.body["detail"]


def test_the_organization_is_the_tokens(api: Served) -> None:
    api.workflow("owned")
    assert api.call("GET", "/workflows?organization_id=acme").status == 200
    assert api.call("POST", "/workflows/owned/execute", {"organization_id": "acme"}).status == 202
    for method, path, body, headers in (
        ("GET", "/workflows?organization_id=other", None, {}), ("POST", "/workflows/owned/execute", {"organization_id": "other"}, {}),
        ("GET", "/workflows", None, {"X-Tenant-ID": "other"}), ("POST", "/skills", {"organization_id": "other", "name": "a"}, {}),
    ):
        assert api.call(method, path, body, headers=headers).status == 403, path


def test_a_start_with_its_options_apart(api: Served) -> None:
    api.workflow("optional")
    body = {"input": {"who": "a"}, "options": {"async": True, "timeout_seconds": 300, "priority": "low"}, "priority": "high"}
    started = api.call("POST", "/workflows/optional/execute", body).body
    assert (started["timeout_seconds"], started["priority"]) == (300, "high"), "what stands beside counts more"
    answer = api.call("POST", "/workflows/optional/execute", {"options": {"tiemout_seconds": 1}, "inptu": {}})
    assert answer.status == 422 and {one["pointer"]: one["detail"] for one in answer.body["errors"]} == {
        "/body/options/tiemout_seconds": "unknown key tiemout_seconds; did you mean timeout_seconds?",
        "/body/inptu": "unknown key inptu; did you mean input?",
    }


def test_a_control_with_an_old_etag_changes_nothing(api: Served) -> None:
    api.workflow("tagged")
    id = api.execution("tagged")
    first = api.call("GET", f"/executions/{id}")
    paused = api.call("POST", f"/workflows/executions/{id}/pause", {}, headers={"If-Match": first.headers["ETag"]})
    assert paused.body["status"] == "paused"
    late = api.call("POST", f"/executions/{id}/cancel", {}, headers={"If-Match": first.headers["ETag"]})
    assert (late.status, late.body["code"]) == (412, "precondition_failed")
    assert api.call("GET", f"/workflows/executions/{id}").body["status"] == "paused"
    assert api.call("POST", f"/executions/{id}/cancel", {}, headers={"If-Match": "*"}).body["status"] == "cancelled"
    assert api.call("POST", f"/executions/{id}/cancel", {}, headers={"If-Match": "mine"}).status == 422


def test_an_answer_to_a_request_that_has_changed(api: Served) -> None:
    api.workflow("asking")
    asked = api.approval(api.execution("asking"), requester="bob")
    seen = api.call("GET", f"/approvals/{asked}").headers["ETag"]
    assert api.call("POST", f"/approvals/{asked}/reject", {}, headers={"If-Match": seen}).status == 200
    late = api.call("POST", f"/approvals/{asked}/approve", {}, user="cleo", headers={"If-Match": seen})
    assert late.status == 412


def test_publishing_with_an_old_etag(api: Served) -> None:
    api.workflow("published", published=False)
    seen = api.call("GET", "/workflows/published").headers["ETag"]
    api.call("PATCH", "/workflows/published", {"description": "by somebody else"})
    for path in ("publish", "rollback", "deprecate"):
        assert api.call("POST", f"/workflows/published/{path}", headers={"If-Match": seen}).status == 412, path
    assert api.call("DELETE", "/workflows/published", headers={"If-Match": seen}).status == 412


def test_pages_by_number_and_by_offset(api: Served) -> None:
    api.workflow("many", tenant="pages")
    made = [api.execution("many", tenant="pages") for _ in range(5)]
    for listing in ("/executions", "/workflows/many/executions"):
        def ids(query: str, listing: str = listing) -> list[str]:
            return [one["id"] for one in api.call("GET", f"{listing}?{query}", tenant="pages").body["items"]]

        everything = ids("limit=100")
        assert set(everything) == set(made)
        assert [ids(f"page={page}&per_page=2") for page in (1, 2, 3, 4)] == [everything[:2], everything[2:4], everything[4:], []]
        assert ids("offset=2&limit=2") == everything[2:4]
    assert api.call("GET", "/executions?page=1&next=a", tenant="pages").status == 400


def test_the_first_page_tells_how_the_last_days_were(api: Served) -> None:
    api.workflow("counted")
    day = f"{datetime.fromtimestamp(clock.now(), UTC):%Y-%m-%d}"
    tally = Tally(day, {"completed": 1, "duration": 2000, "d:20": 1, "cost": 5_000_000}, {})
    serving.stats(Settings.read()).add("acme", "counted", tally, event="event-1", shard=0)
    page = api.call("GET", "/workflows/counted/executions?limit=5").body
    assert (page["figures"]["total"], page["figures"]["success_rate"], page["figures"]["cost_usd"]) == (1, 1.0, 5.0)


def test_logs_are_lines_of_what_is_recorded(api: Served) -> None:
    api.workflow("logged")
    id = api.execution("logged")
    rows: list[tuple[str, dict[str, Any]]] = [
        ("workflow_started", {}), ("node_started", {"step": "greet", "attempt": 1}),
        ("node_retrying", {"step": "greet", "iteration": [2], "attempt": 2}),
        ("node_failed", {"step": "greet", "duration_ms": 1500, "error": {"error": "HttpError", "message": "503"}}),
    ]
    for number, (name, payload) in enumerate(rows):
        serving.event_log(Settings.read()).put({
            "event_id": f"e{number}", "event_type": name, "tenant_id": "acme", "execution_id": id, "sequence": f"{number:021d}",
            "timestamp": "2026-11-28T10:00:00.000Z", "payload": payload,
        }, 2_000_000_000)  # fmt: skip
    page = api.call("GET", f"/executions/{id}/logs").body
    assert [(one["level"], one["message"]) for one in page["items"]] == [
        ("INFO", "workflow started"), ("INFO", "node started greet"), ("WARNING", "node retrying greet[2] (attempt 2)"),
        ("ERROR", "node failed greet after 1.5 s: HttpError: 503"),
    ]
    first = api.call("GET", f"/executions/{id}/logs?limit=1&level=WARNING").body
    rest = api.call("GET", f"/executions/{id}/logs?level=WARNING&after={first['next']}").body
    assert [one["level"] for one in first["items"] + rest["items"]] == ["WARNING", "ERROR"] and not rest["over"]


def test_answers_are_compressed_for_who_takes_it(api: Served) -> None:
    api.workflow("packed", published=False)
    plain = api.call("GET", "/workflows/packed")
    packed = api.call("GET", "/workflows/packed", headers={"Accept-Encoding": "br, gzip"})
    assert packed.headers["Content-Encoding"] == "gzip" and "Content-Encoding" not in plain.headers
    assert packed.body == plain.body and packed.headers["ETag"] == plain.headers["ETag"]
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
    assert api.call("GET", "/workflows/none", headers={"Accept-Encoding": "gzip"}).body["code"] == "not_found_error"
    seen = {"Accept-Encoding": "gzip", "If-None-Match": plain.headers["ETag"]}
    assert api.call("GET", "/workflows/packed", headers=seen).status == 304


def test_bodies_have_limits(api: Served) -> None:
    long = {"input": {"who": "x" * (MAX_BODY + 1)}}
    assert api.call("POST", "/workflows/none/execute", long).status == 413
    api.workflow("narrow")
    assert api.call("POST", "/workflows/narrow/execute", {"input": {"who": "x" * 300_000}}).status == 413
    assert api.call("POST", "/workflows", FLOW.format(id="big") + "#" * 1_000_001).status == 413
    assert api.call("POST", "/executions/none/cancel", {"reason": "x" * 1001}).status == 422
