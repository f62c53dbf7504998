"""Language models of any server that speaks OpenAI's chat completions (platform.openai.com/docs/api-reference/chat)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aslant.errors import ModelError, NetworkError, http_error, retry_after
from aslant.http_ports import Http, HttpRequest
from aslant.model_ports import ModelAnswer, ModelEndpoint, ModelMessage, ModelRequest, ToolCall
from aslant.values import compact, read_json

_MAX_ANSWER = 10_000_000
_CUT = {"length": "max_tokens", "tool_calls": "tool_use", "stop": "end_turn"}


@dataclass(frozen=True, slots=True)
class OpenAiModels:
    endpoint: ModelEndpoint
    http: Http

    def ask(self, request: ModelRequest) -> ModelAnswer:
        body: dict[str, Any] = {
            "model": request.model, "temperature": request.temperature, "max_tokens": request.max_tokens,
            "messages": [{"role": "system", "content": request.system}] if request.system else [],
        }
        for message in request.messages:
            body["messages"] += _messages(message)
        if request.tools:
            body["tools"] = [
                {"type": "function", "function": {
                    "name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}}
                for tool in request.tools
            ]  # fmt: skip
        stream = _Stream(request.on_text) if request.on_text is not None else None
        if stream is not None:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream" if stream else "application/json"}
        if self.endpoint.key:
            headers["Authorization"] = f"Bearer {self.endpoint.key}"
        response = self.http.send(HttpRequest(
            "POST", self.endpoint.url.rstrip("/") + "/chat/completions", headers,
            compact(body).encode("utf-8", "surrogatepass"), request.timeout, _MAX_ANSWER, 0,
            on_data=stream.read if stream is not None else None,
        ))  # fmt: skip
        if response.status // 100 != 2:
            raise http_error(
                response.status, f"the model {request.model} answered {response.status}: {_reason(response.body)}",
                retry_after=retry_after(response.headers.get("retry-after"), time.time()),
            )
        try:
            if stream is not None and "json" not in response.headers.get("content-type", ""):
                return stream.answer(request.model)
            data = read_json(response.body)
            choice = data["choices"][0]
            return _answer(request.model, choice["message"], choice.get("finish_reason"), data.get("usage"))
        except (ValueError, LookupError, TypeError, AttributeError):
            raise ModelError(f"the server of the model {request.model} did not answer as a chat completion") from None


def _messages(message: ModelMessage) -> list[dict[str, Any]]:
    if message.results:
        return [{"role": "tool", "tool_call_id": each.id, "content": each.text} for each in message.results]
    found: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {
                "name": call.name,
                "arguments": call.arguments if isinstance(call.arguments, str) else compact(call.arguments)}}
            for call in message.calls
        ]  # fmt: skip
    return [found]


def _answer(model: str, message: Mapping[str, Any], reason: Any, usage: Any) -> ModelAnswer:
    if reason == "content_filter" or message.get("refusal"):
        raise ModelError(f"the model {model} refused to answer ({message.get('refusal') or reason})")
    calls = [
        ToolCall(str(call["id"]), str(call["function"]["name"]), _json(call["function"].get("arguments")))
        for call in message.get("tool_calls") or ()
    ]
    counts = usage if isinstance(usage, Mapping) else {}
    return ModelAnswer(
        str(message.get("content") or ""), max(0, int(counts.get("prompt_tokens") or 0)),
        max(0, int(counts.get("completion_tokens") or 0)),
        _CUT.get(str(reason), "end_turn"), calls,
    )


@dataclass(slots=True)
class _Stream:
    """Server-sent events: each line `data: …` is a piece of the answer."""

    told: Callable[[str], None]
    rest: bytes = b""
    text: list[str] = field(default_factory=list)
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    reason: Any = None
    usage: Any = None
    pieces: int = 0
    refusal: str = ""

    def read(self, data: bytes) -> None:
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
                try:
                    self._piece(read_json(line[5:]))
                except (ValueError, LookupError, TypeError, AttributeError):
                    continue  # a server's own extension; an answer that never comes is told at the end

    def _piece(self, data: Any) -> None:
        self.usage = data.get("usage") or self.usage
        for choice in data.get("choices") or ():
            self.pieces += 1
            self.reason = choice.get("finish_reason") or self.reason
            delta = choice.get("delta") or {}
            self.refusal += delta.get("refusal") or ""
            if delta.get("content") and isinstance(delta["content"], str):
                self.text.append(delta["content"])
                self.told(delta["content"])
            for part in delta.get("tool_calls") or ():
                call = self.calls.setdefault(int(part.get("index", 0)), {"id": "", "function": {"name": "", "arguments": ""}})
                call["id"] = part.get("id") or call["id"]
                function = part.get("function") or {}
                call["function"]["name"] += function.get("name") or ""
                call["function"]["arguments"] += function.get("arguments") or ""

    def answer(self, model: str) -> ModelAnswer:
        self.read(b"\n")
        if not self.pieces:
            raise ModelError(f"the server of the model {model} did not answer as a chat completion")
        if self.reason is None:
            raise NetworkError(f"the answer of the model {model} broke off")
        message = {"content": "".join(self.text), "tool_calls": [self.calls[index] for index in sorted(self.calls)],
                   "refusal": self.refusal}
        return _answer(model, message, self.reason, self.usage)


def _json(text: Any) -> Any:
    try:
        return read_json(text) if text else {}
    except (ValueError, TypeError):
        return text


def _reason(body: bytes) -> str:
    try:
        return str(read_json(body)["error"]["message"])[:300]
    except (ValueError, LookupError, TypeError):
        return body[:300].decode("utf-8", "replace").strip()
