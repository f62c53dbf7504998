"""Figures of a workflow and its steps over some days, and those of the installation for Prometheus."""

from __future__ import annotations

from typing import Annotated, Any

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.openapi.params import Query
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import analytics, bootstrap, clock, serving
from aslant.analytics import Counts, Summary
from aslant.settings import Settings
from functions.api import models
from functions.api.request import caller_of

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]
installation = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]

First = Annotated[str | None, Query(alias="from", max_length=10, description="the first day, UTC; six days before the last")]
Last = Annotated[str | None, Query(alias="to", max_length=10, description="the last day, UTC; today")]


@router.get("/workflows/<workflow_id>/metrics", tags=["figures"], summary="How its executions ended, how long they took")
def metrics(workflow_id: str, first: First = None, last: Last = None) -> models.MetricsDocument:
    settings, caller, start, end = _asked(workflow_id, first, last)
    rows = serving.stats(settings).days(caller.tenant, workflow_id, start, end)
    days = [models.DayDocument(day=day, **figures_of(analytics.summary([counts]))) for day, counts in rows]
    whole = figures_of(analytics.summary(counts for _, counts in rows))
    return models.MetricsDocument(first=start, last=end, days=days, **whole)


@router.get("/workflows/<workflow_id>/steps/metrics", tags=["figures"], summary="The same of each of its steps")
def step_metrics(workflow_id: str, first: First = None, last: Last = None) -> list[models.StepMetricsDocument]:
    settings, caller, start, end = _asked(workflow_id, first, last)
    by_step: dict[str, list[Counts]] = {}
    for step, counts in serving.stats(settings).steps(caller.tenant, workflow_id, start, end):
        by_step.setdefault(step, []).append(counts)
    return [
        models.StepMetricsDocument(step=step, **figures_of(analytics.summary(rows))) for step, rows in sorted(by_step.items())
    ]


@installation.get("/metrics", tags=["service"], summary="Sums over all tenants, as Prometheus reads them")
def prometheus() -> Response[str]:
    body = analytics.exposition(serving.stats(Settings.read()).installation())
    return Response(status_code=200, content_type="text/plain; version=0.0.4; charset=utf-8", body=body)


def today() -> str:
    """The day, UTC."""
    return analytics.day_of(round(clock.now() * 1000))


def _asked(workflow_id: str, first: str | None, last: str | None) -> tuple[Settings, Any, str, str]:
    settings, caller = caller_of(router)
    start, end = analytics.period(first, last, today())
    bootstrap.catalog(settings).get(caller.tenant, workflow_id)
    return settings, caller, start, end


def figures_of(found: Summary) -> dict[str, Any]:
    errors = [models.ErrorCount(error=name, count=number) for name, number in found.errors]
    return {
        "counts": dict(found.counts), "total": found.total, "success_rate": found.success_rate, "mean_seconds": found.mean,
        "median_seconds": found.median, "p95_seconds": found.p95, "cost_usd": found.cost_usd, "attempts": found.attempts,
        "errors": errors,
    }  # fmt: skip
