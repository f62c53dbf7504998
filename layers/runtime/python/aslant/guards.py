"""Rate limits and circuit breakers around calls of an endpoint or a skill, counted for all executions of a tenant.

    guarded(lambda: ..., "http:api.example.com", run, run.guard, ports)

A rate limit counts calls in windows of time. A circuit breaker counts failures in a row: those that are worth a retry, and
errors of a skill's own. An answer such as 404 or 422 shows that the other side works.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar
from urllib.parse import urlsplit

from aslant import clock
from aslant.configs.guard import CircuitBreaker, Guard
from aslant.errors import RateLimited, StepError, StepInProgress

T = TypeVar("T")


class Rates(Protocol):
    """Calls that are counted in windows of time."""

    def take(self, tenant: str, endpoint: str, window: int, per: int, limit: int) -> bool:
        """Counts one call in window number `window` of `per` seconds; False when it has `limit` calls already."""


class Circuits(Protocol):
    """Circuit breakers, known to all executions of a tenant."""

    def call(
        self, call: Callable[[], T], tenant: str, endpoint: str, breaker: CircuitBreaker, counts: Callable[[Exception], bool]
    ) -> T:
        """What `call` gives or raises; `counts` tells which errors are failures. Raises CircuitOpen instead of calling."""


class Caller(Protocol):
    @property
    def tenant(self) -> str: ...


@dataclass(frozen=True, slots=True)
class GuardPorts:
    """Each is asked for only when it is needed."""

    rates: Callable[[], Rates]
    circuits: Callable[[], Circuits]


def guarded(call: Callable[[], T], endpoint: str, run: Caller, guard: Guard, ports: GuardPorts) -> T:
    """What `call` gives. Raises RateLimited or CircuitOpen, with the seconds to wait, when it may not be made now.

    `endpoint` is what is counted together: `http:<host>` or `skill:<name>`.
    """
    breaker, limit = guard.circuit_breaker, guard.rate_limit
    refused: list[RateLimited] = []  # by our own limit, which says nothing about the other side

    def limited() -> T:
        if limit is not None:
            now = clock.now()
            window = math.floor(now / limit.per)
            if not ports.rates().take(run.tenant, endpoint, window, limit.per, limit.calls):
                wait = (window + 1) * limit.per - now
                refused.append(RateLimited(
                    f"{endpoint}: the limit of this workflow or skill is reached ({limit.calls} per {limit.per} s)",
                    retry_after=max(0.001, wait),
                ))
                raise refused[0]
        return call()

    if breaker is None:
        return limited()
    return ports.circuits().call(limited, run.tenant, endpoint, breaker, lambda error: not refused and counts(error))


def host_of(url: str) -> str:
    """The host of an address, with a port that is not the usual one; empty where it has none."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:  # whoever sends the request says what is wrong with it
        return ""
    host = (parts.hostname or "").rstrip(".")
    return host if port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f"{host}:{port}"


def counts(error: Exception) -> bool:
    """Whether a failure says that the other side is unwell. What is refused rightly does not."""
    if isinstance(error, StepInProgress):
        return False
    if isinstance(error, StepError) and type(error).__module__ == StepError.__module__:
        return error.retryable
    return True
