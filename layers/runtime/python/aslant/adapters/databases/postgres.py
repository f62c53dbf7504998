"""PostgreSQL by psycopg: one statement at a time over the extended protocol, values as its parameters."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aslant.adapters.databases import guard, text
from aslant.adapters.databases.cells import Rows, moment
from aslant.contracts import Json
from aslant.database_ports import DatabaseAddress, QueryRequest, QueryResult
from aslant.errors import (
    AuthenticationError,
    AuthorizationError,
    ConflictError,
    NetworkError,
    NotFoundError,
    ServerError,
    StepError,
    StepTimeout,
    ValidationError,
)
from aslant.values import compact

if TYPE_CHECKING:
    import psycopg

_BATCH = 100
_CURSORS = frozenset({"SELECT", "VALUES", "TABLE", "WITH"})
_TEXTS = ("date", "time", "timetz", "interval", "uuid", "inet", "cidr", "money")
_MOMENTS = ("timestamp", "timestamptz")
_NO_FILE = os.devnull + "/none"  # instead of files that libpq looks for in the home folder
# By SQLSTATE, its class of two characters last; what is in neither is a ValidationError.
# https://www.postgresql.org/docs/current/errcodes-appendix.html
_ERRORS: dict[str, type[StepError]] = {
    "42501": AuthorizationError, "25006": AuthorizationError, "57014": StepTimeout, "55P03": StepTimeout,
    "23505": ConflictError, "42P01": NotFoundError, "3D000": NotFoundError, "3F000": NotFoundError,
    "42704": NotFoundError,
    "08": NetworkError, "28": AuthenticationError, "40": ServerError, "53": ServerError, "57": ServerError, "58": ServerError,
    "XX": ServerError,
}


@dataclass(frozen=True, slots=True)
class Postgres:
    where: DatabaseAddress
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        import psycopg

        deadline = time.monotonic() + request.timeout
        statements = text.prepared(request, "postgresql", "$1")
        values = [[_parameter(value) for value in each.values] for each in statements]
        try:
            with self._connection(request, deadline) as connection:
                found = [_one(connection, each, given, request) for each, given in zip(statements, values, strict=True)]
                connection.commit()
                return found
        except (psycopg.Error, UnicodeError) as error:
            raise self._error(error, deadline) from None

    @contextlib.contextmanager
    def _connection(self, request: QueryRequest, deadline: float) -> Iterator[psycopg.Connection[Any]]:
        import psycopg
        from psycopg.types.string import TextLoader

        with guard.connect(self.where, self.allow, deadline) as checked:
            address = str(checked.getpeername()[0])
        milliseconds = max(1, round(1000 * (deadline - time.monotonic())))
        options = {
            "statement_timeout": milliseconds, "lock_timeout": milliseconds, "idle_in_transaction_session_timeout": 60_000,
            "default_transaction_read_only": "on" if request.read_only else "off", "datestyle": "ISO", "timezone": "UTC",
            "intervalstyle": "iso_8601", "standard_conforming_strings": "on",
        }
        class Moment(TextLoader):
            def load(self, data: Any) -> str:
                return moment(str(super().load(data)))

        hidden = self.where.tls not in ("disable", "prefer")
        with self._certificate() as certificate:
            connection = psycopg.connect(
                host=self.where.host, hostaddr=address, port=self.where.port, dbname=self.where.name or self.where.user,
                user=self.where.user, password=self.where.password, sslmode=self.where.tls, sslrootcert=certificate,
                sslcert=_NO_FILE, sslkey=_NO_FILE, passfile=_NO_FILE, gssencmode="disable",
                require_auth="password,md5,scram-sha-256,none" if hidden else "md5,scram-sha-256,none",
                connect_timeout=max(2, int(deadline - time.monotonic())), application_name="aslant", client_encoding="utf8",
                options=" ".join(f"-c {name}={value}" for name, value in options.items()), cursor_factory=psycopg.RawCursor,
            )
        with connection, socket.socket(fileno=os.dup(connection.fileno())) as handle, guard.cut_off(handle, deadline):
            for name in _TEXTS:
                connection.adapters.register_loader(name, TextLoader)
            for name in _MOMENTS:
                connection.adapters.register_loader(name, Moment)
            connection.read_only = request.read_only or None
            if request.isolation:
                connection.isolation_level = psycopg.IsolationLevel[request.isolation.upper().replace(" ", "_")]
            yield connection

    @contextlib.contextmanager
    def _certificate(self) -> Iterator[str]:
        """The file of certificates that libpq trusts: `system` stands for those of the system."""
        if not self.where.ca:
            if self.where.tls == "verify-ca":
                raise ValidationError("a connection with verify-ca needs its `ca`")
            yield "system" if self.where.tls == "verify-full" else _NO_FILE
            return
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(self.where.ca)
            file.flush()
            yield file.name

    def _error(self, error: Exception, deadline: float) -> StepError:
        shown = f"PostgreSQL at {self.where.host}:{self.where.port}"
        code = getattr(error, "sqlstate", None) or ""
        message = " ".join(str(error).split())[:500]
        if code:
            kind = _ERRORS.get(code) or _ERRORS.get(code[:2], ValidationError)
            return kind(f"{shown}: {message} ({code})")
        if time.monotonic() >= deadline or "timeout" in message:
            return StepTimeout(f"{shown} did not answer in time")
        lower = message.lower()
        if "authentication failed" in lower or "no pg_hba.conf entry" in lower or "no password supplied" in lower:
            return AuthenticationError(f"{shown}: {message}")
        if "does not exist" in lower:
            return NotFoundError(f"{shown}: {message}")
        if type(error).__name__ in ("OperationalError", "InterfaceError", "ConnectionTimeout"):
            return NetworkError(f"{shown}: {message}")
        return ValidationError(f"{shown}: {message}")


def _parameter(value: Json) -> Any:
    """A list of plain values is an array; objects, and lists of more, are JSON. A text has the type that the query gives."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(item, dict | list) for item in value)):
        return compact(value)
    return value


