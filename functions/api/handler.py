"""The Lambda function behind the HTTP API (payload format 2.0)."""

from __future__ import annotations

from typing import Any

from aslant import observability
from functions.api.app import app


def handler(event: Any, context: Any) -> dict[str, Any]:
    """Answers a request; every error is an answer too."""
    observability.listen()
    return app().resolve(event, context)
