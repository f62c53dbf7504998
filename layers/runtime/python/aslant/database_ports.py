"""What query steps need from the outside. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where a server is. `tls` is disable, prefer, require, verify-ca or verify-full; `ca` a certificate to trust (PEM).

    `source` is the database that knows MongoDB's user.
    """

    kind: str  # postgresql, mysql, redis, mongodb
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    name: str = ""
    tls: str = "require"
    ca: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class QueryStatement:
    """A list of values belongs to `$1` or `?`, a mapping to `:name`."""

    text: str
    values: Sequence[Json] | Mapping[str, Json] = ()


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Statements of one transaction. `token` is the same whenever the same request is made again."""

    statements: Sequence[QueryStatement]
    read_only: bool = False
    isolation: str | None = None
    max_rows: int = 1000
    timeout: float = 30.0  # seconds for everything
    token: str = ""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """`columns` are names and types; `more` says that there were more rows. What is no table, as documents, is `value`."""

    columns: Sequence[tuple[str, str]] = ()
    rows: Sequence[Sequence[Json]] = ()
    affected: int | None = None
    more: bool = False
    value: Json = None


class Database(Protocol):
    def run(self, request: QueryRequest) -> Sequence[QueryResult]:
        """One result for each statement; all of them happen or none.

        Raises ValidationError, AuthenticationError, AuthorizationError, NotFoundError, ConflictError, NetworkError,
        RateLimited, ServerError, StepTimeout, PayloadTooLarge, or StepTypeUnavailable where a driver is not installed.
        """
