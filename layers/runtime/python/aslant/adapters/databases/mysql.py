"""MySQL and MariaDB by PyMySQL. The server itself binds: a statement is prepared before any value is there.

PyMySQL has no prepared statements and would write values into the text. So values become variables of the session, spelled
as numbers or in hexadecimal, and `EXECUTE … USING` gives them to the statement that the server has parsed already.
"""

from __future__ import annotations

import contextlib
import struct
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from aslant.adapters.databases import guard, text
from aslant.adapters.databases.cells import Rows
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
from aslant.values import compact, read_json

_BATCH = 100
_UNREADABLE = (struct.error, IndexError, TypeError, AssertionError)  # what PyMySQL stumbles with over a packet that is none
# https://dev.mysql.com/doc/mysql-errors/8.0/en/server-error-reference.html, and MariaDB's own beyond 1900
_ERRORS: dict[int, type[StepError]] = {
    1044: AuthorizationError, 1045: AuthenticationError, 1698: AuthenticationError, 1142: AuthorizationError,
    1143: AuthorizationError, 1227: AuthorizationError, 1370: AuthorizationError, 1792: AuthorizationError,
    1049: NotFoundError, 1146: NotFoundError, 1305: NotFoundError, 1062: ConflictError, 1586: ConflictError,
    1205: StepTimeout, 1969: StepTimeout, 3024: StepTimeout, 1213: ServerError, 1040: ServerError, 1203: ServerError,
    1226: ServerError, 1053: NetworkError, 1080: NetworkError, 1927: NetworkError, 2003: NetworkError, 2006: NetworkError,
    2013: NetworkError, 2026: NetworkError, 1290: AuthorizationError,
}


@dataclass(frozen=True, slots=True)
class MySql:
    where: DatabaseAddress
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        import pymysql

        deadline = time.monotonic() + request.timeout
        statements = text.prepared(request, "mysql", "?")
        values = [[_literal(value) for value in each.values] for each in statements]
        try:
            with self._connection(request, deadline) as connection:
                found = [_one(connection, each, given, request) for each, given in zip(statements, values, strict=True)]
                connection.commit()
                return found
        except (pymysql.Error, OSError, UnicodeError, *_UNREADABLE) as error:
            raise self._error(error, deadline) from None

    @contextlib.contextmanager
    def _connection(self, request: QueryRequest, deadline: float) -> Iterator[Any]:
        import pymysql
        from pymysql.constants import CLIENT

        with guard.connect(self.where, self.allow, deadline) as sock, sock.dup() as handle, guard.cut_off(handle, deadline):
            left = max(1.0, deadline - time.monotonic())
            tls = guard.context(self.where)
            connection: Any = pymysql.Connection(
                host=self.where.host, port=self.where.port, user=self.where.user, password=self.where.password,
                database=self.where.name or None, charset="utf8mb4", ssl=tls, ssl_disabled=tls is None, autocommit=False,
                connect_timeout=min(left, 31_536_000), read_timeout=left, write_timeout=left, conv=_decoders(),
                local_infile=False, defer_connect=True, client_flag=CLIENT.FOUND_ROWS, program_name="aslant",
            )
            if self.where.tls == "prefer":
                connection._ssl_required = False
                connection.client_flag &= ~CLIENT.SSL
            try:
                connection.connect(sock)
                for each in _session(connection, request, left):
                    connection.query(each)
                yield connection
            finally:
                if connection._result is not None:
                    connection._result.unbuffered_active = False  # nobody reads the rest of it
                connection._force_close()  # an unfinished transaction ends with its connection

    def _error(self, error: Exception, deadline: float) -> StepError:
        shown = f"MySQL at {self.where.host}:{self.where.port}"
        number = error.args[0] if error.args and isinstance(error.args[0], int) else 0
        message = " ".join(str(error.args[-1] if error.args else error).split())[:500]
        if time.monotonic() >= deadline or isinstance(error, TimeoutError) or (number == 2013 and "timed out" in message):
            return StepTimeout(f"{shown} did not answer in time")
        if number == 0 and isinstance(error, OSError):
            return NetworkError(f"{shown}: the connection failed: {type(error).__name__}")
        if number == 0 and not isinstance(error, UnicodeError):
            return NetworkError(f"{shown} does not answer as MySQL does")
        return _ERRORS.get(number, NetworkError if 2000 <= number < 3000 else ValidationError)(f"{shown}: {message} ({number})")


