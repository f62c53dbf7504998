"""agent steps: an OpenAI-compatible server on loopback, Bedrock's tools and streams, prices and budgets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant import bootstrap, clock, skills
from aslant.adapters import bedrock
from aslant.errors import ServerError
from aslant.model_ports import ModelAnswer
from functions.steps.agent.handler import handler
from tests.unit.functions.conftest import Answer


@pytest.fixture
def run(invocation):
    yield lambda config, **more: handler(invocation("agent", config, **more), None)
    skills.unregister()


def completion(content: str | None, reason: str = "stop", **message: Any) -> dict[str, Any]:
    return {"id": "c1", "object": "chat.completion", "model": "m", "choices": [
        {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": content, **message}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}


@pytest.fixture
def endpoint(server, loopback):
    return {"url": f"{server.url}/v1", "key": "k3y-of-the-endpoint"}


CHAT = "/v1/chat/completions"


def test_an_endpoint_of_the_step(server, endpoint, run, monkeypatch):
    monkeypatch.setenv("ASLANT_MODEL_PRICES", '{"llama": "0.5/2"}')
    server.json(CHAT, completion("Hello"))
    done = run({"prompt": "p", "model": "llama-3", "endpoint": endpoint, "system": "s", "temperature": 1.5, "max_tokens": 7})
    assert done == {"output": "Hello", "usage": {"tokens_in": 9, "tokens_out": 4, "calls": 1, "cost_usd": pytest.approx(12.5e-6)}}
    assert json.loads(server.seen[0].body) == {
        "model": "llama-3", "temperature": 1.5, "max_tokens": 7,
        "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "p"}]}
    assert server.seen[0].headers["authorization"] == "Bearer k3y-of-the-endpoint"


def test_the_endpoint_of_the_installation(server, endpoint, run, failure, monkeypatch):
    class Secrets:
        def get(self, tenant, name):
            return f"key-of-{tenant}-{name}\n"

    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets())
    assert "ASLANT_MODEL_URL" in failure({"prompt": "p", "model": "openai:gpt-4o"})[1]
    monkeypatch.setenv("ASLANT_MODEL_URL", endpoint["url"])
    monkeypatch.setenv("ASLANT_MODEL_ALIASES", '{"gpt-4": "openai:gpt-4o"}')
    server.json(CHAT, completion("Hi"))
    assert run({"prompt": "p", "model": "gpt-4"})["output"] == "Hi"
    assert json.loads(server.seen[0].body)["model"] == "gpt-4o"
    assert server.seen[0].headers["authorization"] == "Bearer key-of-acme-model_api_key"


def test_tools_of_a_chat_completion(server, endpoint, run):
    skills.register("add", lambda a, b: a + b)
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
    answers = iter([completion(None, "tool_calls", tool_calls=[call]), completion("3")])
    server.answers[CHAT] = lambda seen: Answer(200, json.dumps(next(answers)).encode(), {"Content-Type": "application/json"})
    assert run({"prompt": "1+2?", "model": "m", "endpoint": endpoint, "tools": ["add"]})["output"] == "3"
    first, second = (json.loads(seen.body) for seen in server.seen)
    assert first["tools"][0]["function"]["name"] == "add"
    assert second["messages"][1]["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}}]
    assert second["messages"][2] == {"role": "tool", "tool_call_id": "call_1", "content": "3"}


@pytest.fixture
def told(monkeypatch):
    from functions.steps.agent import progress

    texts: list[str] = []

    class Bus:
        def put(self, bus, source, kind, detail):
            texts.append(detail["payload"]["text"])
            return ""

    monkeypatch.setattr(bootstrap, "events", lambda settings: Bus())
    monkeypatch.setattr(progress, "_PAUSE", 0.0)
    return texts


def test_a_stream_of_a_chat_completion(server, endpoint, run, failure, told):
    pieces = [{"choices": [{"delta": {"role": "assistant", "content": "Hello "}}]},
              {"choices": [{"delta": {"content": "Wörld"}, "finish_reason": "stop"}]},
              {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}]
    body = "".join(f"data: {json.dumps(piece, ensure_ascii=False)}\r\n\r\n" for piece in pieces) + ": comment\n\ndata: [DONE]\n\n"
    server.answer(CHAT, 200, body.encode(), Content_Type="text/event-stream")
    config = {"prompt": "p", "model": "offline-not", "endpoint": endpoint, "stream": True}
    done = run(config)
    assert done["output"] == "Hello Wörld" and (done["usage"]["tokens_in"], done["usage"]["tokens_out"]) == (3, 2)
    assert told == ["Hello ", "Wörld"] and json.loads(server.seen[0].body)["stream"] is True
    server.answer(CHAT, 200, body.partition("\r\n")[0].encode() + b"\n\n", Content_Type="text/event-stream")
    assert failure(config)[0] == "NetworkError"
    server.answer(CHAT, 200, b"data: what\n\n", Content_Type="text/event-stream")
    assert failure(config)[0] == "ModelError"
    server.json(CHAT, completion("in one piece"))
    assert run(config)["output"] == "in one piece"


@pytest.mark.parametrize(("status", "body", "name"), [
    (401, b'{"error": {"message": "bad key k3y-of-the-endpoint"}}', "AuthenticationError"), (429, b"busy", "RateLimited"),
    (503, b"", "ServerError"), (404, b"no model", "NotFoundError"), (400, b'{"error": {"message": "too long"}}', "HttpError"),
    (200, b"<html>", "ModelError"), (200, b'{"choices": []}', "ModelError"), (302, b"", "HttpError"),
    (200, json.dumps(completion("", "content_filter")).encode(), "ModelError"),
    (200, json.dumps(completion("half", "length")).encode(), "ModelError"),
])
def test_errors_of_an_endpoint_have_classes_and_no_keys(server, endpoint, failure, status, body, name):
    server.answer(CHAT, status, body, Location="http://example.com/")
    found, text = failure({"prompt": "p", "model": "m", "endpoint": endpoint})
    assert found == name and "k3y-of" not in text


def test_an_endpoint_may_not_be_private(failure):
    assert failure({"prompt": "p", "model": "m", "endpoint": {"url": "http://169.254.169.254/v1"}})[0] == "AuthorizationError"


class Runtime:
    """boto3's client of Bedrock, with these events of a stream or this answer."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def converse(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return self.answers.pop(0)

    def converse_stream(self, **arguments: Any) -> Any:
        self.asked.append(arguments)
        return {"stream": iter(self.answers.pop(0))}


