"""Every key of the executions table. Nothing else builds one.

A key starts with the tenant, so a session policy on `dynamodb:LeadingKeys` can confine a request to it. Parts that come
from outside are escaped, so that no id can reach into another key.

| what | pk | sk | index `waiting` while pending (gsi_pk, gsi_sk) |
|---|---|---|---|
| approval | `<tenant>#execution#<id>` | `approval#<step>#<iteration>#<attempt>` | `<tenant>#approvals`, `<asked at>#<id>` |
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from aslant.errors import NotFoundError


class Key(NamedTuple):
    pk: str
    sk: str


class ApprovalRef(NamedTuple):
    """What an approval belongs to: attempt `attempt` of a step in an iteration of an execution."""

    execution: str
    step: str
    iteration: tuple[int, ...]
    attempt: int


def _part(text: str) -> str:
    return text.replace("%", "%25").replace("#", "%23")


def approval(tenant: str, ref: ApprovalRef) -> Key:
    path = ".".join(str(index) for index in ref.iteration)
    return Key(
        f"{_part(tenant)}#execution#{_part(ref.execution)}",
        f"approval#{_part(ref.step)}#{path}#{ref.attempt:05d}",
    )


def waiting(tenant: str, requested_at: int, approval_id: str) -> Key:
    """The key of a pending approval in the index `waiting`. `requested_at` is epoch seconds."""
    return Key(f"{_part(tenant)}#approvals", f"{requested_at:012d}#{approval_id}")


def approval_id(ref: ApprovalRef) -> str:
    """An id that says which approval it is. It is no secret: the tenant is not part of it, but of every look-up."""
    data = json.dumps([ref.execution, ref.step, list(ref.iteration), ref.attempt], separators=(",", ":"))
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def approval_ref(identifier: str) -> ApprovalRef:
    """The approval that an id names. Raises NotFoundError for a text that is no id."""
    try:
        data = json.loads(base64.urlsafe_b64decode(identifier + "=" * (-len(identifier) % 4)))
        execution, step, iteration, attempt = data
        ref = ApprovalRef(str(execution), str(step), tuple(int(index) for index in iteration), int(attempt))
    except (ValueError, TypeError, RecursionError):
        raise NotFoundError("there is no such approval") from None
    return ref


def executions_table(name: str) -> dict[str, Any]:
    """The arguments of DynamoDB's CreateTable for the executions table; time to live is on the attribute `ttl`."""
    text: Sequence[str] = ("pk", "sk", "gsi_pk", "gsi_sk")
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [{"AttributeName": each, "AttributeType": "S"} for each in text],
        "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        "GlobalSecondaryIndexes": [{
            "IndexName": "waiting",
            "KeySchema": [{"AttributeName": "gsi_pk", "KeyType": "HASH"},
                          {"AttributeName": "gsi_sk", "KeyType": "RANGE"}],
            "Projection": {"ProjectionType": "ALL"},
        }],
    }
