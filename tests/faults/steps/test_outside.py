"""Steps that reach out and are killed between their effect and its record: the other side can tell that it is the same."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import urllib3.connection  # noqa: F401 - the first request would spend its time on it

from tests.faults.steps.support import Context, Killed
from tests.unit.functions.conftest import Answer, Server
from tests.unit.runtime.fakes import MemorySteps


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server = Server()
    monkeypatch.setenv("ASLANT_HTTP_ALLOW", "127.0.0.1")
    monkeypatch.setenv("ASLANT_SKILLS", json.dumps({"book": f"{server.url}/effect"}))
    server.json("/effect", {"done": True})
    tool = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"seat": 7}'}}

    def chat(seen: Any) -> Answer:
        last = json.loads(seen.body)["messages"][-1]["role"]
        message = {"content": "booked"} if last == "tool" else {"content": None, "tool_calls": [tool]}
        body = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
        return Answer(200, body.encode(), {"Content-Type": "application/json"})

    server.answers["/v1/chat/completions"] = chat
    yield server
    server.close()


CASES: dict[str, Callable[[str], dict[str, Any]]] = {
    "http": lambda url: {"url": f"{url}/effect", "method": "POST", "json": {"seat": 7}},
    "notify": lambda url: {"channel": "webhook", "url": f"{url}/effect", "message": "seat 7"},
    "agent": lambda url: {"prompt": "Book seat 7", "model": "m", "endpoint": {"url": f"{url}/v1"}, "tools": ["book"]},
    "skill": lambda url: {"skill": "book", "parameters": {"seat": 7}},
}


@pytest.mark.parametrize("kind", CASES)
def test_killed_after_the_effect(kind: str, server: Server, use: Callable[..., None]) -> None:
    deaths = [Killed()]

    def before(name: str) -> None:
        if name == "finish" and deaths:
            raise deaths.pop()

    use(MemorySteps(), before=before)
    handler = importlib.import_module(f"functions.steps.{kind}.handler").handler
    event = {"step": "s", "type": kind, "execution": {"id": "e1", "tenant": "acme", "workflow": "w", "run": 1},
             "config": CASES[kind](server.url)}
    with pytest.raises(Killed):
        handler(event, Context(1.5))  # the lease that the next attempt waits for
    second = handler(event, Context(20))["output"]
    assert handler(event, Context(20))["output"] == second, "what is recorded is not done again"
    effects = [seen for seen in server.seen if seen.path == "/effect"]
    assert len(effects) == 2 and len({seen.headers["idempotency-key"] for seen in effects}) == 1
    assert len({seen.body for seen in effects}) == 1
