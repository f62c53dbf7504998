"""The Lambda function behind the streams of both tables."""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, observability
from aslant.settings import Settings
from functions.publish_events.logic import Publisher


def handler(event: Any, context: Any) -> dict[str, list[dict[str, str]]]:
    """`event` is a batch of stream records; the answer names the first that has to come again, if any.

    The mapping needs ReportBatchItemFailures; without a destination for failures it must retry without end.
    """
    observability.listen()
    settings = Settings.read()
    publisher = Publisher(
        bootstrap.bus(settings), bootstrap.execution_store(settings), bootstrap.releases(settings),
        lambda: float(context.get_remaining_time_in_millis()) / 1000,
    )
    failed = publisher.work(event["Records"])
    return {"batchItemFailures": [] if failed is None else [{"itemIdentifier": failed}]}
