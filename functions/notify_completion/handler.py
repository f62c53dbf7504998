"""The Lambda function behind the queue of endings that somebody wants to be told of by a webhook."""

from __future__ import annotations

import json
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from aslant import bootstrap, clock, observability
from aslant.completions import Completions
from aslant.errors import StepError, ValidationError
from aslant.settings import Settings


def handler(event: Any, context: Any) -> dict[str, Any]:
    """`event` is a batch of SQS messages, each an event of our own; the answer names those that have to come again."""
    observability.listen()
    settings = Settings.read()
    completions = Completions(
        bootstrap.execution_store(settings), bootstrap.secrets(settings), bootstrap.http(settings), clock.now
    )

    def tell(record: dict[str, Any]) -> bool:
        detail: dict[str, Any] = {}
        try:
            detail = json.loads(record["body"])["detail"]
            return completions.tell(detail)
        except (ValueError, KeyError, TypeError):
            raise ValidationError("the message is no event of an execution's end") from None
        except StepError as error:
            ids = {"tenant": detail.get("tenant_id"), "execution": detail.get("execution_id")}
            observability.log("ERROR", f"a webhook was not told: {type(error).__name__}", ids)  # its text may hold the address
            raise

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    return dict(process_partial_response(event, tell, processor, context))
