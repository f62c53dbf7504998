"""A secret goes through every type of step, and comes out nowhere: not in results, errors, records, requests or lines."""

from __future__ import annotations

import importlib
import json
import logging
import traceback
from typing import Any

import pytest

from aslant import bootstrap, errors, skills
from aslant.http_ports import HttpResponse
from aslant.model_ports import ModelAnswer
from tests.unit.runtime.fakes import MemorySteps

CANARY = "tr0ub4dor&3-correct-horse"
SECRET = [{"secret": "canary"}]
FAILS = [False, True]


class Leaky:
    """Every port at once: gives back, or raises, whatever it is told."""

    def __init__(self, fails: bool) -> None:
        self.fails, self.seen, self.stored = fails, 0, ""

    def _leak(self, *told: Any) -> str:
        text = json.dumps([str(each) for each in told])
        assert CANARY in text or json.dumps(CANARY)[1:-1] in text, "the step has to use the secret"
        self.seen += 1
        if self.fails:
            raise errors.NetworkError(f"could not send {told!r}", retry_after=1)
        return text

    def send(self, *given: Any) -> Any:
        text = self._leak(*given)
        if len(given) > 1:
            return "message"
        return HttpResponse(200, {"content-type": "application/json", "x-echo": CANARY}, text.encode(), given[0].url)

    def ask(self, request: Any) -> ModelAnswer:
        return ModelAnswer(self._leak(request.messages, request.system), 10, 10)

    def publish(self, *given: Any) -> str:
        return self._leak(*given)

    def put(self, *given: Any) -> str:
        return self._leak(*given)

    def request(self, config: Any, **more: Any) -> Any:
        """An approval that is asked for: it is stored, and shown to people."""
        self.seen += 1
        self.stored += repr((config, more))
        if self.fails:
            raise errors.NetworkError(f"could not store {config}")
        return {"approval_id": "a", "status": "decided"}, {}

    def invoke(self, arn: str, payload: Any) -> Any:
        return {"echo": self._leak(payload)}


class Secrets:
    def get(self, tenant: str, name: str) -> str:
        return CANARY


CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "http": ({"url": "https://example.com", "method": "POST", "body": {"a": ""}, "auth": {"type": "bearer", "token": ""}},
             ["/auth/token", "/body/a"]),
    "notify": ({"channel": ["sns", "event", "webhook"], "topic": "arn:aws:sns:us-east-1:1:t", "url": "https://example.com",
                "message": ""}, ["/message"]),
    "agent": ({"model": "claude-haiku", "prompt": ""}, ["/prompt"]),
    "skill": ({"skill": "leak", "parameters": {"key": ""}}, ["/parameters/key"]),
    "transform": ({"operation": "map", "expression": "item", "data": ["", "b"]}, ["/data/0"]),
    "aggregate": ({"results": ["", "y"]}, ["/results/0"]),
    "approval": ({"message": ""}, ["/message"]),
}


@pytest.fixture
def sinks(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Any:
    """All that was written down anywhere."""
    caplog.set_level(logging.DEBUG)
    store = MemorySteps()
    monkeypatch.setattr(bootstrap, "steps", lambda settings: store)
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())

    def everything() -> str:
        return json.dumps([[str(record) for record in store.records.values()],
                           [record.getMessage() for record in caplog.records]])

    return everything


def clean(text: str) -> bool:
    spellings = (CANARY, json.dumps(CANARY)[1:-1], CANARY.replace("&", "%26"), CANARY.replace("&", "&amp;"), CANARY.upper())
    return not any(each in text for each in spellings)


@pytest.mark.parametrize("fails", FAILS)
@pytest.mark.parametrize("kind", CASES)
def test_a_secret_comes_out_nowhere(kind, fails, sinks, monkeypatch):
    port = Leaky(fails)
    for name in ("http", "functions", "topics", "mailer", "events"):
        monkeypatch.setattr(bootstrap, name, lambda settings: port)
    monkeypatch.setattr(bootstrap, "models", lambda settings, config, endpoint=None: port)
    monkeypatch.setattr(bootstrap, "approvals", lambda settings: port)
    monkeypatch.setenv("ASLANT_SIMULATE", str(int(not fails)))

    def leak(key: str) -> Any:
        return {"echo": port._leak(key)}

    skills.register("leak", leak)
    config, places = CASES[kind]
    if fails and kind == "transform":
        config = {"operation": "map", "expression": "undefined_function(item)", "data": ["", "b"]}
    if fails and kind == "aggregate":
        config = {**config, "aggregation": "sum", "field": "n"}
    event = {"step": "s", "token": "task-token", "type": kind, "config": config, "secrets": dict.fromkeys(places, SECRET),
        "execution": {"id": "e", "tenant": "t", "workflow": "w"}}
    handler = importlib.import_module(f"functions.steps.{kind}.handler").handler
    try:
        told = json.dumps(handler(event, None))
        failed = False
    except errors.StepError as error:
        told = "".join(traceback.format_exception(error)) + repr(vars(error))
        failed = True
    finally:
        skills.unregister("leak")
    assert failed is (fails and kind != "aggregate"), told
    assert port.seen or kind in ("transform", "aggregate")
    assert clean(told) and clean(sinks()) and clean(port.stored)
    assert "step failed" in sinks() if failed else "step completed" in sinks()
