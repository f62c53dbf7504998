"""Rate limits, circuit breakers and kept results in the executions table."""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from aslant import keys
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.execution_items import key_of
from aslant.contracts import Json
from aslant.errors import CircuitOpen
from aslant.values import compact

if TYPE_CHECKING:
    from aslant.configs.guard import CircuitBreaker

T = TypeVar("T")

_KEPT = 350_000  # bytes of an output; an item has 400 KB at most
_PROCESS = uuid.uuid4().hex
_lock = threading.Lock()
_layers: dict[str, tuple[Any, Any]] = {}  # by table and tenant: the client, and powertools' layer on it


@dataclass(frozen=True, slots=True)
class DynamoRates:
    region: str
    table: str

    def take(self, tenant: str, endpoint: str, window: int, per: int, limit: int) -> bool:
        from botocore.exceptions import ClientError

        with calling("counting a call"):
            try:
                client("dynamodb", self.region).update_item(
                    TableName=self.table, Key=key_of(keys.rate(tenant, endpoint, window, per)),
                    UpdateExpression="SET #ttl = :ttl ADD calls :one",
                    ConditionExpression="attribute_not_exists(calls) OR calls < :limit",
                    ExpressionAttributeNames={"#ttl": "ttl"},
                    ExpressionAttributeValues={
                        ":one": {"N": "1"}, ":limit": {"N": str(limit)}, ":ttl": {"N": str((window + 2) * per)},
                    },
                )
            except ClientError as error:
                if error_code(error) != "ConditionalCheckFailedException":
                    raise
                return False
        return True


class _Counted(Exception):
    """Carries a failure through powertools' breaker, which tells failures by their class."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def _probe_as_process() -> None:
    """Lets any thread of this process go on with the probes that another began.

    Powertools lets one thread probe. A Lambda environment has one; in the local cloud each call may have another, and a
    breaker that wants several successes would never close.
    """
    from aws_lambda_powertools.utilities.circuit_breaker import base

    base._PROBE_OWNER.pid, base._PROBE_OWNER.id = os.getpid(), f"{os.getpid()}#{_PROCESS}"


@dataclass(frozen=True, slots=True)
class PowertoolsCircuits:
    """Powertools' circuit breaker. It counts failures in memory, in each Lambda environment for itself, and shares only the
    state: a call of a healthy endpoint writes nothing. What it writes, the stream makes events of (`aslant.events`).
    """

    region: str
    table: str

    def call(
        self, call: Callable[[], T], tenant: str, endpoint: str, breaker: CircuitBreaker, counts: Callable[[Exception], bool]
    ) -> T:
        from aws_lambda_powertools.utilities.circuit_breaker import (
            CircuitBreakerConfig,
            CircuitBreakerOpenError,
            circuit_breaker,
        )

        config = CircuitBreakerConfig(
            failure_threshold=breaker.failure_threshold, recovery_timeout=max(1, round(breaker.recovery_timeout)),
            success_threshold=breaker.success_threshold, handled_exceptions=_Counted, local_cache_max_age=1,
        )

        @circuit_breaker(name=keys.circuit(tenant, endpoint), persistence_store=self._layer(tenant), config=config)
        def protected() -> T:
            try:
                return call()
            except Exception as error:
                if counts(error):
                    raise _Counted(error) from None
                raise

        _probe_as_process()
        try:
            return protected()  # type: ignore[no-any-return]
        except _Counted as counted:
            raise counted.error from None
        except CircuitBreakerOpenError as error:
            opened = error.circuit.opened_at if error.circuit is not None else None
            wait = max(1.0, (opened or time.time()) + config.recovery_timeout - time.time())
        raise CircuitOpen(f"{endpoint} has failed repeatedly; it is tried again in {wait:.0f} s", retry_after=wait)

    def _layer(self, tenant: str) -> Any:
        """Powertools' layer keeps what it has read for a second: one for each tenant and process."""
        from aws_lambda_powertools.utilities.circuit_breaker.persistence import CircuitBreakerDynamoDBPersistence

        dynamodb = client("dynamodb", self.region)
        place = keys.circuits(tenant)
        with _lock:
            known = _layers.get(f"{self.table} {place}")
            if known is None or known[0] is not dynamodb:
                known = _layers[f"{self.table} {place}"] = dynamodb, CircuitBreakerDynamoDBPersistence(
                    self.table, key_attr="pk", sort_key_attr="sk", static_pk_value=place, state_attr="circuit",
                    expiry_attr="ttl", boto3_client=dynamodb,
                )
        return known[1]


@dataclass(frozen=True, slots=True)
class DynamoResults:
    region: str
    table: str

    def get(self, tenant: str, digest: str, now: int) -> tuple[Json] | None:
        with calling("reading a kept result"):
            answer = client("dynamodb", self.region).get_item(TableName=self.table, Key=key_of(keys.cached(tenant, digest)))
        item = answer.get("Item")
        # Time to live deletes items days late.
        return (json.loads(item["output"]["S"]),) if item is not None and int(item["ttl"]["N"]) > now else None

    def put(self, tenant: str, digest: str, output: Json, until: int) -> None:
        text = compact(output)
        if len(text.encode("utf-8", "surrogatepass")) > _KEPT:
            return
        with calling("keeping a result"):
            client("dynamodb", self.region).put_item(TableName=self.table, Item=key_of(keys.cached(tenant, digest)) | {
                "output": {"S": text}, "ttl": {"N": str(until)},
            })
