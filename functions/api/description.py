"""The OpenAPI description: what the router knows, and what it cannot know: problems, and definitions as bodies."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

from functions.api.models import Problem
from functions.api.permissions import ROUTES
from functions.api.problems import MEDIA

Json = dict[str, Any]
_DEFINITION = {
    "required": True,
    "description": "a definition as it is written in its file",
    "content": {
        "application/yaml": {"schema": {"type": "string"}},
        "application/json": {"schema": {"type": "object"}},
    },
}
_TAKES_DEFINITION = (("post", "/workflows"), ("put", "/workflows/{workflow_id}"))
_CHECKPOINT = ("delete", "/executions/{execution_id}/checkpoints/{number}")
_ALSO = {("post", "/workflows"): "201", ("post", "/workflows/{workflow_id}/execute"): "202",
    ("post", "/hooks/{hook_id}"): "202"}  # with the body of 200
_EVENTS = ("get", "/executions/{execution_id}/events")
_EMPTY = {_CHECKPOINT: "204", _EVENTS: "204", ("get", "/workflows/{workflow_id}"): "304"}
_TEXTS = {
    ("get", "/workflows/{workflow_id}/versions/{version}"): ("text/plain",),
    ("get", "/workflows/{workflow_id}/diff"): ("text/plain",),
    ("get", "/metrics"): ("text/plain",),
    ("get", "/workflows/{workflow_id}/graph"): ("text/plain", "image/svg+xml"),
}


def describe(app: APIGatewayHttpResolver, prefix: str) -> str:
    """The description as JSON text."""
    document: Json = json.loads(app.get_openapi_json_schema())
    schemas: Json = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):  # what the router would answer if we did not
        schemas.pop(name, None)
    own = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= own.pop("$defs") | {"Problem": own}
    refused = {"description": "what is wrong", "content": {MEDIA: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            short = path.removeprefix(prefix)
            row = (method, short)
            answers: Json = operation["responses"]
            answers.pop("422", None)
            answers["default"] = refused
            if row in _ALSO:
                answers[_ALSO[row]] = answers["200"]
            if row in _TEXTS:
                answers["200"]["content"] = {kind: {"schema": {"type": "string"}} for kind in _TEXTS[row]}
            if row == _EVENTS:
                answers["200"]["content"]["text/event-stream"] = {"schema": {"type": "string"}}
            if row in _EMPTY:
                answers[_EMPTY[row]] = {"description": "nothing more to say"}
            if row == _CHECKPOINT:
                del answers["200"]
            if short == "/ready":
                answers["503"] = answers["200"]
            if ROUTES.get((method.upper(), short), ...) is None:
                operation["security"] = []
            if row in _TAKES_DEFINITION:
                operation["requestBody"] = _DEFINITION
    return json.dumps(document, ensure_ascii=False)
