"""Signed calls from outside start a workflow, once each."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

import pytest

from tests.integration.api.conftest import Api, definition

SECRET = "s3cret-of-the-shop"
FLOW = """\
dialect: canonical
id: orders
triggers:
  - {type: webhook, config: {secret: shop, input: {shop: main}, fields: {order: order.id, first: "items.0.sku"}}}
  - {type: webhook, config: {secret: shop, timestamp: false, header: X-Hub-Signature-256}}
  - {type: schedule, config: {schedule: "daily at 9am", timezone: Europe/Berlin}}
steps: [{id: one, type: transform, config: {data: "{{ input }}"}}]
outputs: {given: "{{ steps.one.output }}"}
"""


@pytest.fixture(scope="module")
def hooks(api: Api) -> dict[str, str]:
    """Addresses by the ids of the triggers."""
    name = f"{api.running.settings.secret_prefix}acme/shop"
    api.running.cloud.client("secretsmanager").create_secret(Name=name, SecretString=SECRET)
    api.call("POST", "/workflows", FLOW)
    api.call("POST", "/workflows/orders/publish")
    found = api.call("GET", "/workflows/orders/triggers").body
    assert [one["expression"] for one in found["schedules"]] == ["cron(0 9 * * ? *)"] and len(found["schedules"][0]["next"]) == 5
    assert SECRET not in json.dumps(found)
    return {one["id"]: one["url"] for one in found["webhooks"]}


def call(api: Api, url: str, body: bytes, *, at: int | None = None, secret: str = SECRET, **headers: str) -> tuple[int, Any]:
    moment = str(int(time.time()) if at is None else at)
    mark = hmac.new(secret.encode(), moment.encode() + b"." + body, hashlib.sha256).hexdigest()
    answer = api.http.request("POST", url, body=body, headers={
        "Content-Type": "application/json", "X-Timestamp": moment, "X-Signature-256": f"sha256={mark}", **headers,
    })  # fmt: skip
    return answer.status, json.loads(answer.data)


def output(api: Api, execution: str) -> Any:
    end = time.monotonic() + 30
    while (found := api.call("GET", f"/executions/{execution}").body)["status"] == "running":
        assert time.monotonic() < end
        time.sleep(0.05)
    return found["output"]


def test_a_signed_call_starts_one_execution_however_often_it_is_delivered(api: Api, hooks: dict[str, str]) -> None:
    body, now = b'{"order": {"id": 7}, "items": [{"sku": "A"}], "more": 1}', int(time.time())
    status, first = call(api, hooks["webhook-1"], body, at=now)
    again = call(api, hooks["webhook-1"], body, at=now)
    later = call(api, hooks["webhook-1"], body, at=now - 1)
    assert (status, again) == (202, (202, first)) and later[1] != first
    assert output(api, first["execution"]) == {"given": {"shop": "main", "order": 7, "first": "A"}}
    named = [call(api, hooks["webhook-1"], body, at=now - number, **{"X-Delivery-Id": "d-1"}) for number in (2, 3)]
    assert named[0] == named[1], "its caller says that it is the same"


def test_two_workflows_take_the_same_delivery(api: Api, hooks: dict[str, str]) -> None:
    api.call("POST", "/workflows", FLOW.replace("id: orders", "id: twin"))
    api.call("POST", "/workflows/twin/publish")
    twin = {one["id"]: one["url"] for one in api.call("GET", "/workflows/twin/triggers").body["webhooks"]}
    answers = [call(api, url, b"{}", **{"X-Delivery-Id": "both"}) for url in (hooks["webhook-1"], twin["webhook-1"])]
    assert [status for status, _ in answers] == [202, 202] and answers[0] != answers[1]


def test_the_whole_body_is_the_input_and_a_signature_may_be_that_of_the_body_alone(api: Api, hooks: dict[str, str]) -> None:
    body = '{"a": "ü"}'.encode()
    mark = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    answer = api.http.request("POST", hooks["webhook-2"], body=body, headers={"X-Hub-Signature-256": f"sha256={mark}"})
    assert answer.status == 202
    assert output(api, json.loads(answer.data)["execution"]) == {"given": {"a": "ü"}}


def test_calls_that_are_not_signed_right_are_refused(api: Api, hooks: dict[str, str]) -> None:
    url, body, now = hooks["webhook-1"], b"{}", int(time.time())
    good = hmac.new(SECRET.encode(), f"{now}.".encode() + body, hashlib.sha256).hexdigest()
    refused = {
        "another secret": call(api, url, body, secret="other"), "long ago": call(api, url, body, at=now - 301),
        "from the future": call(api, url, body, at=now + 400), "no signature": call(api, url, body, **{"X-Signature-256": ""}),
        "of another body": call(api, url, b'{"a":1}', at=now, **{"X-Signature-256": f"sha256={good}"}),
        "without its kind": call(api, url, body, at=now, **{"X-Signature-256": good}),
        "no timestamp": call(api, url, body, **{"X-Timestamp": ""}), "no number": call(api, url, body, **{"X-Timestamp": "1e9"}),
    }  # fmt: skip
    assert {why: status for why, (status, _) in refused.items()} == dict.fromkeys(refused, 401)
    before = len(api.call("GET", "/executions?workflow=orders").body["items"])
    assert [call(api, url, text)[0] for text in (b"[1]", b"{", b"\xff")] == [422, 400, 400]
    assert len(api.call("GET", "/executions?workflow=orders").body["items"]) == before


def test_addresses_that_name_nothing(api: Api, hooks: dict[str, str]) -> None:
    base = hooks["webhook-1"].rpartition("/")[0]
    api.call("POST", "/workflows", definition("no-hook"))
    assert [call(api, f"{base}/{name}", b"{}")[0] for name in ("x", "WzEsMiwzXQ", "a" * 2000, "bnVsbA")] == [404] * 4
    api.call("POST", "/workflows", FLOW.replace("id: orders", "id: forgotten").replace("secret: shop", "secret: nowhere"))
    api.call("POST", "/workflows/forgotten/publish")
    (url, *_) = [one["url"] for one in api.call("GET", "/workflows/forgotten/triggers").body["webhooks"]]
    status, problem = call(api, url, b"{}")
    assert status == 401 and "nowhere" not in json.dumps(problem), "whoever calls learns nothing of secrets"
