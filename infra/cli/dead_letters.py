"""Events that could not be routed: shown, or sent again, from the dead-letter queue."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

from infra.cli import pictures
from infra.cli.errors import FINE, UsageError
from infra.cli.output import put_json
from infra.cli.target import connected
from translator.reporting import visible

_HIDDEN = 60   # seconds that a message which was read is hidden from others
_MOST = 1_000  # messages that one command looks at


def dead_letters(args: argparse.Namespace, *, again: bool) -> int:
    """`again` sends them to the queue that they came from. One that is lost in between is sent twice, never left out."""
    from botocore.exceptions import ClientError

    from aslant import completions, triggers
    from aslant.adapters.clients import client, error_code

    with connected(args) as target:
        sqs: Any = client("sqs", target.settings.region)
        found = []
        try:
            for names in ((triggers.DEAD, triggers.QUEUE), (completions.DEAD, completions.QUEUE)):
                dead, queue = (sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in names)
                found += [_row(body, names[1]) for body in _bodies(sqs, dead, queue if again else "")]
        except ClientError as error:
            if not error_code(error).endswith(("NonExistentQueue", "QueueDoesNotExist")):
                raise
            raise UsageError("this installation has no queues of events") from None
    if args.json:
        put_json(found)
        return FINE
    pictures.put([[(visible(f"{one['time']}  {one['event']}  of {one['tenant']}  {one['id']}"), "")] for one in found],
        sys.stdout)
    print(f"{len(found)} {'event' if len(found) == 1 else 'events'}{' sent again' if again else ''}", file=sys.stderr)
    return FINE


def _bodies(sqs: Any, dead: str, queue: str) -> list[str]:
    """What is in a dead-letter queue; it goes to `queue` if that is named."""
    messages = list(_messages(sqs, dead))
    for message in messages:
        if queue:
            sqs.send_message(QueueUrl=queue, MessageBody=message["Body"])
            sqs.delete_message(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"])
        else:  # others may see it again
            sqs.change_message_visibility(QueueUrl=dead, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    return [str(message["Body"]) for message in messages]


def _messages(sqs: Any, queue: str) -> Iterator[dict[str, Any]]:
    """Each message once."""
    seen: set[str] = set()
    while len(seen) < _MOST:
        answer = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=_HIDDEN, WaitTimeSeconds=0)
        fresh = [one for one in answer.get("Messages", ()) if one["MessageId"] not in seen]
        if not fresh:
            return
        for one in fresh:
            seen.add(one["MessageId"])
            yield one


def _row(body: str, queue: str) -> dict[str, str]:
    try:
        event = json.loads(body)
        detail = event["detail"]
        return {
            "event": str(event["detail-type"]), "id": str(detail.get("event_id") or event["id"]), "time": str(event["time"]),
            "tenant": str(detail.get("tenant_id") or detail.get("organization_id") or ""), "queue": queue,
        }  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError):
        return {"event": "no event", "id": "", "time": "", "tenant": "", "queue": queue}
