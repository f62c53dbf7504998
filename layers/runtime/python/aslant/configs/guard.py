"""How often something may be called, and when calls stop because it fails."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from aslant.configs.base import Config


class RateLimit(Config):
    """At most `calls` in every window of `per` seconds. Windows begin at multiples of `per`, so that nobody keeps a list."""

    calls: Annotated[int, Field(ge=1, le=1_000_000)]
    """How many."""
    per: Annotated[int, Field(ge=1, le=86_400)] = 60
    """Seconds of a window."""


class CircuitBreaker(Config):
    """After `failure_threshold` failures in a row calls fail at once for `recovery_timeout`, then some are tried."""

    failure_threshold: Annotated[int, Field(ge=1, le=1000)] = 5
    """How many failures in a row open it."""
    recovery_timeout: Annotated[float, Field(ge=1, le=86_400)] = 60
    """Seconds that it stays open."""
    success_threshold: Annotated[int, Field(ge=1, le=100)] = 3
    """How many calls in a row must succeed then to close it."""


class Guard(Config):
    """What guards the calls of an endpoint or a skill."""

    rate_limit: RateLimit | None = None
    circuit_breaker: CircuitBreaker | None = None
