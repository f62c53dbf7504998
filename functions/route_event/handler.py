"""The Lambda function behind the queue of events: it starts the workflows whose triggers match."""

from __future__ import annotations

from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from aslant import bootstrap, observability, serving
from aslant.settings import Settings
from functions.route_event.logic import Router, notice_of


def handler(event: Any, context: Any) -> dict[str, Any]:
    """`event` is a batch of SQS messages, each an event of EventBridge; the answer names those that have to come again.

    The mapping needs ReportBatchItemFailures, the queue a dead-letter queue.
    """
    observability.listen()
    settings = Settings.read()
    router = Router(
        serving.subscriptions(settings), bootstrap.releases(settings), bootstrap.executions(settings),
        bootstrap.execution_store(settings),
    )

    def route(record: dict[str, Any]) -> list[str]:
        return router.route(notice_of(record["body"]))

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event, route, processor, context))