def _one(connection: psycopg.Connection[Any], statement: text.Bound, values: list[Any], request: QueryRequest) -> QueryResult:
    import psycopg

    if statement.verb in _CURSORS:
        # A cursor: rows beyond the limit are not computed. It does not take a WITH that writes.
        connection.execute("SAVEPOINT aslant_before")
        try:
            declared = psycopg.RawCursor(connection)
            declared.execute(f"DECLARE aslant NO SCROLL CURSOR FOR {statement.text}", values, prepare=True)
            found = _fetched(connection, request.max_rows)
            connection.execute("CLOSE aslant")
            return found
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.SyntaxError):
            if statement.verb != "WITH":
                raise
            connection.execute("ROLLBACK TO SAVEPOINT aslant_before")
    rows = Rows(request.max_rows)
    cursor = psycopg.RawCursor(connection)
    if _gives_rows(connection, statement.text):
        # Row by row, so that what is not kept takes no memory; it must be read all the same, or the statement is undone.
        for row in cursor.stream(statement.text, values):
            rows.add(row)
    else:
        cursor.execute(statement.text, values, prepare=True)
    columns = _columns(connection, cursor)
    affected = _affected(cursor.statusmessage)
    return QueryResult(columns, rows.rows, affected, rows.more)


def _gives_rows(connection: psycopg.Connection[Any], query: str) -> bool:
    """What the server says of a statement before it is run."""
    from psycopg.errors import error_from_result
    from psycopg.pq import ExecStatus

    prepared = connection.pgconn.prepare(b"", query.encode())
    if prepared.status != ExecStatus.COMMAND_OK:
        raise error_from_result(prepared, encoding="utf-8")
    return connection.pgconn.describe_prepared(b"").nfields > 0


def _affected(status: str | None) -> int | None:
    """The rows that `INSERT 0 3`, `UPDATE 2`, `MERGE 1` tell of; None for what changes no rows."""
    verb, _, rest = (status or "").partition(" ")
    number = rest.rpartition(" ")[2]
    return int(number) if verb in ("INSERT", "UPDATE", "DELETE", "MERGE") and number.isdigit() else None


def _fetched(connection: psycopg.Connection[Any], most: int) -> QueryResult:
    rows = Rows(most)
    while True:
        cursor = connection.execute(f"FETCH FORWARD {min(_BATCH, most + 1 - len(rows.rows))} FROM aslant")
        batch = cursor.fetchall()
        if not all(rows.add(row) for row in batch) or not batch:
            return QueryResult(_columns(connection, cursor), rows.rows, None, rows.more)


def _columns(connection: psycopg.Connection[Any], cursor: psycopg.Cursor[Any]) -> list[tuple[str, str]]:
    found = []
    for column in cursor.description or ():
        known = connection.adapters.types.get(column.type_code)
        is_array = known is not None and known.array_oid == column.type_code
        found.append((column.name, (f"{known.name}[]" if is_array else known.name) if known else str(column.type_code)))
    return found
