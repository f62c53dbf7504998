"""What a start may ask for besides, what it is refused for, and requests that come again."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from aslant import webhooks
from aslant.completions import SECRET
from aslant.releases import WebhookFacts
from tests.integration.api.conftest import Api, definition

FLOW = """\
dialect: canonical
id: {id}
inputs: {{a: {{type: integer, required: true}}, b: {{type: string, enum: [x, y]}}}}
settings: {{concurrency: 1}}
steps:
  - {{id: one, type: transform, config: {{data: "{{{{ input.a }}}}"}}}}
  - {{id: rest, type: wait, seconds: {seconds}, depends_on: [one]}}
outputs: {{a: "{{{{ steps.one.output }}}}"}}
"""


def until(look: Callable[[], Any]) -> Any:
    end = time.monotonic() + 40
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def flows(api: Api) -> None:
    for id, seconds in (("quick", 0), ("slow", 600)):
        assert api.call("POST", "/workflows", FLOW.format(id=id, seconds=seconds), tenant="starts").status == 201
        assert api.call("POST", f"/workflows/{id}/publish", tenant="starts").status == 200


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[tuple[dict[str, str], bytes]], list[int]]]:
    """Its address, the calls that came, and the statuses that it answers first."""
    calls: list[tuple[dict[str, str], bytes]] = []
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            calls.append(({name.lower(): value for name, value in self.headers.items()}, body))
            self.send_response(answers.pop(0) if answers else 204)
            self.end_headers()

        def log_message(self, *args: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/done", calls, answers
    server.shutdown()
    server.server_close()
    thread.join(5)


def start(api: Api, workflow: str, body: Any, **more: Any) -> Any:
    return api.call("POST", f"/workflows/{workflow}/execute", body, tenant="starts", **more)


def test_all_that_is_wrong_with_an_input(api: Api, flows: None) -> None:
    refused = start(api, "quick", {"input": {"a": "1", "b": "z", "c": 1}})
    assert refused.status == 422 and {one["pointer"] for one in refused.body["errors"]} == {"/input/a", "/input/b", "/input/c"}


def test_a_workflow_without_a_place_is_asked_again_later(api: Api, flows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    first = start(api, "slow", {"input": {"a": 1}, "priority": "high", "timeout_seconds": 500}, headers={"Idempotency-Key": "place"})
    assert first.status == 202 and (first.body["priority"], first.body["timeout_seconds"]) == ("high", 500)
    full = start(api, "slow", {"input": {"a": 2}})
    assert full.status == 429 and int(full.headers["Retry-After"]) >= 1 and full.body["code"] == "rate_limited"
    again = start(api, "slow", {"input": {"a": 1}, "priority": "high", "timeout_seconds": 500}, headers={"Idempotency-Key": "place"})
    assert again.body["id"] == first.body["id"]
    assert api.call("POST", f"/executions/{first.body['id']}/cancel", {}, tenant="starts").status == 200
    until(lambda: start(api, "slow", {"input": {"a": 3}}).status == 202)
    monkeypatch.setenv("ASLANT_START_RATE", "1")
    statuses = [start(api, "quick", {"input": {"a": 1}}, user="often").status for _ in range(2)]
    assert statuses == [202, 429]


def test_its_own_time_limit(api: Api, flows: None) -> None:
    api.call("POST", "/workflows", FLOW.format(id="limited", seconds=600), tenant="starts")
    api.call("POST", "/workflows/limited/publish", tenant="starts")
    id = start(api, "limited", {"input": {"a": 1}, "timeout_seconds": 1}).body["id"]
    found = until(lambda: (one := api.call("GET", f"/executions/{id}", tenant="starts").body)["status"] != "running" and one)
    assert (found["status"], found["error"]["error"]) == ("timed_out", "States.Timeout")


def test_the_end_is_told_to_an_address(
    api: Api, flows: None, receiver: tuple[str, list[Any], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, calls, answers = receiver
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    assert start(api, "quick", {"input": {"a": 5}, "webhook_url": url}).status == 422, "there is nothing to sign with"
    name = f"{api.running.settings.secret_prefix}starts/{SECRET}"
    api.running.cloud.client("secretsmanager").create_secret(Name=name, SecretString="shared")
    answers += [500]
    started = start(api, "quick", {"input": {"a": 5}, "webhook_url": url})
    assert started.body["webhook"] is True and url not in json.dumps(started.body)
    until(lambda: len(calls) >= 2)
    (first, _), (headers, body) = calls[:2]
    facts: WebhookFacts = {"id": "w", "secret": "s", "header": "X-Signature-256", "timestamp": True, "window": 300, "input": {}, "fields": {}}
    webhooks.check(facts, "shared", headers, body, time.time())
    told = json.loads(body)
    assert (told["event"], told["output"], told["execution"]["id"]) == ("workflow_completed", {"a": 5}, started.body["id"])
    assert headers["idempotency-key"] == first["idempotency-key"] == told["event_id"]


def test_a_post_that_comes_again_is_answered_as_before(api: Api) -> None:
    key = {"Idempotency-Key": "create-1"}
    first = api.call("POST", "/workflows", definition("twice"), tenant="repeats", headers=key)
    assert first.status == 201 and "Idempotent-Replayed" not in first.headers
    api.call("DELETE", "/workflows/twice", tenant="repeats")
    again = api.call("POST", "/workflows", definition("twice"), tenant="repeats", headers=key)
    assert (again.status, again.body, again.headers["ETag"]) == (201, first.body, first.headers["ETag"])
    assert again.headers["Idempotent-Replayed"] == "true"
    other = api.call("POST", "/workflows", definition("thrice"), tenant="repeats", headers=key)
    assert other.status == 409 and api.call("GET", "/workflows/thrice", tenant="repeats").status == 404
    assert api.call("POST", "/workflows", definition("thrice"), tenant="repeats", user="ben", headers=key).status == 201
    assert api.call("POST", "/workflows", definition("twice"), tenant="elsewhere", headers=key).status == 201


def test_a_post_that_failed_may_be_made_again(api: Api) -> None:
    key = {"Idempotency-Key": "publish-1"}
    assert api.call("POST", "/workflows/later/publish", tenant="repeats", headers=key).status == 404
    api.call("POST", "/workflows", definition("later"), tenant="repeats")
    assert api.call("POST", "/workflows/later/publish", tenant="repeats", headers=key).status == 200
    assert api.call("POST", "/workflows/later/publish", tenant="repeats", headers={"Idempotency-Key": "x" * 201}).status == 422
