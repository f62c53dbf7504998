"""Addresses that are told of an end: signed as our own webhooks want it, told again after a failure."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aslant import webhooks
from aslant.completions import PATTERN, SECRET, Completions, check_secret
from aslant.errors import AuthenticationError, HttpError, RateLimited, SecretNotFound, ServerError, ValidationError
from aslant.event_patterns import matches
from aslant.events import TYPES
from aslant.http_ports import HttpRequest, HttpResponse
from aslant.releases import WebhookFacts
from tests.unit.executions.memory import World

NOW = 1_900_000_000
FACTS: WebhookFacts = {"id": "w", "secret": "s", "header": "X-Signature-256", "timestamp": True, "window": 300, "input": {}, "fields": {}}


@dataclass
class Outside:
    """The other side, and the tenant's secrets."""

    status: int = 200
    sent: list[HttpRequest] = field(default_factory=list)

    def send(self, request: HttpRequest) -> HttpResponse:
        self.sent.append(request)
        return HttpResponse(self.status, {"retry-after": "7"}, b"", request.url)

    def get(self, tenant: str, name: str) -> str:
        if (tenant, name) != ("acme", SECRET):
            raise SecretNotFound("no such secret")
        return "shared"


@pytest.fixture
def world() -> World:
    return World()


def detail(id: str, event: str = "workflow_failed", status: str = "failed") -> dict[str, Any]:
    return {"event_id": "e-1", "event_type": event, "tenant_id": "acme", "execution_id": id, "workflow_id": "flow",
        "timestamp": "2030-01-01T00:00:00.000Z", "payload": {"status": status, "webhook": True}}


def tell(world: World, outside: Outside, given: dict[str, Any]) -> bool:
    made: Any = outside
    return Completions(world.store, made, made, lambda: float(NOW)).tell(given)


def test_the_call_is_one_that_our_own_webhooks_take(world: World) -> None:
    outside = Outside()
    made = world.service.start("acme", "flow", {}, user="ann", options={"webhook_url": "https://example.com/x?key=s3cret"})
    assert tell(world, outside, detail(made.id))
    (request,) = outside.sent
    headers = {name.lower(): value for name, value in request.headers.items()}
    assert request.body is not None and request.url == "https://example.com/x?key=s3cret"
    webhooks.check(FACTS, "shared", headers, request.body, NOW + 100)
    with pytest.raises(AuthenticationError):
        webhooks.check(FACTS, "shared", headers, request.body + b" ", NOW)
    assert webhooks.delivery(headers, request.body)[0] == "e-1", "told again, it is the same delivery"
    body = json.loads(request.body)
    assert body["execution"]["id"] == made.id and body["execution"]["status"] == "failed" and "output" not in body
    assert "s3cret" not in request.body.decode()


@pytest.mark.parametrize(("status", "error"), [(500, ServerError), (429, RateLimited), (302, HttpError), (404, Exception)])
def test_what_is_not_taken_comes_again(world: World, status: int, error: type[Exception]) -> None:
    made = world.service.start("acme", "flow", {}, user="ann", options={"webhook_url": "https://example.com/x"})
    with pytest.raises(error):
        tell(world, Outside(status), detail(made.id))


def test_what_asked_for_nothing_is_told_nothing(world: World) -> None:
    outside = Outside()
    made = world.service.start("acme", "flow", {}, user="ann")
    assert not tell(world, outside, detail(made.id)) and not tell(world, outside, detail("gone")) and outside.sent == []


def test_nothing_is_sent_that_cannot_be_signed() -> None:
    made: Any = Outside()
    check_secret(made, "acme")
    with pytest.raises(ValidationError, match=SECRET):
        check_secret(made, "other")


def test_the_rule_takes_ends_that_somebody_waits_for() -> None:
    found = set()
    for name in TYPES:
        for sample in (json.loads((Path(__file__).parents[3] / f"events/bus/{name}.json").read_text()),):
            assert not matches(PATTERN, sample), "nobody asked"
            sample["detail"].setdefault("payload", {})["webhook"] = True
            if matches(PATTERN, sample):
                found.add(name)
    assert found == {f"workflow_{end}" for end in ("completed", "failed", "cancelled", "timed_out", "rolled_back")}
