"""A model without a model: answers that depend on the question only, and say that nobody thought about them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from aslant.ports import ModelAnswer, ModelRequest

NAME = "offline"
_SHOWN = 120


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """`output_format` is the format that the step asks for; the answer fits it and is the same on every run."""

    output_format: str = "text"

    def ask(self, request: ModelRequest) -> ModelAnswer:
        question = "\n".join(message["text"] for message in request.messages)
        text = self._answer(" ".join(question.split()), hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:8])
        return ModelAnswer(text, _tokens(request.system + question), _tokens(text))

    def _answer(self, question: str, mark: str) -> str:
        # Cut between words: half of a secret would not be recognized.
        shown = question if len(question) <= _SHOWN else question[: _SHOWN + 1].rpartition(" ")[0] + "…"
        fields = {"simulated": True, "model": NAME, "id": mark, "prompt": shown}
        if self.output_format == "json":
            return json.dumps(fields, ensure_ascii=False)
        if self.output_format == "json_array":
            return json.dumps([fields], ensure_ascii=False)
        if self.output_format == "markdown":
            return f"## Simulated answer\n\nThe offline model ({mark}) was asked:\n\n> {shown}\n"
        return f"[simulated by the offline model, {mark}] {shown}"


def _tokens(text: str) -> int:
    return max(1, (len(text) + 3) // 4)
