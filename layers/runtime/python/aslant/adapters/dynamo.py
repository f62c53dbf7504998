"""Calls of DynamoDB that several stores make: transactions that are tried again, and queries to their end."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import error_code
from aslant.errors import RateLimited

Row = dict[str, dict[str, Any]]  # an item as DynamoDB's low-level API has it

MAX_ACTIONS = 100  # of a transaction
_TRIES = 8
_FIRST_PAUSE = 0.02  # seconds; doubles, with jitter
_PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"})


class Refused(Exception):
    """A transaction whose conditions do not hold; nothing of it was written."""


def transact(client: Any, actions: Sequence[Mapping[str, Any]], doing: str) -> None:
    """Writes all or nothing. Raises Refused when a condition does not hold, RateLimited when others keep interfering.

    https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html: botocore does not repeat a
    transaction that was cancelled because of another one, which is no error of ours.
    """
    from botocore.exceptions import ClientError

    for attempt in range(_TRIES):
        if attempt:
            time.sleep(random.uniform(0.5, 1) * _FIRST_PAUSE * 2**attempt)
        with calling(doing):
            try:
                client.transact_write_items(TransactItems=list(actions))
                return
            except ClientError as error:
                if error_code(error) == "TransactionInProgressException":
                    continue
                if error_code(error) != "TransactionCanceledException":
                    raise
                reasons = {str(reason.get("Code")) for reason in error.response.get("CancellationReasons", ())}
                if "ConditionalCheckFailed" in reasons:
                    raise Refused(doing) from None
                if not reasons & _PASSING:
                    raise
    raise RateLimited(f"{doing}: other writes of the same items kept interfering")


def query(client: Any, doing: str, **arguments: Any) -> Iterator[Row]:
    """All items that a query gives, page by page, as far as somebody asks."""
    while True:
        with calling(doing):
            answer = client.query(**arguments)
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        arguments["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
