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
_TAKES_DEFINITION = (
    ("post", "/workflows"), ("put", "/workflows/{workflow_id}"), ("post", "/workflows/{workflow_id}/versions"),
)  # fmt: skip
_GONE = tuple(("delete", path) for path in (
    "/executions/{execution_id}/checkpoints/{number}", "/skills/{skill_name}", "/templates/{template_id}",
    "/triggers/{trigger_id}", "/schedules/{trigger_id}",
))  # fmt: skip
_MADE = tuple(("post", path) for path in (
    "/skills", "/agents/register", "/workflows/agents/register", "/templates", "/triggers", "/schedules",
    "/workflows/{workflow_id}/versions",
))  # fmt: skip
_ALSO = {
    ("post", "/workflows"): "201", ("post", "/templates/{template_id}/instantiate"): "201", ("post", "/compose"): "201",
    ("post", "/workflows/{workflow_id}/execute"): "202", ("post", "/hooks/{hook_id}"): "202",
    **dict.fromkeys(_MADE, "201"),
}  # with the body of 200
_EVENTS = tuple(("get", path + "/{execution_id}/events") for path in ("/executions", "/workflows/executions"))
_EMPTY = {
    **dict.fromkeys(_GONE, "204"), **dict.fromkeys(_EVENTS, "204"), ("get", "/workflows/{workflow_id}"): "304",
}
_TEXTS = {
    ("get", "/workflows/{workflow_id}/versions/{version}"): ("text/plain",),
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
            if row == ("get", "/workflows/{workflow_id}/diff"):
                answers["200"]["content"]["text/plain"] = {"schema": {"type": "string"}}
            if row in _EVENTS:
                answers["200"]["content"]["text/event-stream"] = {"schema": {"type": "string"}}
            if row in _EMPTY:
                answers[_EMPTY[row]] = {"description": "nothing more to say"}
            if row in _GONE or row in _MADE:
                del answers["200"]
            if short == "/ready":
                answers["503"] = answers["200"]
            if ROUTES.get((method.upper(), short), ...) is None:
                operation["security"] = []
            if row in _TAKES_DEFINITION:
                operation["requestBody"] = _DEFINITION
    return json.dumps(document, ensure_ascii=False)
