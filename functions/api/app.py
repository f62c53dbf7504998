"""The API: its router, who may call what, and how errors are told. The routes are in the modules beside."""

from __future__ import annotations

import functools
import threading
from pathlib import Path
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, ApiGatewayResolver, CORSConfig, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError, ServiceError
from aws_lambda_powertools.event_handler.middlewares import NextMiddleware
from aws_lambda_powertools.event_handler.openapi import swagger_ui
from aws_lambda_powertools.event_handler.openapi.exceptions import RequestUnsupportedContentType, RequestValidationError
from aws_lambda_powertools.event_handler.openapi.models import HTTPBearer
from pydantic import BaseModel

from aslant import observability
from aslant.adapters import clients, tenant_session
from aslant.callers import authenticated
from aslant.errors import PayloadTooLarge, StepError
from aslant.settings import Settings
from functions.api import (
    approvals,
    authoring,
    checks,
    events,
    executions,
    figures,
    hooks,
    links,
    problems,
    skills,
    system,
    triggers,
    versions,
    workflows,
)
from functions.api import audited as trail
from functions.api.audited import audited
from functions.api.description import describe
from functions.api.permissions import ROUTES
from functions.api.repeats import repeated
from functions.api.resolver import Resolver
from translator.diagnostics import TranslatorError

PREFIX = "/api/v1"
MAX_BODY = 2_000_000  # bytes
_ROUTERS = (
    workflows.router, versions.router, triggers.router, authoring.router, skills.router, executions.router, events.router,
    figures.router, approvals.router, hooks.router, trail.router,
)  # fmt: skip


_HEADERS = {
    "Vary": "Accept-Encoding",  # see Resolver.prepare
    "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
}
_making = threading.Lock()


def app() -> Resolver:
    """The router, made once in a process."""
    with _making:
        return _made()


@functools.cache
def _made() -> Resolver:
    made = Resolver(
        enable_validation=True, response_validation_error_http_code=500,
        cors=CORSConfig(
            allow_headers=["If-Match", "Idempotency-Key", "X-Tenant-ID"], max_age=600,
            expose_headers=["ETag", "Location", "Idempotent-Replayed", "Retry-After"],
        ),
    )
    made.configure_openapi(
        title="Aslant", version="1", openapi_version="3.1.0",
        description="Workflows on AWS Step Functions: definitions, executions and approvals.",
        security_schemes={"token": HTTPBearer(bearerFormat="JWT")}, security=[{"token": []}],
    )
    made.get("/openapi.json", include_in_schema=False)(_openapi)
    made.get("/docs", include_in_schema=False)(_docs)
    made.use(middlewares=[_authorized, checks.own, repeated, checks.matched, audited])
    for router in _ROUTERS:
        made.include_router(router, prefix=PREFIX)
    made.include_router(system.router)
    made.include_router(figures.installation)
    made.include_router(links.router)
    made.exception_handler(StepError)(problems.of_error)
    made.exception_handler(TranslatorError)(problems.of_findings)
    made.exception_handler([RequestValidationError, RequestUnsupportedContentType])(_invalid)
    made.exception_handler(ValueError)(_value)
    made.exception_handler(ServiceError)(problems.of_service)
    made.exception_handler(Exception)(_fault)
    made.prepare()
    return made


def _authorized(router: APIGatewayHttpResolver, next_middleware: NextMiddleware) -> Response[Any]:
    """Lets a call through whose caller may make it."""
    _permit(router)
    if router.context.get("caller") is not None:
        checks.known(router)
    response = next_middleware(router)
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _invalid(error: RequestValidationError | RequestUnsupportedContentType | ValueError) -> Response[Any]:
    """The router checks a request before its middlewares run; somebody who may not call is told that, and no more."""
    try:
        _permit(app())
        if app().context.get("caller") is not None:
            checks.known(app())
    except StepError as refusal:
        return problems.of_error(refusal)
    if isinstance(error, RequestValidationError):
        kinds = (one.type_ for one in app().context["_route"].dependant.body_params)
        models = (one for one in kinds if isinstance(one, type) and issubclass(one, BaseModel))
        return problems.of_request(error, next(models, None))
    return problems.problem(415, "unsupported_media_type", "send JSON: Content-Type: application/json")


def _permit(router: ApiGatewayResolver) -> None:
    """Raises the error of a caller that may not. What is not in the table of permissions nobody may."""
    event = router.current_event
    if len(event.body or "") > MAX_BODY * (4 / 3 if event.is_base64_encoded else 1):
        raise PayloadTooLarge(f"a body has at most {MAX_BODY:,} bytes")
    route = router.context["_route"]
    if route.method == "OPTIONS":
        return  # a browser that asks whether a page may ask; the router answers it
    row = (route.method, route.openapi_path.removeprefix(PREFIX))
    if row not in ROUTES:
        raise NotFoundError("there is no such path, or not with this method")
    rule = ROUTES[row]
    clients.confine(None)
    if rule is None:
        return
    settings = Settings.read()
    caller = authenticated(event.headers.get("authorization") or "", settings)
    tenant_session.enter(settings, caller.tenant)
    action, owned = rule
    router.append_context(caller=caller, settings=settings, action=action)  # type: ignore[no-untyped-call]
    if not caller.may(action):
        owner = owned(settings, caller, router.context["_route_args"]) if owned is not None else ""
        if not caller.may(action, owner):
            trail.refused(router, settings, caller, action)
        caller.require(action, owner)


@functools.cache
def _description() -> str:
    return describe(app(), PREFIX)


def _openapi() -> Response[str]:
    return Response(status_code=200, content_type="application/json", body=_description())


def _docs() -> Response[str]:
    """Swagger UI, as Powertools brings it, over our description."""
    folder = Path(swagger_ui.__file__).parent
    script, style = ((folder / name).read_text("utf-8") for name in ("swagger-ui-bundle.min.js", "swagger-ui.min.css"))
    page = swagger_ui.generate_swagger_html(_description().replace("</", "<\\/"), script, style, "", None)
    return Response(status_code=200, content_type="text/html", body=page, headers={"Cache-Control": "max-age=3600"})


def _value(error: ValueError) -> Response[Any]:
    """The router's word for a form whose Content-Type lacks its boundary; any other one is a mistake of ours."""
    return _invalid(error) if "content-type header" in str(error) else _fault(error)


def _fault(error: Exception) -> Response[str]:
    """A mistake of ours: logged, and told without its details."""
    observability.log("ERROR", f"{type(error).__name__} in the API", {}, error=repr(error))
    return problems.problem(500, "internal", "something went wrong here; it has been logged")
