"""The API of an `aslant dev` in this process, and callers of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import urllib3

from infra.local.dev import Dev, dev
from infra.local.home import Home
from infra.local.issuer import Issuer

ASK = """\
dialect: canonical
id: {id}
version: 1.0.0
inputs: {{who: {{type: string, default: you}}}}
outputs: {{text: "{{{{ steps.greet.output }}}}"}}
steps:
  - {{id: ask, type: approval, config: {{message: "On?", timeout: 3600}}}}
  - {{id: greet, type: transform, depends_on: [ask], config: {{data: "hello {{{{ input.who }}}}"}}}}
"""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Any
    body: Any  # of JSON as data, else as text


@dataclass(frozen=True, slots=True)
class Api:
    """A running API. `http` keeps connections."""

    running: Dev
    http: urllib3.PoolManager

    def token(self, *, tenant: str = "acme", user: str = "ann", roles: Sequence[str] = ("admin",), seconds: int = 600) -> str:
        issuer = Issuer(self.running.home.path)
        return issuer.token(tenant=tenant, user=user, roles=roles, seconds=seconds, settings=self.running.settings)

    def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, headers: dict[str, str] | None = None,
        **who: Any,
    ) -> Answer:
        """A request under /api/v1. Data is sent as JSON, a text as YAML; `token` an empty text sends none."""
        given = dict(headers or {})
        secret = self.token(**who) if token is None else token
        if secret:
            given["Authorization"] = f"Bearer {secret}"
        raw = None
        if isinstance(body, str):
            raw, given["Content-Type"] = body.encode(), "application/yaml"
        elif body is not None:
            raw, given["Content-Type"] = json.dumps(body).encode(), "application/json"
        url = self.running.api.url + ("" if path in ("/health", "/ready", "/metrics", "/openapi.json", "/docs") else "/api/v1") + path
        answer = self.http.request(method, url, body=raw, headers=given, timeout=30, retries=False)
        text = answer.data.decode()
        is_json = "json" in answer.headers.get("Content-Type", "")
        return Answer(answer.status, answer.headers, json.loads(text) if is_json and text else text)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with (
        dev(Home(tmp_path_factory.mktemp("api") / ".aslant"), port=0) as running,
        urllib3.PoolManager(maxsize=10) as http,
    ):
        yield Api(running, http)


def definition(id: str) -> str:
    """A workflow that asks, then greets."""
    return ASK.format(id=id)
