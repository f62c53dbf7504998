"""What needs no token: whether the service is up, and its own description."""

from __future__ import annotations

from collections.abc import Callable

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap
from aslant.errors import StepError
from aslant.settings import Settings
from functions.api import models

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]


@router.get("/health", tags=["service"], summary="Whether the function runs")
def health() -> models.Health:
    return models.Health(status="up")


@router.get("/ready", tags=["service"], summary="Whether it reaches its tables")
def ready() -> Response[models.Health]:
    settings = Settings.read()
    checks = {}
    looks: tuple[tuple[str, Callable[[], object]], ...] = (
        ("catalog", lambda: bootstrap.catalog(settings).store.read("-", "-")),
        ("executions", lambda: bootstrap.execution_store(settings).read("-", "-")),
    )
    for name, look in looks:
        try:
            look()  # there is nothing; a table that is not there is an error
            checks[name] = "up"
        except StepError as error:
            checks[name] = f"down: {type(error).__name__}"
    up = all(state == "up" for state in checks.values())
    return Response(
        status_code=200 if up else 503, content_type="application/json",
        body=models.Health(status="up" if up else "down", checks=checks),
    )
