"""A model without a model: answers that depend on the question only, and say that nobody thought about them."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aslant.contracts import Json
from aslant.model_ports import ModelAnswer, ModelRequest
from aslant.settings import OFFLINE

_SHOWN = 120
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class OfflineModel:
    """`output_format` is the format that the step asks for; the answer fits it and is the same on every run. So it
    does with a schema, as far as its first words say what fits. It calls no tools."""

    output_format: str = "text"
    output_schema: Mapping[str, Json] | None = None

    def ask(self, request: ModelRequest) -> ModelAnswer:
        question = "\n".join(message.text for message in request.messages)
        text = self._answer(" ".join(question.split()), hashlib.sha256(question.encode("utf-8", "replace")).hexdigest()[:8])
        if request.on_text is not None:
            request.on_text(text)
        return ModelAnswer(text, _tokens(request.system + question), _tokens(text))

    def _answer(self, question: str, mark: str) -> str:
        # Cut between words: half of a secret would not be recognized.
        shown = question if len(question) <= _SHOWN else question[: _SHOWN + 1].rpartition(" ")[0] + "…"
        if self.output_schema is not None:
            return json.dumps(example(self.output_schema, f"[simulated by the offline model, {mark}]"), ensure_ascii=False)
        fields = {"simulated": True, "model": OFFLINE, "id": mark, "prompt": shown}
        if self.output_format == "json":
            return json.dumps(fields, ensure_ascii=False)
        if self.output_format == "json_array":
            return json.dumps([fields], ensure_ascii=False)
        if self.output_format == "markdown":
            return f"## Simulated answer\n\nThe offline model ({mark}) was asked:\n\n> {shown}\n"
        return f"[simulated by the offline model, {mark}] {shown}"


def example(schema: Any, text: str, depth: int = 0) -> Json:
    """A value that fits a JSON Schema, if its types, bounds and enums say all; its texts are `text`."""
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return None
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "anyOf", "oneOf", "allOf"):
        choices = schema.get(word)
        if isinstance(choices, list) and choices:
            return choices[0] if word == "enum" else example(choices[0], text, depth + 1)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    if kind == "object":
        rows = schema.get("properties")
        return {name: example(row, text, depth + 1) for name, row in rows.items()} if isinstance(rows, Mapping) else {}
    if kind == "array":
        least = schema.get("minItems", 1)
        one = example(schema.get("items", {}), text, depth + 1)
        return [one] * (least if isinstance(least, int) and 0 < least < 100 else 1)
    if kind in ("integer", "number"):
        least, above, most = (schema.get(word) for word in ("minimum", "exclusiveMinimum", "maximum"))
        number = least if least is not None else above + 1 if above is not None else min(0, most or 0)
        return math.ceil(number) if kind == "integer" else number
    longest = schema.get("maxLength")
    return {"boolean": False, "null": None}.get(str(kind), text[:longest] if isinstance(longest, int) else text)


def _tokens(text: str) -> int:
    return max(1, (len(text) + 3) // 4)
