"""What the API refuses, and how it says so."""

from __future__ import annotations

import base64
import hmac
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from tests.integration.api.conftest import Api, definition


def test_a_bad_definition_is_refused_with_places(api: Api) -> None:
    bad = "dialect: canonical\nid: bad\nsteps:\n  - {id: a, type: transfrom, depends_on: [b]}\n"
    answer = api.call("POST", "/workflows", bad)
    assert (answer.status, answer.body["code"], answer.headers["Content-Type"]) == (
        422, "definition_invalid", "application/problem+json",
    )
    places = {(part["position"]["line"], part["code"][0]) for part in answer.body["errors"]}
    assert {line for line, _ in places} == {4}
    assert api.call("GET", "/workflows/bad").status == 404, "nothing of it is kept"


@pytest.mark.parametrize("body", ["", "   ", "a: [", "{", "\x00", "[1, 2]", "just text", "&a [*a]"])
def test_a_body_that_is_no_definition(api: Api, body: str) -> None:
    assert api.call("POST", "/workflows", body).status == 422


def test_a_check_keeps_nothing(api: Api) -> None:
    assert api.call("POST", "/workflows?dry_run=true", definition("ghost")).status == 200
    assert api.call("GET", "/workflows/ghost").status == 404


def test_all_mistakes_of_a_request_at_once(api: Api) -> None:
    answer = api.call("POST", "/workflows/none/execute", {"input": 1, "labels": {"a": 1}, "surplus": True})
    assert answer.status == 422
    assert {part["pointer"] for part in answer.body["errors"]} == {"/body/input", "/body/labels/a", "/body/surplus"}


@pytest.mark.parametrize("body", [
    b'{"input": ', b"\xff\xfe", b'{"input": {"k": ' + b"9" * 5_000 + b"}}", b'{"input": {"k": 1e999}}',
])
def test_a_body_that_is_no_json(api: Api, body: bytes) -> None:
    url = f"{api.running.api.url}/api/v1/workflows/none/execute"
    headers = {"Authorization": f"Bearer {api.token()}", "Content-Type": "application/json"}
    answer = api.http.request("POST", url, body=body, headers=headers)
    assert (answer.status, json.loads(answer.data)["code"]) == (400, "not_json")


def test_callers_at_the_same_time_are_told_apart(api: Api) -> None:
    assert api.call("POST", "/workflows", definition("crowd")).status == 201
    calls = [("acme", "GET", None, 200), ("other", "GET", None, 404), ("", "GET", None, 401), ("", "POST", {"input": {"who": "x" * 200_000}}, 401)]

    def ask(number: int) -> list[tuple[str, int]]:
        tenant, method, body, _ = calls[number % len(calls)]
        path = "/workflows/crowd" + ("/execute" if method == "POST" else "")
        token = api.token(tenant=tenant) if tenant else "garbage"
        return [(tenant, api.call(method, path, body, token=token).status) for _ in range(8)]

    with ThreadPoolExecutor(8) as pool:
        found = {(number % len(calls), *each) for number, row in enumerate(pool.map(ask, range(8))) for each in row}
    assert found == {(number, tenant, status) for number, (tenant, _, _, status) in enumerate(calls)}


@pytest.mark.parametrize(("method", "path"), [
    ("GET", "/nowhere"), ("POST", "/health/more"), ("GET", "/workflows/a/b/c/d"), ("PATCH", "/executions"),
    ("GET", "/executions/none"), ("GET", "/executions/%00"), ("GET", "/approvals/none"), ("GET", "/workflows/none"),
    ("POST", "/executions/none/pause"), ("GET", "/executions/none/checkpoints/1"), ("GET", "/workflows/none/asl"),
])  # fmt: skip
def test_what_is_not_there(api: Api, method: str, path: str) -> None:
    answer = api.call(method, path)
    assert (answer.status, answer.headers["Content-Type"]) == (404, "application/problem+json")


def _token(api: Api, key: Any, **changes: Any) -> str:
    claims = jwt.decode(api.token(), options={"verify_signature": False}) | changes
    algorithm = changes.pop("algorithm", "ES256")
    return jwt.encode({name: value for name, value in claims.items() if value is not None}, key, algorithm,
        headers={"kid": "local"})  # fmt: skip


def _by_secret(payload: str, secret: bytes) -> str:
    """A token whose HMAC takes a public text for its secret (RFC 8725, 2.1)."""
    signed = base64.urlsafe_b64encode(b'{"alg":"HS256","kid":"local"}').decode().rstrip("=") + "." + payload
    mark = hmac.new(secret, signed.encode(), "sha256").digest()
    return signed + "." + base64.urlsafe_b64encode(mark).decode().rstrip("=")


def test_tokens_of_others(api: Api) -> None:
    foreign = ec.generate_private_key(ec.SECP256R1())
    own = (api.running.home.path / "token-key.pem").read_text()
    public = api.http.request("GET", api.running.api.url + "/.well-known/jwks.json").data
    header, payload, signature = api.token().split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","kid":"local"}').decode().rstrip("=")
    changed = base64.urlsafe_b64encode(
        json.dumps(jwt.decode(api.token(), options={"verify_signature": False}) | {"sub": "eve"}).encode()
    ).decode().rstrip("=")
    tokens = {
        "nothing": " ", "no token": "abc", "another's key": _token(api, foreign), "no signature": f"{unsigned}.{payload}.",
        "changed": f"{header}.{changed}.{signature}", "the public key as a secret": _by_secret(payload, public),
        "over": _token(api, own, exp=1), "another's issuer": _token(api, own, iss="eve"),
        "another's audience": _token(api, own, aud="eve"), "no tenant": _token(api, own, **{"custom:tenant": None}),
        "a strange tenant": _token(api, own, **{"custom:tenant": "a\nb"}), "no end": _token(api, own, exp=None),
        "an unknown key": jwt.encode({"sub": "a"}, own, "ES256", headers={"kid": "other"}), "long": "a" * 10_000,
    }  # fmt: skip
    found = {name: api.call("GET", "/workflows", token=token).status for name, token in tokens.items()}
    assert found == dict.fromkeys(tokens, 401)
    answer = api.call("GET", "/workflows", token="")
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")


def test_who_may_not_call_learns_nothing_about_the_request(api: Api) -> None:
    assert api.call("POST", "/workflows/none/execute", {"surplus": 1}, token="").status == 401
    assert api.call("POST", "/workflows/none/execute", {"surplus": 1}, roles=["viewer"]).status == 403


@pytest.mark.parametrize("id", ["a b", "ü", "a:b", "50%", "a&b", "a+b", "a[1]", "a/b", "a#b", "a?b", "a\\b", 'a"b'])
def test_an_id_can_be_reached_or_is_refused(api: Api, id: str) -> None:
    made = api.call("POST", "/workflows", definition(json.dumps(id)))
    assert made.status in (201, 422)
    if made.status == 201:
        path = made.headers["Location"].removeprefix("/api/v1")
        assert api.call("GET", path).body["id"] == id
        assert api.call("DELETE", path).status == 200
