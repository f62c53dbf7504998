"""http steps: lists that come in pages, and requests that are signed."""

from __future__ import annotations

import hashlib
import hmac
import json
import urllib.parse

import pytest

from functions.steps.http import paging
from functions.steps.http.handler import handler
from tests.unit.functions.conftest import Answer, Seen

pytestmark = pytest.mark.usefixtures("loopback")
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("http", config, **more), None)


def query(seen: Seen) -> dict[str, str]:
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(seen.path).query))


def pages_of(server, path, give):
    """`give(parameters, seen)` is a page's body and further headers."""

    def answer(seen: Seen) -> Answer:
        body, headers = give(query(seen), seen)
        return Answer(200, json.dumps(body).encode(), JSON | headers)

    server.answers[path] = answer


def test_pages_by_the_link_header_keep_their_credentials(server, run):
    pages_of(server, "/list", lambda given, seen: (
        [f"item {given.get('p', 1)}"], {"Link": '</list?p=2>; rel="next", </list?p=9>; rel="last"'} if "p" not in given else {}))
    config = {"url": f"{server.url}/list", "query": {"q": "x"}, "auth": {"type": "bearer", "token": "t0ken"},
              "pagination": {"type": "link"}}
    done = run(config)
    assert (done["output"]["body"], done["output"]["pages"], done["output"]["more"]) == (["item 1", "item 2"], 2, False)
    assert [query(each) for each in server.seen] == [{"q": "x"}, {"p": "2"}]
    assert {each.headers["authorization"] for each in server.seen} == {"Bearer t0ken"}
    assert done["usage"]["calls"] == 2


def test_pages_by_an_address_in_the_body(server, run):
    pages_of(server, "/list", lambda given, seen: (
        {"data": {"rows": [given.get("p")]}, "links": {"next": f"{server.url}/list?p=b" if "p" not in given else None}}, {}))
    config = {"url": f"{server.url}/list", "auth": {"type": "api_key", "key": "k3y", "name": "key", "location": "query"},
              "pagination": {"type": "next", "next": "links.next", "items": "data.rows"}}
    assert run(config)["output"]["body"] == [None, "b"]
    assert [query(each)["key"] for each in server.seen] == ["k3y", "k3y"]


def test_pages_by_a_cursor_in_the_body_of_the_request(server, run):
    def give(given, seen):
        asked = json.loads(seen.body)
        return {"items": [asked.get("after", 0)], "cursor": "c1" if "after" not in asked else ""}, {}

    pages_of(server, "/search", give)
    config = {"url": f"{server.url}/search", "method": "POST", "json": {"match": "x"}, "pagination": {
        "type": "cursor", "next": "cursor", "items": "items", "parameter": "after", "location": "body", "size": 10}}
    assert run(config)["output"]["body"] == [0, "c1"]
    assert [json.loads(each.body) for each in server.seen] == [
        {"match": "x", "limit": 10}, {"match": "x", "limit": 10, "after": "c1"}]
    one, two = (each.headers["idempotency-key"] for each in server.seen)
    assert one != two, "the second page is another request"


@pytest.mark.parametrize(("pagination", "asked"), [
    ({"type": "page"}, [{"page": "1"}, {"page": "2"}, {"page": "3"}, {"page": "4"}]),
    ({"type": "page", "start": 0, "parameter": "p", "size": 2, "size_parameter": "per_page"},
     [{"p": str(n), "per_page": "2"} for n in range(3)]),
    ({"type": "offset"}, [{"offset": "0"}, {"offset": "2"}, {"offset": "4"}, {"offset": "5"}]),
    ({"type": "offset", "size": 2}, [{"offset": "0", "limit": "2"}, {"offset": "2", "limit": "2"}, {"offset": "4", "limit": "2"}]),
])
def test_pages_that_are_counted_end_with_an_empty_or_a_short_one(server, run, pagination, asked):
    answers = iter([["a", "b"], ["c", "d"], ["e"], []])
    pages_of(server, "/list", lambda given, seen: (next(answers), {}))
    assert run({"url": f"{server.url}/list", "pagination": pagination})["output"]["body"] == list("abcde")
    assert [query(each) for each in server.seen] == asked


def test_limits_of_lists_are_told(server, run, failure):
    pages_of(server, "/list", lambda given, seen: ([1, 2], {}))
    url = f"{server.url}/list"
    few = run({"url": url, "pagination": {"type": "page", "max_pages": 2}})["output"]
    assert (few["body"], few["pages"], few["more"]) == ([1, 2, 1, 2], 2, True)
    cut = run({"url": url, "pagination": {"type": "page", "max_items": 3}})["output"]
    assert (cut["body"], cut["more"]) == ([1, 2, 1], True)
    name, text = failure({"url": url, "max_response_bytes": 20, "pagination": {"type": "page"}})
    assert name == "PayloadTooLarge" and len(server.seen) == 2 + 2 + 4, "all pages together have the limit of bytes"