def _session(connection: Any, request: QueryRequest, left: float) -> Iterator[str]:
    """Statements that every session begins with."""
    maria = "mariadb" in str(connection.server_version).lower()
    yield "SET SESSION time_zone = '+00:00'"
    yield f"SET SESSION {f'max_statement_time = {left:.3f}' if maria else f'max_execution_time = {round(left * 1000)}'}"
    yield f"SET SESSION innodb_lock_wait_timeout = {max(1, int(left))}"
    yield f"SET SESSION sql_select_limit = {request.max_rows + 1}"
    if request.isolation:
        yield f"SET SESSION TRANSACTION ISOLATION LEVEL {request.isolation.upper()}"
    if request.read_only:
        yield "SET SESSION TRANSACTION READ ONLY"  # also for the transaction after a statement that ends this one
    yield f"START TRANSACTION READ {'ONLY' if request.read_only else 'WRITE'}"


def _one(connection: Any, statement: text.Bound, values: list[str], request: QueryRequest) -> QueryResult:
    from pymysql.cursors import SSCursor

    names = [f"@aslant_{index}" for index in range(len(values))]
    pairs = [f"@aslant = {_text(statement.text)}", *(f"{name} = {value}" for name, value in zip(names, values, strict=True))]
    connection.query(f"SET {', '.join(pairs)}")
    connection.query("PREPARE aslant FROM @aslant")
    cursor: Any = SSCursor(connection)
    cursor.execute("EXECUTE aslant" + (f" USING {', '.join(names)}" if names else ""))
    rows = Rows(request.max_rows)
    columns = _columns(cursor)
    if not columns:
        affected = cursor.rowcount
        cursor.close()
        return QueryResult((), (), max(affected, 0), False)
    while batch := cursor.fetchmany(_BATCH):
        for row in batch:
            rows.add(row)
    cursor.close()
    connection.query("DEALLOCATE PREPARE aslant")
    return QueryResult(columns, rows.rows, None, rows.more)


def _literal(value: Json) -> str:
    """A value in characters that cannot end it: digits, and hexadecimal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return repr(value)
    return _text(value if isinstance(value, str) else compact(value))


def _text(value: str) -> str:
    try:
        data = value.encode()
    except UnicodeEncodeError:
        raise ValidationError("a parameter is no text of Unicode") from None
    return f"_utf8mb4 0x{data.hex()}" if data else "_utf8mb4 ''"


def _decoders() -> dict[Any, Any]:
    """How fields are read: moments as ISO 8601, JSON as what it says, the rest as PyMySQL does."""
    from pymysql.constants import FIELD_TYPE
    from pymysql.converters import conversions

    def iso(text: str) -> str:
        return text.replace(" ", "T", 1)

    return {
        **conversions, FIELD_TYPE.DATE: str, FIELD_TYPE.TIME: str, FIELD_TYPE.YEAR: int, FIELD_TYPE.DATETIME: iso,
        FIELD_TYPE.TIMESTAMP: lambda text: iso(text) + "Z", FIELD_TYPE.JSON: _json,
    }


def _json(text: str) -> Json:
    try:
        return read_json(text)
    except ValueError:
        return text


_KINDS = {
    "string": "char", "var_string": "varchar", "newdecimal": "decimal", "longlong": "bigint", "long": "int", "tiny": "tinyint",
    "short": "smallint", "int24": "mediumint", "blob": "text", "tiny_blob": "text", "medium_blob": "text", "long_blob": "text",
}
_BYTES = 63  # the number of the character set of bytes


def _columns(cursor: Any) -> list[tuple[str, str]]:
    from pymysql.constants import FIELD_TYPE

    codes = {value: name.lower() for name, value in vars(FIELD_TYPE).items() if isinstance(value, int) and name != "CHAR"}
    found = []
    for field in getattr(cursor._result, "fields", None) or ():
        kind = codes.get(field.type_code, str(field.type_code))
        shown = _KINDS.get(kind, kind)
        is_binary = shown in ("char", "varchar", "text") and field.charsetnr == _BYTES
        found.append((str(field.name), "binary" if is_binary else shown))
    return found
