"""HTTP requests: configuration -> request -> answer -> output, or the error class of its status."""

from __future__ import annotations

import base64
import json
import re
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from aslant.configs.http import Auth, HttpConfig, Pagination
from aslant.contracts import Json, StepResult
from aslant.errors import ValidationError, http_error, retry_after
from aslant.http_ports import AwsKeys, ClientTls, Http, HttpRequest, HttpResponse, Signer
from aslant.step import StepRun, result
from aslant.values import compact, read_json, render
from functions.steps.http import paging

_UNREPEATABLE = ("POST", "PATCH")
_EXCERPT = 300
_LONGEST_KIND = 1000  # characters of a Content-Type that are read
_SAID = re.compile(r";\s*charset\s*=\s*\"?([^\s;,\"]+)", re.IGNORECASE)
# Python has more codecs, some of which take hours for a long text (punycode), or are none of text.
_CHARSET = re.compile(r"(?:us-?)?ascii\Z|(?:utf|iso|latin|windows|cp|koi|mac|gb|big5|euc|shift|sjis|hz)[-_]?[\w-]*\Z")


def call(config: HttpConfig, run: StepRun, http: Http, signer: Callable[[], Signer]) -> StepResult:
    """Sends the request; the output is `status_code`, `headers` (lower-case names), `body` and `elapsed_ms`.

    `body` is parsed when the content type says JSON, null when there is none, base64 with `body_encoding: base64` when
    it is not text, and else a text. With `pagination` it is the list of all items, `pages` says how many there were, and
    `more` whether a limit left any out. Raises the errors of `aslant.errors.http_error` for a status that is not expected.
    """
    started = time.monotonic()
    deadline = started + run.remaining(config.timeout)

    def send(page: paging.Page, number: int, used: int) -> HttpResponse:
        asked = request(config, run, page, number)
        asked = replace(asked, timeout=max(0.001, deadline - time.monotonic()), max_bytes=asked.max_bytes - used)
        return _send(config, run, asked, http, signer)

    if config.pagination is None:
        response = send(paging.Page(), 1, 0)
        output = {"status_code": response.status, "headers": dict(response.headers), **body_of(response)}
        calls = 1
    else:
        output = _pages(config, config.pagination, send)
        calls = output["pages"]
    output["elapsed_ms"] = round((time.monotonic() - started) * 1000)
    return result(output, calls=calls)


def _pages(
    config: HttpConfig, pages: Pagination, send: Callable[[paging.Page, int, int], HttpResponse]
) -> dict[str, Json]:
    items: list[Json] = []
    read, seen, used = paging.Read(), paging.Seen(), 0
    page: paging.Page | None = paging.first(pages)
    while page is not None and read.pages < pages.max_pages and len(items) < pages.max_items:
        seen.check(page)
        response = send(page, read.pages + 1, used)
        used += len(response.body)
        body = body_of(response)["body"]
        found = paging.items_of(pages, body)
        items += found
        read = paging.Read(read.pages + 1, len(items), len(found))
        page = paging.following(pages, config.url, response, body, read)
    return {
        "status_code": response.status, "headers": dict(response.headers), "body": items[: pages.max_items],
        "pages": read.pages, "more": page is not None or len(items) > pages.max_items,
    }


def _send(
    config: HttpConfig, run: StepRun, asked: HttpRequest, http: Http, signer: Callable[[], Signer]
) -> HttpResponse:
    auth = config.auth
    if auth is not None and auth.type == "sigv4":
        for secret in (auth.secret_key, auth.session_token):
            run.redactor.learn(secret)
        keys = AwsKeys(auth.access_key, auth.secret_key, auth.session_token, auth.region, auth.service)
        asked = signer().sign(asked, keys)
    response = http.send(asked)
    if not expected(response.status, config.expected_status):
        raise http_error(
            response.status,
            f"{config.method} {_shown(config.url, run)} answered {response.status}{_excerpt(response, run)}",
            retry_after=retry_after(response.headers.get("retry-after"), time.time()),
        )
    return response


def request(config: HttpConfig, run: StepRun, page: paging.Page, number: int = 1) -> HttpRequest:
    """The request that a configuration describes, for a page of it (the first has number 1)."""
    headers = {name: render(value) for name, value in config.headers.items() if value is not None}
    for name, value in headers.items():
        if any(character in name + value for character in "\r\n\0") or not name.isascii() or not name.strip():
            raise ValidationError(f"the header {name[:40]!r} cannot be sent")
    given = {name.lower() for name in headers}
    parameters = dict(page.parameters or {})
    in_body = parameters if config.pagination is not None and config.pagination.location == "body" else {}
    # An address that a page gave holds the query already.
    query = [] if page.url is not None else _pairs({**config.query, **({} if in_body else parameters)})
    url = page.url or config.url
    if config.auth is not None and config.auth.type != "sigv4":
        name, value = _credentials(config.auth, run)
        if config.auth.type == "api_key" and config.auth.location == "query":
            if page.url is None or name not in urllib.parse.parse_qs(urllib.parse.urlsplit(url).query):
                query.append((name, value))
        elif name.lower() not in given:
            headers[name] = value
    body, content_type = body_for(config, in_body)
    if content_type and "content-type" not in given:
        headers["Content-Type"] = content_type
    if "user-agent" not in given:
        headers["User-Agent"] = "aslant"
    if config.method in _UNREPEATABLE and "idempotency-key" not in given:
        headers["Idempotency-Key"] = run.idempotency_key if number == 1 else f"{run.idempotency_key}-{number}"
    tls = None
    if config.tls is not None:
        run.redactor.learn(config.tls.key)
        run.redactor.learn(config.tls.password)
        tls = ClientTls(config.tls.certificate, config.tls.key, config.tls.password, config.tls.ca)
    return HttpRequest(
        config.method, _with_query(url, query), headers, body, run.remaining(config.timeout),
        config.max_response_bytes, 10 if config.follow_redirects else 0, tls,
    )


