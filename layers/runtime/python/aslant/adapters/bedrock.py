"""Language models through Amazon Bedrock's Converse API, in one piece or as a stream.

docs.aws.amazon.com/bedrock/latest/APIReference: API_runtime_Converse, API_runtime_ConverseStream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.errors import ModelError, NetworkError
from aslant.model_ports import ModelAnswer, ModelMessage, ModelRequest, ToolCall
from aslant.values import read_json

_REFUSED = frozenset({"guardrail_intervened", "content_filtered"})


@dataclass(frozen=True, slots=True)
class Bedrock:
    region: str

    def ask(self, request: ModelRequest) -> ModelAnswer:
        arguments: dict[str, Any] = {
            "modelId": request.model, "messages": [_message(each) for each in request.messages],
            "inferenceConfig": {"maxTokens": request.max_tokens, "temperature": min(request.temperature, 1.0)},
        }
        if request.system:
            arguments["system"] = [{"text": request.system}]
        if request.tools:
            arguments["toolConfig"] = {"tools": [
                {"toolSpec": {"name": tool.name, "description": tool.description or tool.name,
                              "inputSchema": {"json": dict(tool.parameters)}}}
                for tool in request.tools
            ]}  # fmt: skip
        # The client's time-out is as long as a function may run; the machine's own ends the attempt before.
        runtime = client("bedrock-runtime", self.region, read_timeout=890)
        with calling(f"asking the model {request.model}"):
            if request.on_text is None:
                answer = runtime.converse(**arguments)
                content = answer.get("output", {}).get("message", {}).get("content", [])
                return _answer(request.model, content, answer.get("usage", {}), answer.get("stopReason"))
            return _streamed(request.model, runtime.converse_stream(**arguments)["stream"], request.on_text)


def _message(message: ModelMessage) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
    content += [
        {"toolUse": {"toolUseId": call.id, "name": call.name,
                     "input": call.arguments if isinstance(call.arguments, dict) else {}}}
        for call in message.calls
    ]  # fmt: skip
    content += [
        {"toolResult": {"toolUseId": each.id, "content": [{"text": each.text}],
                        "status": "error" if each.failed else "success"}}
        for each in message.results
    ]  # fmt: skip
    return {"role": message.role, "content": content}


def _answer(model: str, content: Iterable[Mapping[str, Any]], usage: Mapping[str, Any], reason: Any) -> ModelAnswer:
    if reason in _REFUSED:
        raise ModelError(f"the model {model} refused to answer ({reason})")
    parts = list(content)
    calls = [
        ToolCall(str(part["toolUse"]["toolUseId"]), str(part["toolUse"]["name"]), part["toolUse"].get("input"))
        for part in parts if "toolUse" in part
    ]  # fmt: skip
    return ModelAnswer(
        "".join(part["text"] for part in parts if "text" in part), int(usage.get("inputTokens", 0)),
        int(usage.get("outputTokens", 0)), str(reason or "end_turn"), calls,
    )


def _streamed(model: str, stream: Iterable[Mapping[str, Any]], told: Callable[[str], None]) -> ModelAnswer:
    """Blocks of the answer by their index: texts, and calls whose arguments come as pieces of JSON."""
    texts: dict[int, str] = {}
    calls: dict[int, dict[str, str]] = {}
    usage: Mapping[str, Any] = {}
    reason = None
    for event in stream:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            if "toolUse" in start.get("start", {}):
                use = start["start"]["toolUse"]
                calls[start["contentBlockIndex"]] = {"id": use["toolUseId"], "name": use["name"], "input": ""}
        elif "contentBlockDelta" in event:
            index, delta = event["contentBlockDelta"]["contentBlockIndex"], event["contentBlockDelta"]["delta"]
            if "text" in delta:
                texts[index] = texts.get(index, "") + delta["text"]
                told(delta["text"])
            elif "toolUse" in delta and index in calls:
                calls[index]["input"] += delta["toolUse"]["input"]
        elif "messageStop" in event:
            reason = event["messageStop"]["stopReason"]
        elif "metadata" in event:
            usage = event["metadata"].get("usage", {})
    if reason is None:
        raise NetworkError(f"the answer of the model {model} broke off")
    content: dict[int, dict[str, Any]] = {index: {"text": text} for index, text in texts.items()}
    for index, call in calls.items():
        content[index] = {"toolUse": {"toolUseId": call["id"], "name": call["name"], "input": _json(call["input"])}}
    return _answer(model, [content[index] for index in sorted(content)], usage, reason)


def _json(text: str) -> Any:
    try:
        return read_json(text) if text else {}
    except ValueError:
        return text
