"""Bodies: what is no JSON, what two readers would understand differently, and calls of webhooks that come again."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

import pytest

from aslant import clock
from tests.served.api import Answer, Served

NESTED = "[" * 300 + "]" * 300
REFUSED = [
    (r'{"input": {"who": "\ud800"}}', 422, "/body/input/who", "half of a surrogate pair"),
    (r'{"labels": {"a\udfff": "1"}}', 422, "/body/labels", r'half of a surrogate pair in it, which is no character: "a\udfff"'),
    (r'{"input": {"deep": ["\udc00\ud800"]}}', 422, "/body/input/deep/0", "half of a surrogate pair"),
    ('{"input": {"who": "a"}, "input": {"who": "b"}}', 422, "/body", 'the key "input" twice'),
    ('{"input": {"who": {"x": 1, "y": 2, "x": 1}}}', 422, "/body/input/who", 'the key "x" twice'),
    ('{"input": ' + NESTED + "}", 422, "/body/input" + "/0" * 199, "nested more than 200 levels deep"),
    ('{"input": ' + "[" * 120_000 + "]" * 120_000 + "}", 422, "/body", "nested more than 200 levels deep"),
    ('{"input": {"who": NaN}}', 400, "/body", "NaN is not JSON"), ('{"input": {"who": -Infinity}}', 400, "/body", "-Infinity is not JSON"),
    ('{"input": {"who": 1e999}}', 400, "/body", "1e999 is out of range"), ('{"input": %s}' % ("9" * 5000), 400, "/body", "digits"),
    ('{"input": ', 400, "/body", "line 1, column 11"), ("nul", 400, "/body", "no JSON"),
]


def raw(api: Served, path: str, body: str, **more: Any) -> Answer:
    return api.call("POST", path, body, headers={"Content-Type": "application/json"}, **more)


@pytest.mark.parametrize(("body", "status", "pointer", "says"), REFUSED, ids=range(len(REFUSED)))
def test_a_body_that_is_refused_says_where_and_why(api: Served, body: str, status: int, pointer: str, says: str) -> None:
    answer = raw(api, "/workflows/none/execute", body)
    assert (answer.status, answer.body["code"]) == (status, "not_json" if status == 400 else "request_invalid")
    assert answer.body["errors"][0]["pointer"] == pointer and says in answer.body["detail"] and says in answer.body["errors"][0]["detail"]
    assert raw(api, "/workflows/none/execute", body, token="").status == 401, "who may not call learns nothing"


def test_all_places_are_told_at_once(api: Served) -> None:
    answer = raw(api, "/workflows/none/execute", r'{"input": {"a": "\ud800", "b": {"c": 1, "c": 2}, "d": "\ud83d\ude00"}}')
    assert sorted(one["pointer"] for one in answer.body["errors"]) == ["/body/input/a", "/body/input/b"]
    api.workflow("paired")
    assert raw(api, "/workflows/paired/execute", r'{"input": {"who": "\ud83d\ude00"}}').status == 202, "both halves are one character"


def test_a_definition_as_json_is_read_as_strictly(api: Served) -> None:
    good = '{"dialect": "canonical", "id": "strict", "version": "1.0.0", "steps": [{"id": "a", "type": "transform", "config": {"data": %s}}]}'
    for part in (r'"\ud800"', '{"x": 1, "x": 2}', NESTED):
        answer = raw(api, "/workflows", good % part)
        assert (answer.status, answer.body["code"]) == (422, "definition_invalid"), part
    assert raw(api, "/workflows", good % '"a"').status == 201


SECRET = "s3cret-of-the-shop"


@pytest.fixture(scope="module")
def hooks(api: Served) -> dict[str, str]:
    """Paths of webhooks by their triggers: one with a timestamp, one whose signature is that of the body alone."""
    api.secret("shop", SECRET, tenant="hooked")
    api.workflow("hooked", tenant="hooked")
    for config in ({"secret": "shop"}, {"secret": "shop", "timestamp": False}):
        assert api.call("POST", "/triggers", {"workflow": "hooked", "type": "webhook", "config": config}, tenant="hooked").status == 201
    items = api.call("GET", "/triggers?workflow=hooked", tenant="hooked").body["items"]
    return {"timed" if one["config"].get("timestamp", True) else "bare": one["url"].partition("/api/v1")[2] for one in items}


def deliver(api: Served, path: str, body: str, *, at: int | None = None, **headers: str) -> Answer:
    moment = "" if at is None else f"{at}."
    mark = hmac.new(SECRET.encode(), (moment + body).encode(), hashlib.sha256).hexdigest()
    stamp = {} if at is None else {"X-Timestamp": str(at)}
    return api.call("POST", path, body, token="", headers={**stamp, "X-Signature-256": f"sha256={mark}", **headers})


@pytest.mark.parametrize(("first", "second"), [
    ({"X-Delivery-Id": "one"}, {"X-Delivery-Id": "two"}), ({}, {"X-GitHub-Delivery": "two"}), ({"Idempotency-Key": "three"}, {}),
])
def test_a_signed_call_under_another_name_is_the_same_delivery(
    api: Served, hooks: dict[str, str], first: dict[str, str], second: dict[str, str]
) -> None:
    """The name of a delivery is not signed: whoever records a call can change it."""
    body, now = json.dumps({"who": f"{first} {second}"}), int(clock.now())
    for path, at in ((hooks["timed"], now), (hooks["bare"], None)):
        answers = [deliver(api, path, body, at=at, **names) for names in (first, second, second, first)]
        assert [one.status for one in answers] == [202] * 4
        assert len({one.body["execution"] for one in answers}) == 1, path


def test_another_call_under_the_same_name_is_the_same_delivery(api: Served, hooks: dict[str, str]) -> None:
    """A sender that tries again signs anew."""
    now, name = int(clock.now()), {"X-Delivery-Id": "tried again"}
    first, again = (deliver(api, hooks["timed"], '{"who": "a"}', at=now - late, **name) for late in (5, 0))
    other = deliver(api, hooks["timed"], '{"who": "a"}', at=now - 1, **{"X-Delivery-Id": "another"})
    assert first.body == again.body != other.body and other.status == 202


def test_what_a_webhook_gets_is_read_as_strictly(api: Served, hooks: dict[str, str]) -> None:
    for body, status in (('{"who": NaN}', 400), ('{"who": "a", "who": "b"}', 422), (r'{"who": "\ud800"}', 422), ("[1]", 422)):
        assert deliver(api, hooks["timed"], body, at=int(clock.now())).status == status, body
