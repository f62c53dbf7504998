"""API Gateway's part on this machine: an HTTP request as the event that the API's function gets, and its answer back.

https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html (format 2.0)
"""

from __future__ import annotations

import base64
import json
import re
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, unquote

from infra.local import issuer
from infra.local.functions import ACCOUNT, Functions
from infra.local.websocket import Sockets

Environ = Mapping[str, Any]
Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]
_GONE = {410: [("x-amzn-ErrorType", "GoneException")]}
MAX_BODY = 10_000_000  # bytes, as API Gateway has it


def gateway(functions: Functions, function: str, keys: Callable[[], bytes], sockets: Sockets) -> Application:
    """A WSGI application that has `function` answer every request, but the one for the keys of tokens and WebSockets.

    A WebSocket is at /executions/ID/stream, or at /stream?execution=ID as on AWS.
    """

    def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO") == issuer.PATH:
            start_response("200 OK", [("Content-Type", "application/json")])
            return [keys()]
        path, method = str(environ.get("PATH_INFO") or ""), str(environ["REQUEST_METHOD"])
        if str(environ.get("HTTP_UPGRADE", "")).lower() == "websocket":
            found = re.fullmatch(r"(?:/(?:api/)?v1)?(?:/workflows)?/executions/([^/]+)/stream|/stream", path)
            if found is not None:
                own = f"&execution={quote(found[1])}" if found[1] else ""
                return sockets.serve(environ, str(environ.get("QUERY_STRING") or "") + own, start_response)
        if path.startswith("/@connections/") and method in ("POST", "DELETE") and "HTTP_ORIGIN" not in environ:
            data = environ["wsgi.input"].read(min(int(environ.get("CONTENT_LENGTH") or 0), MAX_BODY))
            status = sockets.manage(method, unquote(path.removeprefix("/@connections/")), data)
            start_response(f"{status} -", [("Content-Length", "0"), *_GONE.get(status, ())])
            return [b""]
        if int(environ.get("CONTENT_LENGTH") or 0) > MAX_BODY:
            start_response("413 Content Too Large", [("Content-Type", "application/json")])
            return [b'{"message":"Request Entity Too Large"}']
        invocation = functions.invoke(function, json.dumps(event_of(environ)))
        if invocation.error:
            start_response("500 Internal Server Error", [("Content-Type", "application/json")])
            return [b'{"message":"Internal Server Error"}']
        return _answer(json.loads(invocation.payload), start_response)

    return application


def event_of(environ: Environ) -> dict[str, Any]:
    """The event of a request. Header names are in lower case; what comes twice is joined by commas."""
    path = unquote(str(environ.get("PATH_INFO") or "/").encode("latin-1").decode("utf-8", "replace"))
    query = str(environ.get("QUERY_STRING") or "")
    headers = {name[5:].replace("_", "-").lower(): str(value) for name, value in environ.items() if name.startswith("HTTP_")}
    for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
        if environ.get(name):
            headers[name.replace("_", "-").lower()] = str(environ[name])
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    try:
        text, encoded = body.decode(), False
    except UnicodeDecodeError:
        text, encoded = base64.b64encode(body).decode(), True
    now = time.time()
    event = {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query, "headers": headers,
        "requestContext": {
            "accountId": ACCOUNT, "apiId": "local", "domainName": headers.get("host", "localhost"), "stage": "$default",
            "http": {
                "method": str(environ["REQUEST_METHOD"]), "path": path, "protocol": str(environ.get("SERVER_PROTOCOL", "")),
                "sourceIp": str(environ.get("REMOTE_ADDR", "")), "userAgent": headers.get("user-agent", ""),
            },
            "requestId": str(uuid.uuid4()), "routeKey": "$default", "timeEpoch": int(now * 1000),
            "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        },
        "isBase64Encoded": encoded,
    }  # fmt: skip
    if query:
        event["queryStringParameters"] = _query(query)
    if body:
        event["body"] = text
    return event


def _query(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split("&"):
        name, _, value = (unquote(each.replace("+", " ")) for each in part.partition("="))
        if name:
            found[name] = f"{found[name]},{value}" if name in found else value
    return found


def _answer(result: Any, start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The answer that a function's result stands for; what is no answer object is a body of JSON."""
    if not isinstance(result, dict) or "statusCode" not in result:
        result = {"statusCode": 200, "headers": {"content-type": "application/json"}, "body": json.dumps(result)}
    body = str(result.get("body") or "")
    raw = base64.b64decode(body) if result.get("isBase64Encoded") else body.encode()
    headers = [(str(name), str(value)) for name, value in (result.get("headers") or {}).items()]
    headers += [("Set-Cookie", str(one)) for one in result.get("cookies") or ()]
    if not any(name.lower() == "content-length" for name, _ in headers):
        headers.append(("Content-Length", str(len(raw))))
    start_response(f"{int(result['statusCode'])} -", headers)
    return [raw]
