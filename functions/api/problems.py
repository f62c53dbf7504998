"""Errors as answers: problem details (RFC 9457), with a code, and every mistake of a request at its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.exceptions import ServiceError
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestValidationError
from pydantic import BaseModel

from aslant import errors
from aslant.configs.check import unknown_key
from translator.diagnostics import Diagnostic, TranslatorError
from translator.reporting import summary

MEDIA = "application/problem+json"
_STATUS: Mapping[str, int] = {  # by the names of classes: another function's errors are known by those only
    "BadParameter": 400, "NotJson": 400, "NotOffered": 422,
    "AuthenticationError": 401, "AuthorizationError": 403, "NotFoundError": 404, "ConflictError": 409,
    "InvalidTransition": 409, "ApprovalClosed": 409, "PreconditionFailed": 412, "PayloadTooLarge": 413,
    "ValidationError": 422, "ExpressionError": 422, "RateLimited": 429, "NetworkError": 503, "StepTimeout": 503,
}  # fmt: skip
_TITLES = {
    400: "Bad request", 401: "Unauthorized", 403: "Forbidden", 404: "Not found", 405: "Method not allowed", 409: "Conflict",
    412: "Precondition failed", 413: "Content too large", 415: "Unsupported media type", 422: "Unprocessable content",
    429: "Too many requests", 500: "Internal error", 503: "Service unavailable",
}  # fmt: skip


class InvalidBody(errors.InvalidInput):
    """A body with mistakes that its model does not know; `problems` are pointers into it, and what is wrong there."""


class NotOffered(errors.StepError):
    """What an installation does not do."""


def problem(
    status: int, code: str, detail: str, parts: Iterable[Mapping[str, Any]] = (), headers: Mapping[str, str] | None = None
) -> Response[str]:
    """The answer for something that went wrong."""
    title = _TITLES.get(status, "Error")
    document = {
        "type": f"urn:aslant:problem:{code}", "title": title, "status": status, "code": code, "detail": detail,
        "errors": list(parts),
    }
    return Response(
        status_code=status, content_type=MEDIA, body=json.dumps(document, ensure_ascii=False),
        headers={"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", **(headers or {})},
    )


def status_of(error: errors.StepError) -> int:
    return next((_STATUS[kind.__name__] for kind in type(error).__mro__ if kind.__name__ in _STATUS), 400)


def of_error(error: errors.StepError) -> Response[str]:
    status = status_of(error)
    headers: dict[str, str] = {}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if error.retry_after is not None:
        headers["Retry-After"] = str(max(1, round(error.retry_after)))
    parts: list[dict[str, Any]] = []
    if isinstance(error, errors.InvalidInput):
        under = "/body" if isinstance(error, InvalidBody) else "/input"
        parts = [{"code": "input", "detail": text, "pointer": under + pointer} for pointer, text in error.problems]
    return problem(status, _snake(type(error).__name__), str(error), parts, headers)


def of_findings(error: TranslatorError) -> Response[str]:
    return problem(
        422, "definition_invalid", f"the definition has {summary(error.diagnostics)}",
        [finding_part(found) for found in error.diagnostics],
    )


def finding_part(found: Diagnostic) -> dict[str, Any]:
    return {
        "code": found.code, "detail": found.message, "severity": str(found.severity), "hint": found.hint or None,
        "position": {"line": found.position.line, "column": found.position.column},
    }


def of_request(error: RequestValidationError, body: type[BaseModel] | None) -> Response[str]:
    """All that is wrong with a request at once. `body` is the model of its body, if it has one."""
    found = list(error.errors())
    unreadable = any(one.get("type") == "json_invalid" for one in found)
    parts = [
        {"code": str(one.get("type", "")), "detail": _detail(one, body), "pointer": _pointer(one.get("loc", ()))}
        for one in found
    ]
    if unreadable:
        return problem(400, "not_json", parts[0]["detail"], parts)
    return problem(422, "request_invalid", "; ".join(f"{one['pointer']}: {one['detail']}" for one in parts[:5]), parts)


def _detail(found: Mapping[str, Any], body: type[BaseModel] | None) -> str:
    place = tuple(found.get("loc", ()))
    if found.get("type") == "extra_forbidden" and body is not None and place[:1] == ("body",):
        return unknown_key(body, place[1:])
    return str(found.get("msg", ""))


def of_service(error: ServiceError) -> Response[str]:
    """What the router itself says: there is no such path, or a method that it does not take."""
    status = int(error.status_code)
    return problem(status, _snake(_TITLES.get(status, "error")), str(error.msg))


def _pointer(place: Iterable[Any]) -> str:
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in place)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).replace(" ", "_").lower()