def test_lists_that_turn_in_a_circle_or_lead_elsewhere(server, other_server, failure):
    pages_of(server, "/circle", lambda given, seen: ([1], {"Link": f'<{server.url}/circle?a=1>; rel=next'}))
    assert failure({"url": f"{server.url}/circle", "pagination": {"type": "link"}})[0] == "HttpError"
    pages_of(server, "/away", lambda given, seen: ([1], {"Link": f'<{other_server.url}/x>; rel="next"'}))
    name, _ = failure({"url": f"{server.url}/away", "auth": {"type": "bearer", "token": "t0ken"}, "pagination": {"type": "link"}})
    assert name == "AuthorizationError" and other_server.seen == []
    # A redirect to another host does not make that host the one whose pages get the credentials.
    server.answer("/moved", 302, Location=f"{other_server.url}/list")
    pages_of(other_server, "/list", lambda given, seen: ([1], {"Link": '</list?p=2>; rel="next"'}))
    assert failure({"url": f"{server.url}/moved", "auth": {"type": "bearer", "token": "t0ken"},
                    "pagination": {"type": "link"}})[0] == "AuthorizationError"
    assert [each.headers.get("authorization") for each in other_server.seen] == [None]


def test_an_error_in_the_middle_has_its_class(server, failure):
    answers = iter([Answer(200, b"[1]", JSON), Answer(429, b"slow down", {"Retry-After": "7"})])
    server.answers["/list"] = lambda seen: next(answers)
    assert failure({"url": f"{server.url}/list", "pagination": {"type": "page"}})[0] == "RateLimited"
    server.json("/none", {"rows": []})
    name, text = failure({"url": f"{server.url}/none", "pagination": {"type": "page"}})
    assert name == "ValidationError" and "`items` says where" in text


@pytest.mark.parametrize(("pagination", "words"), [
    ({"type": "cursor"}, "need `next`"), ({"type": "pages"}, "must be one of"),
    ({"type": "page", "location": "body"}, "need a `json` body"), ({"type": "page", "max_pages": 0}, "at least 1"),
])
def test_paginations_that_are_none(failure, pagination, words):
    more = {"body": "text"} if pagination.get("location") else {}
    name, text = failure({"url": "https://example.com/", "method": "POST", "pagination": pagination, **more})
    assert name == "ValidationError" and words in text


@pytest.mark.parametrize(("header", "found"), [
    ('<https://a/b?x=1,2>; rel="next"', "https://a/b?x=1,2"), ("</p>; title=\"a, b\"; rel=next", "/p"),
    ('</prev>; rel="prev", </n>; rel="last next"', "/n"), ('</a>; rel="nextish"', None), ("nonsense", None),
    ("<" * 20_000, None),
])
def test_link_headers(header, found):
    assert paging.link(header, "next") == found


def test_values_at_paths():
    body = {"a": [{"b": 1}], "n": None}
    assert [paging.at(body, path) for path in ("a.0.b", "a.1.b", "a.x", "n.m", "n", "")] == [1, None, None, None, None, None]


def signature(seen: Seen, secret: str, region: str, service: str, payload: str) -> str:
    """What AWS's documentation says a signature is, of the request as it arrived."""
    fields = dict(part.strip().split("=", 1) for part in seen.headers["authorization"].partition(" ")[2].split(","))
    path, _, asked = seen.path.partition("?")
    if service != "s3":
        path = urllib.parse.quote(path, safe="/~")
    names = fields["SignedHeaders"].split(";")
    canonical = "\n".join([
        seen.method, path, "&".join(sorted(asked.split("&"))) if asked else "",
        *(f"{name}:{' '.join(seen.headers[name].split())}" for name in names), "", ";".join(names), payload])
    day = seen.headers["x-amz-date"][:8]
    text = "\n".join(["AWS4-HMAC-SHA256", seen.headers["x-amz-date"], f"{day}/{region}/{service}/aws4_request",
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = f"AWS4{secret}".encode()
    for part in (day, region, service, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    assert hmac.digest(key, text.encode(), "sha256").hex() == fields["Signature"]
    return fields["SignedHeaders"]


@pytest.mark.parametrize("service", ["execute-api", "s3"])
def test_requests_are_signed_as_aws_wants_it(server, run, service):
    server.json("/a b/ü", {"ok": True})
    server.answers["/a%20b/%C3%BC"] = server.answers.pop("/a b/ü")
    run({"url": f"{server.url}/a b/ü".replace(" ", "%20"), "method": "PUT", "query": {"z": "1", "a": "x y"},
         "json": {"n": 1}, "auth": {
        "type": "sigv4", "access_key": "AKIDEXAMPLE", "secret_key": "wJalrXUtnFEMI", "session_token": "tok", "region": "eu-west-1",
        "service": service}})
    seen = server.seen[0]
    payload = seen.headers.get("x-amz-content-sha256") or hashlib.sha256(seen.body).hexdigest()
    signed = signature(seen, "wJalrXUtnFEMI", "eu-west-1", service, payload)
    assert {"host", "x-amz-date", "x-amz-security-token", "content-type"} <= set(signed.split(";"))
    if service == "s3" and payload != "UNSIGNED-PAYLOAD":
        assert payload == hashlib.sha256(seen.body).hexdigest()


def test_keys_of_a_signature_never_come_back(server, run, failure):
    server.echo("/echo")
    auth = {"type": "sigv4", "access_key": "AKID", "secret_key": "s3cret-key-of-aws", "session_token": "s3ssion-token",
            "region": "us-east-1", "service": "execute-api"}
    assert "s3ssion-token" not in json.dumps(run({"url": f"{server.url}/echo", "auth": auth}))
    name, text = failure({"url": f"{server.url}/echo", "auth": {**auth, "region": ""}})
    assert name == "ValidationError" and "sigv4 needs `region`" in text and "s3cret" not in text
