"""The resolver under threads, and with bodies of any kind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from functions.api.resolver import Resolver

AT_ONCE = 4


def request(who: str, path: str = "/who", method: str = "GET", body: str | None = None, encoded: bool = False) -> dict[str, Any]:
    event: dict[str, Any] = {
        "version": "2.0", "rawPath": path, "rawQueryString": "", "headers": {"who": who, "content-type": "application/json"},
        "requestContext": {"http": {"method": method, "path": path}, "stage": "$default", "requestId": who}, "isBase64Encoded": encoded}
    return event if body is None else {**event, "body": body}


def made(kind: type[APIGatewayHttpResolver]) -> tuple[APIGatewayHttpResolver, threading.Barrier]:
    """A resolver whose one route waits until as many requests are in it."""
    everybody, router, app = threading.Barrier(AT_ONCE, timeout=10), APIGatewayHttpRouter(), kind(enable_validation=True)

    def note(app: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Any:
        app.append_context(who=app.current_event.headers["who"])  # type: ignore[no-untyped-call]
        return next_middleware(app)

    @router.get("/who")
    def who() -> dict[str, str]:
        everybody.wait()
        found = {"event": router.current_event.headers["who"], "context": router.context["who"]}
        everybody.wait()
        return found

    app.use(middlewares=[note])
    app.include_router(router)
    if isinstance(app, Resolver):
        app.prepare()
    return app, everybody


def answers(app: APIGatewayHttpResolver) -> list[str]:
    names = [f"n{number}" for number in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda name: str(app.resolve(request(name), object())["body"]), names))  # type: ignore[arg-type]


def test_requests_at_the_same_time_are_not_mixed() -> None:
    app, _ = made(Resolver)
    expected = [f'{{"event":"n{number}","context":"n{number}"}}' for number in range(AT_ONCE)]
    for _ in range(5):
        assert answers(app) == expected


def test_the_resolver_of_powertools_still_mixes_them() -> None:
    """Once it does not, `functions/api/resolver.py` is not needed any more."""
    app, everybody = made(APIGatewayHttpResolver)
    mixed = False
    try:
        mixed = len(set(answers(app))) < AT_ONCE
    except Exception:  # a KeyError, a TypeError: whatever the mixture ends in
        mixed = True
    finally:
        everybody.abort()
    assert mixed


@pytest.mark.parametrize("body", ["{", "nul", '{"a": 1e999}', '{"a": NaN}', "[" * 100_000 + "]" * 100_000, '{"a": ' + "9" * 5_000 + "}"])
def test_a_body_that_is_no_json(body: str) -> None:
    assert _posted(body)["statusCode"] == 422


def test_a_body_that_is_no_text() -> None:
    assert _posted("//4=", encoded=True)["statusCode"] == 422
    assert _posted("eyJhIjogMX0=", encoded=True)["statusCode"] == 200


def _posted(body: str, *, encoded: bool = False) -> dict[str, Any]:
    app = Resolver(enable_validation=True)

    @app.post("/take")
    def take(given: dict[str, Any]) -> dict[str, Any]:
        return given

    app.prepare()
    return app.resolve(request("a", "/take", "POST", body, encoded), object())
