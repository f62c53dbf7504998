"""Figures over HTTP, and what a monitor reads."""

from __future__ import annotations

import time

import pytest

from tests.integration.api.conftest import Api

FLOW = """\
dialect: canonical
id: counted
inputs: {fails: {type: boolean, default: false}}
steps:
  - {id: one, type: transform, config: {data: 1}}
  - {id: two, type: http, depends_on: [one], when: "input.fails", config: {url: "http://127.0.0.1:1/"}}
"""


def test_figures_of_a_workflow_its_steps_and_the_installation(api: Api) -> None:
    api.call("POST", "/workflows", FLOW, tenant="figures")
    api.call("POST", "/workflows/counted/publish", tenant="figures")
    for fails in (False, False, True):
        api.call("POST", "/workflows/counted/execute", {"input": {"fails": fails}, "async": False}, tenant="figures")
    end = time.monotonic() + 30
    while (found := api.call("GET", "/workflows/counted/metrics", tenant="figures").body)["total"] < 3:
        assert time.monotonic() < end
        time.sleep(0.1)
    assert found["counts"] == {"completed": 2, "failed": 1} and found["success_rate"] == pytest.approx(2 / 3)
    assert found["median_seconds"] > 0 and found["cost_usd"] > 0 and [one["error"] for one in found["errors"]] == ["AuthorizationError"]
    assert len(found["days"]) == 1 and found["days"][0]["total"] == 3
    steps = {one["step"]: one for one in api.call("GET", "/workflows/counted/steps/metrics", tenant="figures").body}
    assert steps["one"]["counts"] == {"completed": 3} and steps["two"]["counts"] == {"failed": 1, "skipped": 2}
    assert steps["two"]["errors"] == [{"error": "AuthorizationError", "count": 1}]
    text = api.call("GET", "/metrics", token="").body
    assert "# TYPE aslant_executions_total counter" in text and "figures" not in text and "counted" not in text
    assert api.call("GET", "/workflows/counted/metrics?from=2026-02-30", tenant="figures").status == 422
    assert api.call("GET", "/workflows/counted/metrics", tenant="other").status == 404


def test_readiness_tells_the_truth(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    assert api.call("GET", "/ready", token="").status == 200
    monkeypatch.setenv("ASLANT_CATALOG_TABLE", "there-is-none")
    down = api.call("GET", "/ready", token="")
    assert down.status == 503 and down.body["checks"]["catalog"].startswith("down") and down.body["checks"]["executions"] == "up"
    assert api.call("GET", "/health", token="").body == {"status": "up", "checks": {}}
