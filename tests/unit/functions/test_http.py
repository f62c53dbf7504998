"""http steps against a real server on loopback."""

from __future__ import annotations

import base64
import gzip
import json
from email.utils import formatdate

import pytest

from aslant.errors import retry_after
from aslant.http_ports import HttpResponse
from functions.steps.http import logic
from functions.steps.http.handler import handler

pytestmark = pytest.mark.usefixtures("loopback")


def run(invocation, config, **more):
    return handler(invocation("http", config, **more), None)["output"]


def failure(invocation, config, **more):
    with pytest.raises(Exception) as caught:
        handler(invocation("http", config, **more), None)
    return type(caught.value).__name__, str(caught.value)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"])
def test_every_method_reaches_the_server(server, invocation, method):
    server.json("/x", {"ok": True})
    output = run(invocation, {"url": f"{server.url}/x", "method": method.lower()})
    assert server.seen[0].method == method
    assert output["status_code"] == 200
    assert output["body"] == (None if method == "HEAD" else {"ok": True})


def test_json_answers_are_parsed_and_big_integers_keep_their_digits(server, invocation):
    server.json("/x", {"id": 356686000032329832})
    assert run(invocation, {"url": f"{server.url}/x"})["body"] == {"id": "356686000032329832"}


def test_text_binary_and_broken_json_answers(server, invocation):
    server.answer("/text", 200, "grüße".encode("latin-1"), Content_Type="text/plain; charset=latin-1")
    server.answer("/image", 200, b"\xff\xfe\x00", Content_Type="image/png")
    server.answer("/broken", 200, b"{oops", Content_Type="application/json")
    server.answer("/deep", 200, b"[" * 100_000, Content_Type="application/json")
    assert run(invocation, {"url": f"{server.url}/text"})["body"] == "grüße"
    image = run(invocation, {"url": f"{server.url}/image"})
    assert (base64.b64decode(image["body"]), image["body_encoding"]) == (b"\xff\xfe\x00", "base64")
    assert run(invocation, {"url": f"{server.url}/broken"})["body"] == "{oops"
    assert run(invocation, {"url": f"{server.url}/deep"})["body"] == "[" * 100_000


@pytest.mark.parametrize(("config", "body", "content_type"), [
    ({"body": {"a": 1}}, b'{"a":1}', "application/json"),
    ({"body": '{"text": "done"}'}, b'{"text": "done"}', "application/json"),
    ({"body": "plain {x}"}, b"plain {x}", "text/plain; charset=utf-8"),
    ({"json": "text"}, b'"text"', "application/json"),
    ({"form": {"a": "x y", "b": [1, 2], "c": None}}, b"a=x+y&b=1&b=2", "application/x-www-form-urlencoded"),
    ({"body": "<a/>", "headers": {"content-type": "text/xml"}}, b"<a/>", "text/xml"),
])
def test_bodies(server, invocation, config, body, content_type):
    server.json("/x", {})
    run(invocation, {"url": f"{server.url}/x", "method": "POST", **config})
    assert server.seen[0].body == body
    assert server.seen[0].headers["content-type"] == content_type


def test_query_parameters_are_added_and_escaped(server, invocation):
    server.json("/x", {})
    run(invocation, {"url": f"{server.url}/x?a=1#part", "query": {"q": "a&b=c", "n": 5, "l": [1, 2], "none": None}})
    assert server.seen[0].path == "/x?a=1&q=a%26b%3Dc&n=5&l=1&l=2"


@pytest.mark.parametrize(("auth", "header", "value"), [
    ({"type": "bearer", "token": "tok-12345"}, "authorization", "Bearer tok-12345"),
    ({"type": "basic", "username": "ada", "password": "pä:ss"}, "authorization",
     "Basic " + base64.b64encode("ada:pä:ss".encode()).decode()),
    ({"type": "api_key", "key": "key-12345"}, "x-api-key", "key-12345"),
    ({"type": "api_key", "key": "key-12345", "name": "X-Token"}, "x-token", "key-12345"),
])
def test_credentials_are_sent_and_never_come_back(server, invocation, auth, header, value):
    server.echo("/x")
    output = run(invocation, {"url": f"{server.url}/x", "auth": auth})
    assert server.seen[0].headers[header] == value
    assert value.split()[-1] not in json.dumps(output, ensure_ascii=False)
    assert "***" in output["body"][header]


