"""The ten risks of the OWASP API Security Top 10 (2023), tried on the API's own function.

https://owasp.org/API-Security/editions/2023/en/0x11-t10/
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from aslant import bootstrap, clock
from aslant.adapters.jwt_tokens import ALGORITHMS
from aslant.completions import SECRET
from aslant.errors import StepError
from aslant.http_ports import HttpRequest
from aslant.settings import Settings
from functions.api.app import PREFIX, app
from functions.api.handler import handler
from functions.api.permissions import ROUTES
from functions.route_event.handler import handler as route
from tests.served.api import REGION, Served
from tests.served.things import made_by_ann, request

OPEN = {row for row, rule in ROUTES.items() if rule is None}
CLOSED = sorted(ROUTES.keys() - OPEN)


@pytest.fixture(scope="module")
def things(api: Served) -> dict[str, str]:
    return made_by_ann(api)


# 1 Broken object level authorization


def test_1_things_of_another_tenant_do_not_exist(api: Served, things: dict[str, str]) -> None:
    named = [row for row in CLOSED if "{" in row[1]] + [("POST", "/triggers"), ("POST", "/schedules")]
    for roles in (["admin"], []):  # with all rights over there, and with its owner's name
        found = {row: api.call(*request(row, things), tenant="other", roles=roles).status for row in named}
        strange = {row for row, status in found.items() if status not in ((404,) if roles else (403, 404))}
        assert strange <= {("GET", "/workflows/{workflow_id}/executions")}, "a list by a name is empty"
    lists = ("/workflows", "/executions", "/approvals", "/triggers", "/schedules", "/workflows/flow/executions")
    assert all(api.call("GET", path, tenant="other").body["items"] == [] for path in lists)
    assert all(api.call("GET", path, tenant="other").body == [] for path in ("/skills", "/templates"))


def test_1_what_somebody_else_made_needs_a_role(api: Served, things: dict[str, str]) -> None:
    named = [row for row in CLOSED if "{" in row[1] or row[1] in ("/triggers", "/schedules")]
    assert {api.call(*request(row, things), user="eve", roles=[]).status for row in named} == {403}


def test_1_cursors_and_keys_of_others_lead_nowhere(api: Served, things: dict[str, str]) -> None:
    for _ in range(2):
        api.execution("flow")
    cursor = api.call("GET", "/executions?limit=1").body["next"]
    assert api.call("GET", f"/executions?next={cursor}", tenant="other").status == 422
    key = {"Idempotency-Key": "same"}
    first = api.call("POST", f"/executions/{things['execution_id']}/checkpoints", {"label": "mine"}, headers=key)
    assert first.status == 200
    assert api.call("POST", f"/executions/{things['execution_id']}/checkpoints", {"label": "mine"}, headers=key, tenant="other").status == 404
    started = api.call("POST", "/workflows/flow/execute", {}, headers=key).body["id"]
    again = api.call("POST", "/workflows/flow/execute", {}, headers=key).body["id"]
    api.workflow("flow", tenant="twin")
    assert started == again != api.call("POST", "/workflows/flow/execute", {}, headers=key, tenant="twin").body["id"]


# 2 Broken authentication


def test_2_every_closed_route_asks_for_a_token(api: Served, things: dict[str, str]) -> None:
    for token in ("", "garbage", "e30.e30.e30"):
        assert {api.call(*request(row, things), token=token).status for row in CLOSED} == {401}, token


def test_2_tokens_that_somebody_made_up(api: Served) -> None:
    own, foreign = api.issuer._key(), ec.generate_private_key(ec.SECP256R1())
    good = jwt.decode(api.token(), options={"verify_signature": False})
    parts = api.token().split(".")
    public = api.issuer.keys()
    its_own = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(foreign.public_key()))  # type: ignore[no-untyped-call]

    def signed(key: Any, headers: dict[str, Any] | None = None, **changes: Any) -> str:
        claims = {name: value for name, value in (good | changes).items() if value is not None}
        return jwt.encode(claims, key, "ES256", headers={"kid": "local", **(headers or {})})

    def with_head(head: dict[str, Any], signature: bytes | None) -> str:
        start = base64.urlsafe_b64encode(json.dumps(head).encode()).decode().rstrip("=") + "." + parts[1]
        mark = b"" if signature is None else hmac.new(signature, start.encode(), "sha256").digest()
        return start + "." + base64.urlsafe_b64encode(mark).decode().rstrip("=")

    tokens = {
        "no signature": with_head({"alg": "none", "kid": "local"}, None), "its public key as a secret": with_head({"alg": "HS256", "kid": "local"}, public),
        "another key": signed(foreign), "a key that it brings along": signed(foreign, {"jwk": its_own}),
        "a key from elsewhere": signed(foreign, {"jku": "https://evil.example/keys"}), "an unknown key": signed(own, {"kid": "../../key"}),
        "over": signed(own, exp=int(time.time()) - 100), "for somebody else": signed(own, aud="else"), "not of our issuer": signed(own, iss="evil"),
        "without an end": signed(own, exp=None), "without a tenant": signed(own, **{"custom:tenant": None}),
        "of two tenants": signed(own, **{"custom:tenant": ["acme", "other"]}), "cut": ".".join(parts[:2]) + ".",
    }  # fmt: skip
    assert {name: api.call("GET", "/workflows", token=token).status for name, token in tokens.items()} == dict.fromkeys(tokens, 401)
    assert api.call("GET", f"/workflows?token={api.token()}", token="").status == 401, "an address ends in logs"
    assert api.call("GET", "/workflows", token="", headers={"Cookie": f"token={api.token()}"}).status == 401
    assert api.call("GET", "/workflows", token=signed(own)).status == 200, "the same, made right"


# 3 Broken object property level authorization


@pytest.mark.parametrize("more", [
    {"user": "root"}, {"tenant": "other"}, {"status": "completed"}, {"owner": "eve"}, {"trigger": {"type": "schedule"}},
    {"arn": "arn:x"}, {"parent": {"execution": "x"}},
])
def test_3_properties_that_are_not_the_callers_are_refused(api: Served, things: dict[str, str], more: dict[str, Any]) -> None:
    before = api.call("GET", "/executions?limit=100").body["items"]
    assert api.call("POST", "/workflows/flow/execute", more).status == 422
    assert api.call("POST", f"/executions/{things['execution_id']}/pause", more).status == 422
    assert api.call("POST", f"/approvals/{things['approval_id']}/approve", more, user="bob").status == 422
    assert api.call("PATCH", "/workflows/flow", more).status == 422
    assert api.call("GET", "/executions?limit=100").body["items"] == before


def test_3_answers_keep_secrets(api: Served, things: dict[str, str]) -> None:
    api.secret(SECRET, "signing key")
    address = "https://example.com/told?key=hidden"
    id = api.call("POST", "/workflows/flow/execute", {"webhook_url": address}).body["id"]
    texts = [json.dumps(api.call("GET", path).body) for path in (
        f"/executions/{id}", "/executions", f"/approvals/{things['approval_id']}", "/approvals", "/audit", f"/executions/{id}/transitions",
    )]  # fmt: skip
    for hidden in ("hidden", "signing key", "a token of the machine"):
        assert not any(hidden in text for text in texts), hidden


# 4 Unrestricted resource consumption


def bomb() -> str:
    names = "abcdefghi"
    rows = [f"x-{name}: &{name} [{', '.join(f'*{before}' for _ in range(9))}]" for before, name in zip(names, names[1:], strict=False)]
    return "x-a: &a [1, 2, 3]\n" + "\n".join(rows) + "\nsteps: *i\n"


@pytest.mark.parametrize(("method", "path", "body", "status"), [
    ("POST", "/workflows/flow/execute", {"input": {"a": "x" * 2_100_000}}, 413),
    ("POST", "/workflows", "x" * 1_100_000, 413),
    ("POST", "/workflows", bomb(), 422),
    ("POST", "/workflows", "a: " + "[" * 5000 + "]" * 5000, 422),
    ("PATCH", "/workflows/flow", {"operations": [{"op": "remove_step", "step": "a"}] * 201}, 422),
    ("POST", "/compose", {"id": "a", "parts": [{"workflow": "a"}] * 101}, 422),
    ("POST", "/templates", {"id": "a", "definition": "x" * 1_000_001}, 422),
    ("GET", "/executions?limit=101", None, 422), ("GET", "/executions?limit=0", None, 422), ("GET", "/executions?offset=1001", None, 400),
    ("GET", f"/executions?next={'a' * 5000}", None, 422), ("GET", f"/workflows/{'a' * 3000}", None, 404),
    ("GET", "/workflows/flow/metrics?from=1990-01-01&to=2030-01-01", None, 422),
])
def test_4_what_is_too_much_is_refused(api: Served, things: dict[str, str], method: str, path: str, body: Any, status: int) -> None:
    began = time.process_time()
    assert api.call(method, path, body).status == status
    assert time.process_time() - began < 5, "refusing is cheap"


def test_4_a_compressed_body_is_not_unpacked(api: Served) -> None:
    event_body = base64.b64encode(b"\x1f\x8b" + bytes(100)).decode()
    answer = handler({
        "version": "2.0", "rawPath": f"{PREFIX}/workflows/flow/execute", "rawQueryString": "", "isBase64Encoded": True, "body": event_body,
        "headers": {"authorization": f"Bearer {api.token()}", "content-type": "application/json", "content-encoding": "gzip"},
        "requestContext": {"http": {"method": "POST", "path": f"{PREFIX}/workflows/flow/execute"}, "stage": "$default"},
    }, None)  # fmt: skip
    assert answer["statusCode"] == 400


def test_4_starts_are_limited_for_each_person(api: Served, things: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASLANT_START_RATE", "2")
    found = [api.call("POST", "/workflows/flow/execute", {}, user="flo") for _ in range(3)]
    assert [one.status for one in found] == [202, 202, 429] and int(found[2].headers["Retry-After"]) > 0
    assert api.call("POST", "/workflows/flow/execute", {}, user="gus").status == 202


# 5 Broken function level authorization


def test_5_a_viewer_changes_nothing(api: Served, things: dict[str, str]) -> None:
    writes = [row for row in CLOSED if row[0] != "GET" and row[1] not in ("/optimize", "/workflows/{workflow_id}/validate")]
    assert {api.call(*request(row, things), user="vic", roles=["viewer"]).status for row in writes} == {403}
    assert api.call("GET", "/audit", user="vic", roles=["viewer"]).status == 403


def test_5_other_spellings_are_no_way_around(api: Served, things: dict[str, str]) -> None:
    paths = [
        "/workflows/", "//workflows", "/./workflows", "/Workflows", "/workflows/../audit", "/workflows;a=b", "/workflows/%2e%2e/audit",
        "/workflows\x00", "/hooks/../workflows", "/workflows/flow/../../audit",
    ]  # fmt: skip
    for path in paths:
        assert api.call("GET", path, token="").status in (401, 404), path
        assert api.call("GET", path, user="eve", roles=[]).status in (400, 403, 404), path
    override = {"X-HTTP-Method-Override": "DELETE", "X-Method-Override": "DELETE", "X-Original-URL": "/api/v1/audit", "X-Rewrite-URL": "/api/v1/audit"}
    answer = api.call("GET", "/workflows/flow", user="vic", roles=["viewer"], headers=override)
    assert answer.status == 200 and answer.body["status"] == "published"
    assert api.call("GET", "/audit", roles=["Admin", "ADMIN ", "administrator", "root"]).status == 403


def test_5_refusals_are_in_the_audit_trail(api: Served, things: dict[str, str]) -> None:
    api.call("DELETE", "/workflows/flow", user="mal", roles=["viewer"])
    (row,) = api.call("GET", "/audit?user=mal").body["items"]
    assert (row["action"], row["status"], row["about"]) == ("DELETE /api/v1/workflows/{workflow_id}", 403, {"workflow_id": "flow"})


# 6 Unrestricted access to sensitive business flows


def test_6_nobody_approves_what_they_asked_for(api: Served, things: dict[str, str]) -> None:
    asked = api.approval(api.execution("flow"), requester="ann")
    assert api.call("POST", f"/approvals/{asked}/approve", {}, user="ann").status == 403
    assert api.call("GET", f"/approvals/{asked}").body["status"] == "pending"


def test_6_a_delivery_starts_once_and_only_when_it_is_signed(api: Served) -> None:
    api.workflow("hooked")
    api.secret("hook", "shared")
    url = api.call("POST", "/triggers", {"workflow": "hooked", "type": "webhook", "config": {"secret": "hook"}}).body["url"]
    path = url.partition(PREFIX)[2]

    def deliver(secret: str, *, late: float = 0, body: dict[str, Any] | None = None, named: str = "") -> Any:
        raw, moment = json.dumps(body or {"who": "eve"}), str(int(clock.now() - late))
        mark = hmac.new(secret.encode(), f"{moment}.{raw}".encode(), hashlib.sha256).hexdigest()
        headers = {"X-Timestamp": moment, "X-Signature-256": f"sha256={mark}", **({"X-Delivery-Id": named} if named else {})}
        return api.call("POST", path, json.loads(raw), token="", headers=headers)

    first = deliver("shared", named="d1")
    assert first.status == 202 and deliver("shared", named="d1").body == first.body
    assert deliver("guessed").status == 401 and deliver("shared", late=400).status == 401
    assert deliver("shared", body={"who": 7}).status == 422, "its body is an input like any other"
    assert api.call("POST", path[:-4] + "AAAA", {}, token="").status == 404


# 7 Server side request forgery


@pytest.mark.parametrize("address", [
    "http://169.254.169.254/latest/meta-data/", "http://localhost:4599/", "http://127.0.0.1/", "http://127.1/", "http://2130706433/",
    "http://0x7f000001/", "http://0.0.0.0/", "http://[::1]/", "http://[::ffff:169.254.169.254]/", "http://10.0.0.1/", "http://192.168.0.1/",
    "http://[fd00:ec2::254]/", "http://user@127.0.0.1/", "file:///etc/passwd", "gopher://127.0.0.1/",
])
def test_7_nothing_inside_is_asked(api: Served, address: str) -> None:
    """Addresses that people give (of completions, skills and http steps) go through one client."""
    with pytest.raises(StepError) as caught:
        bootstrap.http(Settings.read()).send(HttpRequest("POST", address, body=b"{}"))
    assert type(caught.value).__name__ in ("AuthorizationError", "ValidationError")


def test_7_a_completion_address_is_an_address_of_the_web(api: Served, things: dict[str, str]) -> None:
    for address in ("file:///etc/passwd", "gopher://x", "javascript:alert(1)", "//example.com", ""):
        assert api.call("POST", "/workflows/flow/execute", {"webhook_url": address}).status == 422, address


# 8 Security misconfiguration


def test_8_faults_and_refusals_tell_nothing_of_the_inside(
    api: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(settings: Settings) -> Any:
        raise RuntimeError("password=hunter2 in /srv/app.py")

    monkeypatch.setattr(bootstrap, "catalog", fails)
    answer = api.call("GET", "/workflows")
    assert (answer.status, answer.body["code"]) == (500, "internal") and "hunter2" not in json.dumps(answer.body)
    assert "Traceback" not in json.dumps(answer.body) and api.token().split(".")[2] not in caplog.text


def test_8_headers(api: Served, things: dict[str, str]) -> None:
    for answer in (
        api.call("GET", "/workflows"), api.call("GET", "/nowhere"), api.call("GET", f"/executions/{things['execution_id']}"),
        api.call("GET", "/workflows", token=""), api.call("POST", "/workflows", "a: ["),
    ):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] in ("no-store", "no-cache")
    origin = api.call("GET", "/workflows", headers={"Origin": "https://evil.example"}).headers
    assert "Access-Control-Allow-Credentials" not in origin, "no cookie is a right, so no page acts for its visitor"
    assert not {name for name in origin if name.lower() in ("server", "x-powered-by")}


def test_8_pages_of_other_origins_may_ask(api: Served) -> None:
    asked = api.call("OPTIONS", "/workflows/flow/execute", token="", headers={
        "Origin": "https://app.example", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "if-match",
    })  # fmt: skip
    assert asked.status in (200, 204) and "POST" in asked.headers["Access-Control-Allow-Methods"]
    allowed = asked.headers["Access-Control-Allow-Headers"].lower()
    assert all(name in allowed for name in ("authorization", "content-type", "if-match", "idempotency-key"))
    answer = api.call("GET", "/workflows", headers={"Origin": "https://app.example"})
    assert answer.headers["Access-Control-Allow-Origin"] and "ETag" in answer.headers["Access-Control-Expose-Headers"]


# 9 Improper inventory management


def test_9_what_is_served_is_described_and_has_a_row(api: Served) -> None:
    described = {
        (method.upper(), path.removeprefix(PREFIX))
        for path, methods in api.call("GET", "/openapi.json", token="").body["paths"].items() for method in methods
    }
    pages = {("GET", "/openapi.json"), ("GET", "/docs"), ("GET", "/approvals/answer"), ("POST", "/approvals/answer")}
    assert described == set(ROUTES) - pages
    served = {(route.method, route.openapi_path.removeprefix(PREFIX)) for route in app()._static_routes + app()._dynamic_routes}
    assert served == set(ROUTES)


def test_9_only_these_are_open(api: Served) -> None:
    assert {
        ("GET", "/health"), ("GET", "/ready"), ("GET", "/metrics"), ("GET", "/openapi.json"), ("GET", "/docs"),
        ("GET", "/approvals/answer"), ("POST", "/approvals/answer"), ("POST", "/hooks/{hook_id}"),
    } == OPEN  # fmt: skip
    for path in ("/health", "/ready", "/metrics"):
        text = json.dumps(api.call("GET", path, token="").body)
        assert "acme" not in text and "flow" not in text.replace("overflow", ""), "nothing of a tenant is told"


# 10 Unsafe consumption of APIs


def test_10_keys_come_from_the_configured_issuer_only() -> None:
    assert not [name for name in ALGORITHMS if name.startswith("HS") or name == "none"]


def test_10_what_events_bring_is_an_input_like_any_other(api: Served) -> None:
    """Events of others on the bus start nothing whose inputs they do not fit."""
    api.workflow("evented")
    api.call("POST", "/triggers", {"workflow": "evented", "type": "event", "config": {"event": "order.new", "fields": {"who": "who"}}})

    def arrive(number: int, detail: dict[str, Any], tenant: str = "acme") -> int:
        event = {"source": "shop", "detail-type": "order.new", "id": f"e{number}", "time": "2026-11-28T10:00:00Z",
            "detail": {"tenant_id": tenant, "event_id": f"e{number}", **detail}}  # fmt: skip
        record = {"messageId": f"m{number}", "body": json.dumps(event), "eventSource": "aws:sqs", "receiptHandle": "r", "attributes": {},
            "messageAttributes": {}, "md5OfBody": "", "eventSourceARN": "arn:aws:sqs:us-east-1:123456789012:q", "awsRegion": REGION}  # fmt: skip
        route({"Records": [record]}, None)
        return len(api.call("GET", "/workflows/evented/executions").body["items"])

    assert arrive(1, {"who": 7}) == 0 and arrive(2, {"who": "x"}, tenant="other") == 0
    assert arrive(3, {"who": "x"}) == 1, "a good one starts it"