@pytest.fixture
def runtime(monkeypatch):
    def install(*answers):
        made = Runtime(*answers)
        monkeypatch.setattr(bedrock, "client", lambda service, region, **more: made)
        return made

    return install


def shape(operation: str, arguments: dict[str, Any]) -> None:
    """botocore's own model of the service takes what is sent."""
    import botocore.session
    from botocore.validate import ParamValidator

    model = botocore.session.get_session().get_service_model("bedrock-runtime").operation_model(operation)
    report = ParamValidator().validate(arguments, model.input_shape)
    assert not report.has_errors(), report.generate_report()


def test_tools_of_bedrock(runtime, run):
    skills.register("add", lambda a, b: a + b)
    use = {"toolUse": {"toolUseId": "u1", "name": "add", "input": {"a": 1, "b": 2}}}
    made = runtime(
        {"output": {"message": {"role": "assistant", "content": [{"text": "Let me see."}, use]}}, "stopReason": "tool_use",
         "usage": {"inputTokens": 5, "outputTokens": 6}},
        {"output": {"message": {"content": [{"text": "3"}]}}, "stopReason": "end_turn",
         "usage": {"inputTokens": 7, "outputTokens": 1}})
    done = run({"prompt": "1+2?", "tools": ["add"]})
    assert done["output"] == "3" and done["usage"]["tokens_in"] == 12
    for asked in made.asked:
        shape("Converse", asked)
    assert made.asked[1]["messages"][1]["content"] == [{"text": "Let me see."}, use]
    assert made.asked[1]["messages"][2]["content"] == [
        {"toolResult": {"toolUseId": "u1", "content": [{"text": "3"}], "status": "success"}}]