def test_api_key_in_the_query_is_not_shown_in_errors(server, invocation):
    config = {"url": f"{server.url}/gone", "auth": {"type": "api_key", "key": "key-12345", "location": "query", "name": "k"}}
    name, message = failure(invocation, config)
    assert server.seen[0].path == "/gone?k=key-12345"
    assert name == "NotFoundError"
    assert "key-12345" not in message


@pytest.mark.parametrize(("status", "name"), [
    (400, "HttpError"), (401, "AuthenticationError"), (403, "AuthorizationError"), (404, "NotFoundError"),
    (409, "HttpError"), (429, "RateLimited"), (500, "ServerError"), (503, "ServerError"), (304, "HttpError"),
])
def test_a_status_has_one_error_class(server, invocation, status, name):
    server.json("/x", {"why": "because"} if status != 304 else None, status)
    found, message = failure(invocation, {"url": f"{server.url}/x"}, iteration=[3])
    assert found == name
    assert message.startswith(f"step s[3]: GET {server.url}/x answered {status}")


@pytest.mark.parametrize(("wanted", "status", "good"), [
    (404, 404, True), (["2xx", 404], 404, True), ("200-204", 204, True), ("200-204", 205, False), (201, 200, False),
])
def test_expected_statuses(server, invocation, wanted, status, good):
    server.json("/x", {}, status)
    config = {"url": f"{server.url}/x", "expected_status": wanted}
    if good:
        assert run(invocation, config)["status_code"] == status
    else:
        assert failure(invocation, config)[0] == "HttpError"


def test_retry_after_chooses_the_delay_of_an_adaptive_retry(server, invocation):
    server.json("/x", {}, 429, **{"Retry-After": "7"})
    plan = {"max_attempts": 5, "delays": [1, 2, 4, 8, 16], "on": [], "adaptive": True}
    assert failure(invocation, {"url": f"{server.url}/x"}, retry=plan)[0] == "Retry.4"
    assert failure(invocation, {"url": f"{server.url}/x"}, retry={**plan, "max_attempts": 1})[0] == "RateLimited"


def test_retry_after_as_a_date_or_nonsense():
    assert retry_after(formatdate(1_000_060, usegmt=True), 1_000_000.0) == 60.0
    assert retry_after("soon", 0.0) is None
    assert retry_after(formatdate(1_000, usegmt=True), 2_000.0) == 0.0


def test_idempotency_key_is_the_same_for_each_attempt_and_run_and_differs_by_iteration(server, invocation):
    server.json("/x", {})
    config = {"url": f"{server.url}/x", "method": "POST"}
    run(invocation, config, iteration=[1])
    run(invocation, config, iteration=[1], execution={"id": "exec-1", "tenant": "acme", "workflow": "wf", "run": 2})
    run(invocation, config, iteration=[2])
    run(invocation, {**config, "headers": {"Idempotency-Key": "mine"}})
    run(invocation, {**config, "method": "PUT"})
    first, second, third, own, none = (seen.headers.get("idempotency-key") for seen in server.seen)
    assert first == second != third
    assert (own, none) == ("mine", None)


def test_redirects_are_followed_and_credentials_stay_with_their_host(server, other_server, invocation):
    other_server.json("/end", {"ok": 1})
    server.answer("/a", 302, b"", Location="/b")
    server.answer("/b", 302, b"", Location=f"{other_server.url}/end")
    output = run(invocation, {"url": f"{server.url}/a", "auth": {"type": "bearer", "token": "tok-12345"},
                              "headers": {"X-Custom": "secret", "Accept": "application/json"}})
    assert output["body"] == {"ok": 1}
    assert server.seen[1].headers["authorization"] == "Bearer tok-12345"
    landed = other_server.seen[0].headers
    assert "authorization" not in landed and "x-custom" not in landed
    assert landed["accept"] == "application/json"


@pytest.mark.parametrize(("status", "method", "body"), [(303, "GET", b""), (302, "GET", b""), (307, "POST", b'{"a":1}')])
def test_methods_after_a_redirect(server, invocation, status, method, body):
    server.answer("/a", status, b"", Location="/b")
    server.json("/b", {})
    run(invocation, {"url": f"{server.url}/a", "method": "POST", "body": {"a": 1}})
    assert (server.seen[1].method, server.seen[1].body) == (method, body)


