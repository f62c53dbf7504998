"""Language models through Amazon Bedrock's Converse API."""

from __future__ import annotations

from dataclasses import dataclass

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.errors import ModelError
from aslant.ports import ModelAnswer, ModelRequest


@dataclass(frozen=True, slots=True)
class Bedrock:
    region: str

    def ask(self, request: ModelRequest) -> ModelAnswer:
        arguments = {
            "modelId": request.model,
            "messages": [{"role": each["role"], "content": [{"text": each["text"]}]} for each in request.messages],
            "inferenceConfig": {"maxTokens": request.max_tokens, "temperature": min(request.temperature, 1.0)},
        }
        if request.system:
            arguments["system"] = [{"text": request.system}]
        # The client's time-out is as long as a function may run; the machine's own ends the attempt before.
        with calling(f"asking the model {request.model}"):
            answer = client("bedrock-runtime", self.region, read_timeout=890).converse(**arguments)
        usage = answer.get("usage", {})
        parts = answer.get("output", {}).get("message", {}).get("content", [])
        text = "".join(part["text"] for part in parts if "text" in part)
        reason = str(answer.get("stopReason", "end_turn"))
        if reason in ("guardrail_intervened", "content_filtered"):
            raise ModelError(f"the model {request.model} refused to answer ({reason})")
        return ModelAnswer(text, int(usage.get("inputTokens", 0)), int(usage.get("outputTokens", 0)), reason)