def body_for(config: HttpConfig, more: dict[str, Json]) -> tuple[bytes | None, str]:
    """The body's bytes and content type. A text that is a JSON object or list is sent as JSON, other texts as text.

    `more` are keys that a JSON body has besides.
    """
    if more:
        data = config.json_body if config.json_body is not None else config.body
        if not isinstance(data, dict | None):
            raise ValidationError("parameters of pages in the body need a `json` body with keys")
        return compact({**(data or {}), **more}).encode("utf-8", "surrogatepass"), "application/json"
    if config.form is not None:
        return urllib.parse.urlencode(_pairs(config.form)).encode(), "application/x-www-form-urlencoded"
    if config.json_body is not None:
        return compact(config.json_body).encode("utf-8", "surrogatepass"), "application/json"
    if config.body is None:
        return None, ""
    if not isinstance(config.body, str):
        return compact(config.body).encode("utf-8", "surrogatepass"), "application/json"
    kind = "application/json" if _is_json_text(config.body) else "text/plain; charset=utf-8"
    return config.body.encode("utf-8", "surrogatepass"), kind


def body_of(response: HttpResponse) -> dict[str, Json]:
    """`body`, and `body_encoding` where it is base64."""
    if not response.body:
        return {"body": None}
    # Not the standard library's reader of parameters: it needs square time for quotes, and fails at odd ones.
    kind = response.headers.get("content-type", "")[:_LONGEST_KIND]
    media, said = kind.partition(";")[0].strip().lower(), _SAID.search(kind)
    text = _decoded(response.body, said[1] if said else "utf-8")
    if text is None:
        return {"body": base64.b64encode(response.body).decode(), "body_encoding": "base64"}
    if media == "application/json" or media.endswith("+json"):
        try:
            return {"body": read_json(text)}
        except ValueError:
            pass
    return {"body": text}


def _decoded(body: bytes, charset: str) -> str | None:
    """The body's text; None when it is none in this character set, or the set is none that the web uses."""
    name = charset.lower()
    if not _CHARSET.match(name):
        return None
    try:
        return body.decode(name)
    except (ValueError, LookupError):
        return None


def expected(status: int, wanted: list[int | str]) -> bool:
    """Whether a status is one of `200`, `"2xx"`, `"200-204"`."""
    for each in wanted:
        low, _, high = str(each).partition("-")
        if low.endswith("xx"):
            if status // 100 == int(low[0]):
                return True
        elif int(low) <= status <= int(high or low):
            return True
    return False


def _credentials(auth: Auth, run: StepRun) -> tuple[str, str]:
    for secret in (auth.token, auth.password, auth.key):
        run.redactor.learn(secret)
    if auth.type == "bearer":
        return _line("Authorization", f"Bearer {auth.token}")
    if auth.type == "basic":
        encoded = base64.b64encode(f"{auth.username}:{auth.password}".encode()).decode()
        run.redactor.learn(encoded)
        return "Authorization", f"Basic {encoded}"
    return _line(auth.name, auth.key)


def _line(name: str, value: str) -> tuple[str, str]:
    if any(character in name + value for character in "\r\n\0"):
        raise ValidationError("the credentials hold a line break")
    return name, value


def _pairs(values: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, render(item))
        for name, value in values.items()
        for item in (value if isinstance(value, list) else [value])
        if item is not None
    ]


def _with_query(url: str, query: list[tuple[str, str]]) -> str:
    if not query:
        return url
    address, mark, fragment = url.partition("#")
    return address + ("&" if "?" in address else "?") + urllib.parse.urlencode(query) + mark + fragment


# Secrets leave before a text is cut: half of one would not be recognized.
def _shown(url: str, run: StepRun) -> str:
    return run.redactor.text(url.partition("?")[0].partition("#")[0])[:300]


def _excerpt(response: HttpResponse, run: StepRun) -> str:
    text = run.redactor.text(response.body[: _EXCERPT * 16].decode("utf-8", "replace").strip())
    return f": {text[:_EXCERPT]}" if text else ""


def _is_json_text(text: str) -> bool:
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