def test_redirects_into_private_addresses_loops_and_refused_redirects(server, invocation):
    server.answer("/meta", 302, b"", Location="http://169.254.169.254/latest/meta-data")
    server.answer("/loop", 302, b"", Location="/loop")
    server.answer("/file", 302, b"", Location="file:///etc/passwd")
    assert failure(invocation, {"url": f"{server.url}/meta"})[0] == "AuthorizationError"
    assert failure(invocation, {"url": f"{server.url}/loop"})[0] == "HttpError"
    assert len(server.seen) == 12
    assert failure(invocation, {"url": f"{server.url}/file"})[0] == "ValidationError"
    output = run(invocation, {"url": f"{server.url}/loop", "follow_redirects": False, "expected_status": 302})
    assert output["headers"]["location"] == "/loop"


def test_answers_are_bounded_before_and_after_decompression(server, invocation):
    server.answer("/big", 200, b"x" * 5000, Content_Type="text/plain")
    bomb = gzip.compress(b"\0" * 50_000_000)
    server.answer("/bomb", 200, bomb, Content_Type="text/plain", Content_Encoding="gzip")
    server.answer("/small", 200, gzip.compress(b"[1]"), Content_Type="application/json", Content_Encoding="gzip")
    server.answer("/cut", 200, gzip.compress(b"x" * 1000)[:-12], Content_Encoding="gzip")
    assert failure(invocation, {"url": f"{server.url}/big", "max_response_bytes": 4999})[0] == "PayloadTooLarge"
    assert failure(invocation, {"url": f"{server.url}/bomb"})[0] == "PayloadTooLarge"
    assert run(invocation, {"url": f"{server.url}/small"})["body"] == [1]
    assert failure(invocation, {"url": f"{server.url}/cut"})[0] == "NetworkError"


def test_a_result_beyond_the_payload_limit_is_stored(server, invocation):
    server.answer("/x", 200, ("界" * 90_000).encode(), Content_Type="text/plain; charset=utf-8")
    output = handler(invocation("http", {"url": f"{server.url}/x"}) | {"claims": {"keep": ["/status_code"]}}, None)["output"]
    assert output["status_code"] == 200 and output["body"]["size"] == 270_002


@pytest.mark.parametrize("headers", [{"X-A": "a\r\nX-B: b"}, {"X\nA": "a"}, {"": "x"}, {"X-Ü": "x"}])
def test_headers_cannot_be_split(server, invocation, headers):
    assert failure(invocation, {"url": f"{server.url}/x", "headers": headers})[0] == "ValidationError"
    assert server.seen == []


@pytest.mark.parametrize("url", [
    "ftp://example.com/", "file:///etc/passwd", "http://", "http://u:p@127.0.0.1/", "http://127.0.0.1/a b",
    "http://127.0.0.1:99999/", "http://127.0.0.1\\@example.com/", "//x", "gopher://127.0.0.1", "http://[::1",
])
def test_addresses_that_are_none(invocation, url):
    assert failure(invocation, {"url": url})[0] == "ValidationError"


def test_a_closed_port_is_a_network_error(invocation):
    assert failure(invocation, {"url": "http://127.0.0.1:1/"})[0] == "NetworkError"


def test_configuration_errors_name_every_field_and_no_value(invocation):
    name, message = failure(invocation, {"urll": "sekrit", "timeout": "sekrit", "method": "FETCH"})
    assert name == "ValidationError"
    assert "did you mean url?" in message and "timeout: must be a number" in message and "method: must be one of" in message
    assert "sekrit" not in message


@pytest.mark.parametrize(("kind", "body"), [
    ('a/b; x="' + ";" * 60_000, "abc"), ("a/b" + ";charset*0*=x;charset*=x" * 30, "abc"), ('a/b; Charset = "latin-1"', "abc"),
    (";" * 65_000, "abc"), ("APPLICATION/JSON ; charset=utf-8", None), ("a/b; charset=zlib", "YWJj"),
])
def test_kinds_of_content_that_are_odd(kind, body):
    """The second made the standard library's reader fail, the first made it take a minute."""
    data = b"null" if body is None else b"abc"
    assert logic.body_of(HttpResponse(200, {"content-type": kind}, data, "http://example.com/"))["body"] == body