def test_a_stream_of_bedrock(runtime, run, failure, told):
    skills.register("add", lambda a, b: a + b)
    start = {"messageStart": {"role": "assistant"}}
    used = [start, {"contentBlockStart": {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "u1", "name": "add"}}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": '{"a": 1,'}}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"toolUse": {"input": ' "b": 2}'}}}},
            {"contentBlockStop": {"contentBlockIndex": 0}}, {"messageStop": {"stopReason": "tool_use"}},
            {"metadata": {"usage": {"inputTokens": 5, "outputTokens": 6}}}]
    said = [start, {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "It is "}}},
            {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "3."}}},
            {"messageStop": {"stopReason": "end_turn"}}, {"metadata": {"usage": {"inputTokens": 7, "outputTokens": 1}}}]
    made = runtime(used, said)
    done = run({"prompt": "1+2?", "tools": ["add"], "stream": True})
    assert done["output"] == "It is 3." and done["usage"]["tokens_out"] == 7 and told == ["It is ", "3."]
    assert made.asked[1]["messages"][1]["content"] == [
        {"toolUse": {"toolUseId": "u1", "name": "add", "input": {"a": 1, "b": 2}}}]
    for asked in made.asked:
        shape("ConverseStream", asked)
    runtime(said[:2])
    assert failure({"prompt": "p", "stream": True})[0] == "NetworkError"


@pytest.fixture
def budget(aws, monkeypatch):
    """The catalog table, and a model of one dollar a token in and two out."""
    import boto3

    from aslant import keys

    dynamodb: Any = boto3.client("dynamodb")
    dynamodb.create_table(**keys.catalog_table("aslant-catalog"))
    monkeypatch.setenv("ASLANT_MODEL_PRICES", '{"priced": "1000000/2000000"}')
    monkeypatch.setenv("ASLANT_MODEL_BUDGETS", '{"acme": "100", "*": "1"}')
    now = [1_760_000_000.0]  # in October 2025
    monkeypatch.setattr(clock, "now", lambda: now[0])

    def spent() -> dict[str, float]:
        rows = dynamodb.scan(TableName="aslant-catalog")["Items"]
        return {row["pk"]["S"]: int(row["spent"]["N"]) / 1_000_000 for row in rows}

    return now, spent


def test_a_budget_is_kept_per_tenant_and_month(budget, model, run, failure):
    now, spent = budget
    config = {"prompt": "123456789", "model": "priced", "max_tokens": 20}  # three tokens and twenty: 43 dollars at most
    scripted = model(*[ModelAnswer("x", 10, 15)] * 3)
    assert run(config)["usage"]["cost_usd"] == 40
    assert run(config)["usage"]["cost_usd"] == 40
    name, text = failure(config)
    assert name == "BudgetExceeded" and "budget of 2025-10 is 100" in text and len(scripted.requests) == 2
    assert spent() == {"acme#models#2025-10": 80}
    now[0] += 31 * 86_400
    run(config)
    assert spent() == {"acme#models#2025-10": 80, "acme#models#2025-11": 40}


def test_a_tenant_without_a_budget_of_its_own_has_that_of_all(budget, model, run):
    model()
    with pytest.raises(Exception) as caught:
        run({"prompt": "p", "model": "priced"}, execution={"id": "e", "tenant": "other", "workflow": "w"})
    assert type(caught.value).__name__ == "BudgetExceeded"


def test_a_call_that_fails_gives_its_part_of_the_budget_back(budget, model, run, failure):
    _, spent = budget
    model(ServerError("down"), ModelAnswer("half", 1, 2, "max_tokens"))
    config = {"prompt": "123456789", "model": "priced", "max_tokens": 20}
    assert failure(config)[0] == "ServerError" and spent() == {"acme#models#2025-10": 0}
    assert failure(config)[0] == "ModelError" and spent() == {"acme#models#2025-10": 5}


def test_models_without_a_price_and_prices_that_are_none(budget, model, failure, monkeypatch):
    model()
    assert "has no price" in failure({"prompt": "p", "model": "free"})[1]
    monkeypatch.setenv("ASLANT_MODEL_BUDGETS", '{"acme": "lots"}')
    assert failure({"prompt": "p", "model": "priced"})[0] == "ValidationError"
