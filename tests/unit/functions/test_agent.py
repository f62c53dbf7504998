"""agent steps, with a model of our own, the offline model, and Bedrock's answers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from aslant.adapters import bedrock
from aslant.inputs import misfits
from aslant.model_ports import ModelAnswer, ModelMessage
from aslant.settings import MODEL_ALIASES
from functions.steps.agent.handler import handler


def dollars(tokens_in: int, tokens_out: int) -> Any:
    """What Sonnet takes: 3 and 15 dollars for a million tokens, and a tenth more for a profile of one geography."""
    return pytest.approx(1.1 * (3 * tokens_in + 15 * tokens_out) / 1_000_000)


@pytest.fixture
def run(invocation):
    return lambda config, **more: handler(invocation("agent", config, **more), None)


def test_text_is_the_output_and_tokens_are_counted(model, run):
    scripted = model("Hello {{ x }}")
    result = run({"prompt": "Say hello", "model": "gpt-4", "temperature": 0.3, "max_tokens": 50, "system": "Be kind."})
    assert result == {"output": "Hello {{ x }}", "usage": {"tokens_in": 10, "tokens_out": 5, "calls": 1, "cost_usd": dollars(10, 5)}}
    request = scripted.requests[0]
    assert request.model == MODEL_ALIASES["gpt-4"]
    assert (request.temperature, request.max_tokens, request.system) == (0.3, 50, "Be kind.")
    assert list(request.messages) == [ModelMessage("user", "Say hello")]


@pytest.mark.parametrize(("config", "wanted"), [
    ({"model": "vendor.model-v1:0"}, "vendor.model-v1:0"),
    ({"agent_id": "claude-opus"}, MODEL_ALIASES["claude-opus"]),
    ({"agent_id": "reviewer"}, MODEL_ALIASES["claude-sonnet"]),
    ({"model": "mine"}, "arn:aws:bedrock:us-east-1:1:inference-profile/p"),
])
def test_which_model(model, run, monkeypatch, config, wanted):
    monkeypatch.setenv("ASLANT_MODEL_ALIASES", '{"mine": "arn:aws:bedrock:us-east-1:1:inference-profile/p"}')
    scripted = model("x")
    run({"prompt": "p", **config})
    assert scripted.requests[0].model == wanted


def test_an_agent_gets_its_role_its_input_and_its_parameters(model, run):
    scripted = model("x")
    run({"agent_id": "reviewer", "input": {"diff": "…"}, "parameters": {"depth": 2}})
    request = scripted.requests[0]
    assert request.system == "You are the agent reviewer."
    assert request.messages[0].text == '{"diff":"…"}\n\nParameters:\n{"depth":2}'


@pytest.mark.parametrize("text", ['["a", "b"]', '```json\n["a", "b"]\n```', 'Here you are:\n\n```\n["a", "b"]\n```\nBye.'])
def test_json_is_parsed(model, run, text):
    model(text)
    assert run({"prompt": "p", "output_format": "json"})["output"] == ["a", "b"]


def test_json_is_repaired_once(model, run, failure):
    scripted = model("Sorry: {", '{"a": 1}')
    result = run({"prompt": "p", "output_format": "json", "output_schema": {"type": "object"}})
    assert result == {"output": {"a": 1}, "usage": {"tokens_in": 20, "tokens_out": 10, "calls": 2, "cost_usd": dollars(20, 10)}}
    assert [message.role for message in scripted.requests[1].messages] == ["user", "assistant", "user"]
    assert '{"type":"object"}' in scripted.requests[0].system
    model("no", "no again")
    assert failure({"prompt": "p", "output_format": "json"})[0] == "ModelError"
    model('{"a": 1}', "[1]")
    assert run({"prompt": "p", "output_format": "json_array"})["output"] == [1]


def test_answers_that_are_cut_off_and_empty_prompts(model, failure):
    model(ModelAnswer("half", 1, 1, "max_tokens"))
    assert failure({"prompt": "p"})[0] == "ModelError"
    model()
    assert failure({"prompt": "  "})[0] == "ValidationError"
    assert failure({"temperature": 1})[1].endswith("an agent needs a `prompt` or an `input`")


@pytest.mark.parametrize("form", ["text", "markdown", "json", "json_array"])
def test_the_offline_model_is_deterministic_and_says_so(run, monkeypatch, form):
    monkeypatch.setenv("ASLANT_MODEL", "offline")
    config = {"model": "gpt-4", "prompt": 'Extract "skills" from {x}\n' + "y" * 500, "output_format": form}
    first, second = run(config), run(config, attempt=3)
    assert first == second
    assert first["output"] != run({**config, "prompt": "other"})["output"]
    assert "simulated" in json.dumps(first["output"]).lower() and "offline" in json.dumps(first["output"])
    if form == "json":
        assert first["output"]["simulated"] is True and first["output"]["model"] == "offline"
    if form == "json_array":
        assert first["output"][0]["simulated"] is True
    assert first["usage"]["tokens_in"] > 100


@pytest.mark.parametrize("schema", [
    {"type": "array", "items": {"type": "string"}, "minItems": 3},
    {"type": "object", "required": ["n", "m", "kind", "deep"], "additionalProperties": False, "properties": {
        "n": {"type": "integer", "minimum": 2.5}, "m": {"type": ["number", "null"], "exclusiveMinimum": 7}, "kind": {"enum": ["a", "b"]},
        "flag": {"type": "boolean"}, "short": {"type": "string", "maxLength": 3}, "nothing": {"type": "null"},
        "low": {"type": "number", "maximum": -2}, "deep": {"anyOf": [{"type": "object", "properties": {"x": {"const": [1]}}}]}}},
])
def test_the_offline_model_answers_by_a_schema(run, monkeypatch, schema):
    monkeypatch.setenv("ASLANT_MODEL", "offline")
    output = run({"prompt": "p", "output_format": "json", "output_schema": schema})["output"]
    assert misfits(schema, output, "it") == []
    assert ("simulated" in json.dumps(output)) == (schema["type"] == "array")


class BedrockClient:
    """What boto3's client answers to Converse."""

    def __init__(self, answer: dict[str, Any] | Exception) -> None:
        self.answer = answer
        self.arguments: dict[str, Any] = {}

    def converse(self, **arguments: Any) -> dict[str, Any]:
        self.arguments = arguments
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


