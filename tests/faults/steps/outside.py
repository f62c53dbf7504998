"""All that steps talk to, in memory, and a configuration of each type that talks to it."""

from __future__ import annotations

import email
from typing import Any

import pytest

from aslant import bootstrap, skills
from aslant.command_ports import CommandEnd
from aslant.database_ports import QueryResult
from aslant.http_ports import HttpResponse
from aslant.kubernetes import Access, Kubernetes
from aslant.model_ports import ModelAnswer
from tests.unit.functions.cluster import Cluster


class Outside:
    """All that steps talk to. `asked` has, for each effect, what tells the other side whether it is the same one."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.fails: list[Exception] = []
        self.cluster = Cluster()

    def _act(self, what: Any) -> None:
        self.asked.append(what)
        if self.fails:
            raise self.fails.pop()

    def send(self, request: Any) -> HttpResponse:
        if request.url.startswith("https://cluster"):
            if request.method == "PATCH":
                self._act((request.url, request.body))
            return self.cluster.send(request)
        if not request.url.endswith("/robots.txt"):
            self._act((request.url, request.headers.get("Idempotency-Key"), request.body))
        return HttpResponse(200, {"content-type": "text/html"}, b"<title>x</title>", request.url)

    def publish(self, topic: str, subject: str, text: str) -> str:
        self._act((topic, text))
        return "id"

    def carry(self, envelope: Any, message: bytes, timeout: float) -> tuple[str, list[str]]:
        self._act((envelope, email.message_from_bytes(message)["Message-ID"]))
        return "", []

    def ask(self, request: Any) -> ModelAnswer:
        self._act(request.messages[0].text)
        return ModelAnswer("yes", 1, 1)

    def invoke(self, arn: str, payload: Any) -> Any:
        self._act((arn, str(payload)))
        return 1

    def run(self, request: Any, line: Any = None) -> Any:
        self._act(getattr(request, "token", request.__class__.__name__))
        return CommandEnd(0, b"", b"") if line is not None else [QueryResult([("n", "int4")], [[1]], None, False)]


CASES: dict[str, dict[str, Any]] = {
    "http": {"url": "https://example.com/a", "method": "POST", "json": {"a": 1}},
    "agent": {"prompt": "Well?", "model": "m"},
    "scrape": {"url": "https://example.com/a", "robots": False, "delay": 0},
    "transform": {"data": [1, 2], "operation": "map", "expression": "item + 1"},
    "aggregate": {"results": [1, 2], "aggregation": "sum"},
    "notify": {"topic": "arn:aws:sns:us-east-1:1:t", "message": "x"},
    "email": {"to": "ada@example.com", "body": "x"},
    "query": {"query": "select 1", "connection_string": "postgresql://u@db.example.com/d"},
    "command": {"command": "true"},
    "deploy": {"manifest": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {"replicas": 2}},
               "wait": False},
    "scale": {"resource": "deployment/shop", "replicas": 2, "wait": False},
    "skill": {"skill": "away"},
}
PURE = ("transform", "aggregate")
OUTSIDE = [kind for kind in CASES if kind not in PURE]


def put_in_place(patch: pytest.MonkeyPatch) -> Outside:
    """From now on steps talk to this. The skill that it registers is called `away`."""
    made = Outside()
    for name in ("http", "topics", "post", "functions", "commands"):
        patch.setattr(bootstrap, name, lambda settings: made)
    patch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: made)
    patch.setattr(bootstrap, "database", lambda settings, where: made)
    patch.setattr(bootstrap, "cluster", lambda settings, name, tenant, redactor, remaining: Kubernetes(
        Access("https://cluster", "t0ken"), made, remaining, sleep=lambda seconds: None))
    patch.setenv("ASLANT_EMAIL_FROM", "me@example.com")
    skills.register("away", "arn:aws:lambda:us-east-1:1:function:f")
    made.cluster.kept["/apis/apps/v1/namespaces/default/deployments/shop"] = {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "default", "generation": 1},
        "spec": {"replicas": 1}}
    return made