@pytest.fixture
def converse(monkeypatch):
    def install(answer):
        client = BedrockClient(answer)
        monkeypatch.setattr(bedrock, "client", lambda service, region, **more: client)
        return client

    return install


def aws_error(code: str, status: int = 400) -> Exception:
    from botocore.exceptions import ClientError

    return ClientError({"Error": {"Code": code, "Message": "why"}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Converse")


def test_bedrock_converse(converse, run):
    client = converse({"output": {"message": {"role": "assistant", "content": [{"text": "He"}, {"text": "llo"}]}},
                       "usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9}, "stopReason": "end_turn"})
    result = run({"prompt": "p", "model": "claude-sonnet", "temperature": 1.5, "output_format": "markdown"})
    assert result == {"output": "Hello", "usage": {"tokens_in": 7, "tokens_out": 2, "calls": 1, "cost_usd": dollars(7, 2)}}
    assert client.arguments == {
        "modelId": MODEL_ALIASES["claude-sonnet"], "messages": [{"role": "user", "content": [{"text": "p"}]}],
        "inferenceConfig": {"maxTokens": 2000, "temperature": 1.0}, "system": [{"text": "Answer in Markdown."}]}


@pytest.mark.parametrize(("code", "status", "name"), [
    ("ThrottlingException", 429, "RateLimited"), ("ModelTimeoutException", 408, "StepTimeout"),
    ("AccessDeniedException", 403, "AuthorizationError"), ("ValidationException", 400, "ValidationError"),
    ("ServiceUnavailableException", 503, "ServerError"), ("ResourceNotFoundException", 404, "NotFoundError"),
    ("InternalServerException", 500, "ServerError"),
])
def test_bedrock_errors_have_classes(converse, failure, code, status, name):
    converse(aws_error(code, status))
    found, message = failure({"prompt": "p"})
    assert found == name and "asking the model" in message


def test_a_refusal_is_a_model_error(converse, failure):
    converse({"output": {"message": {"content": []}}, "stopReason": "guardrail_intervened", "usage": {}})
    assert failure({"prompt": "p"})[0] == "ModelError"
