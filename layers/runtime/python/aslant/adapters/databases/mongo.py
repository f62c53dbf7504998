"""MongoDB by PyMongo: listed commands as JSON, values put into the parsed command, several in one transaction."""

from __future__ import annotations

import contextlib
import datetime
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aslant.adapters.databases import guard
from aslant.adapters.databases.cells import cell, decimal
from aslant.contracts import MAX_PAYLOAD, Json
from aslant.database_ports import DatabaseAddress, QueryRequest, QueryResult, QueryStatement
from aslant.errors import (
    AuthenticationError,
    AuthorizationError,
    ConflictError,
    NetworkError,
    NotFoundError,
    PayloadTooLarge,
    ServerError,
    StepError,
    StepTimeout,
    ValidationError,
)
from aslant.values import compact

if TYPE_CHECKING:
    from pymongo import MongoClient
    from pymongo.client_session import ClientSession

# What a command may say beside its collection. No administration, scripts, sessions, or concerns that a transaction refuses.
_OPTIONS = {
    "find": "filter sort projection hint skip limit collation let",
    "aggregate": "pipeline hint collation let allowDiskUse",
    "count": "query limit skip hint collation",
    "distinct": "key query collation hint",
    "insert": "documents ordered",
    "update": "updates ordered let",
    "delete": "deletes ordered let",
    "findAndModify": "query sort remove update new fields upsert arrayFilters collation hint let",
}
_READING = frozenset({"find", "aggregate", "count", "distinct"})
_WRITING_STAGES = frozenset({"$out", "$merge"})
_SCRIPTS = frozenset({"$where", "$function", "$accumulator"})
# The one key of a value that JSON has no way to write.
# https://www.mongodb.com/docs/manual/reference/mongodb-extended-json/
_TYPED = frozenset({"$oid", "$date", "$numberDecimal", "$numberLong", "$numberInt", "$numberDouble", "$binary", "$uuid"})
_PLACE = re.compile(r"\$(?P<number>[0-9]+)|:(?P<name>[A-Za-z_]\w*)")
_MAX_DEPTH = 100
# By number; what is not here is a ValidationError. https://www.mongodb.com/docs/manual/reference/error-codes/
_ERRORS: dict[int, type[StepError]] = {
    11000: ConflictError, 112: ServerError, 13: AuthorizationError, 8000: AuthenticationError, 18: AuthenticationError,
    26: NotFoundError, 50: StepTimeout, 262: StepTimeout, 24: StepTimeout, 6: NetworkError, 7: NetworkError, 89: NetworkError,
    91: ServerError, 189: ServerError, 10107: ServerError, 11600: ServerError, 11602: ServerError, 13435: ServerError,
    13436: ServerError, 146: ServerError, 251: ServerError,
}


@dataclass(frozen=True, slots=True)
class Mongo:
    where: DatabaseAddress
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        import pymongo
        from pymongo.errors import PyMongoError

        if not self.where.name:
            raise ValidationError("a query of MongoDB needs the database's name: in the connection, or as database_name")
        if request.isolation:
            raise ValidationError("a query of MongoDB takes no isolation level")
        commands = [_command(each, request.read_only) for each in request.statements]
        deadline = time.monotonic() + request.timeout
        try:
            with self._client(deadline) as client, pymongo.timeout(max(0.1, deadline - time.monotonic())):
                if len(commands) == 1:
                    return [self._one(client, commands[0], request.max_rows, None)]
                with client.start_session() as session, session.start_transaction():
                    return [self._one(client, each, request.max_rows, session) for each in commands]
        except (PyMongoError, OverflowError) as error:
            raise self._error(error, deadline) from None

    @contextlib.contextmanager
    def _client(self, deadline: float) -> Iterator[MongoClient[dict[str, Any]]]:
        """One server, as it was checked: by its address, or by its name where its certificate is checked against that."""
        import pymongo

        with guard.connect(self.where, self.allow, deadline) as checked:
            address = str(checked.getpeername()[0])
        by_name = self.where.tls == "verify-full"
        left = max(1, round(1000 * (deadline - time.monotonic())))
        known: dict[str, Any] = {}
        if self.where.user:
            known = {"username": self.where.user, "password": self.where.password,
                     "authSource": self.where.source or self.where.name or "admin"}
        with self._tls() as tls:
            client: MongoClient[dict[str, Any]] = pymongo.MongoClient(
                host=self.where.host if by_name else address, port=self.where.port, directConnection=True, tz_aware=True,
                appname="aslant", serverSelectionTimeoutMS=left, connectTimeoutMS=left, socketTimeoutMS=left, maxPoolSize=1,
                serverMonitoringMode="poll", retryReads=False, retryWrites=False, datetime_conversion="DATETIME_AUTO",
                **known, **tls,
            )
            with client:
                yield client

    @contextlib.contextmanager
    def _tls(self) -> Iterator[dict[str, Any]]:
        mode = self.where.tls
        if mode in ("disable", "prefer"):  # a server of MongoDB speaks one of both
            yield {"tls": False}
        elif mode == "require":
            yield {"tls": True, "tlsAllowInvalidCertificates": True}
        elif self.where.ca:
            guard.context(self.where)  # that it is a certificate
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(self.where.ca)
                file.flush()
                yield {"tls": True, "tlsCAFile": file.name, "tlsAllowInvalidHostnames": mode == "verify-ca"}
        elif mode == "verify-ca":
            raise ValidationError("a connection with verify-ca needs its `ca`")
        else:
            yield {"tls": True}

    def _one(
        self, client: MongoClient[dict[str, Any]], command: dict[str, Any], most: int, session: ClientSession | None,
    ) -> QueryResult:
        database, name = client[self.where.name], next(iter(command))
        if name in ("find", "aggregate"):
            with database.cursor_command(command, session=session) as cursor:
                return _documents(cursor, most)
        reply: Mapping[str, Any] = database.command(command, session=session)
        failed = reply.get("writeErrors") or []
        if failed:
            text, done = str(failed[0].get("errmsg", ""))[:500], reply.get("n", 0)
            kept = f"; {done} before it happened" if done and session is None else ""
            raise _ERRORS.get(failed[0].get("code"), ValidationError)(f"{self._shown}: {text}{kept}")
        if reply.get("writeConcernError"):
            raise ServerError(f"{self._shown}: {str(reply['writeConcernError'].get('errmsg', ''))[:500]}")
        match name:
            case "count":
                return QueryResult(value={"count": cell(reply["n"])})
            case "distinct":
                values = [_value(each) for each in reply["values"]]
                return QueryResult(value={"values": values[:most]}, more=len(values) > most)
            case "findAndModify":
                found = reply.get("value")
                affected = (reply.get("lastErrorObject") or {}).get("n")
                return QueryResult(value=[] if found is None else [_value(found)], affected=affected)
        told = {"matched": reply["n"], "modified": reply["nModified"]} if name == "update" else {}
        upserted = [_value(each["_id"]) for each in reply.get("upserted") or ()]
        return QueryResult(value={**told, **({"upserted": upserted} if upserted else {})} or None, affected=reply.get("n"))

    @property
    def _shown(self) -> str:
        return f"MongoDB at {self.where.host}:{self.where.port}"

    def _error(self, error: Exception, deadline: float) -> StepError:
        from pymongo import errors

        message = " ".join(str(error).split())[:500]
        if isinstance(error, errors.OperationFailure):
            message = " ".join(str((error.details or {}).get("errmsg") or error).split())[:500]
            again = error.has_error_label("TransientTransactionError")
            return _ERRORS.get(error.code or 0, ServerError if again else ValidationError)(f"{self._shown}: {message}")
        if time.monotonic() >= deadline or isinstance(error, errors.NetworkTimeout):
            return StepTimeout(f"{self._shown} did not answer in time")
        if isinstance(error, errors.ConnectionFailure):
            return NetworkError(f"{self._shown}: {message}")
        return ValidationError(f"{self._shown}: {message}")


def _documents(cursor: Any, most: int) -> QueryResult:
    rows: list[Json] = []
    size = 0
    for document in cursor:
        if len(rows) >= most:
            return QueryResult(value=rows, more=True)
        row = _value(document)
        size += len(compact(row).encode("utf-8", "surrogatepass"))
        if size > MAX_PAYLOAD:
            raise PayloadTooLarge(f"the documents have more than {MAX_PAYLOAD:,} bytes of JSON; ask for fewer, or fewer fields")
        rows.append(row)
    return QueryResult(value=rows)


def _value(value: Any) -> Json:
    """A value of BSON as JSON: ids as texts, moments in UTC, decimals as numbers where these say the same."""
    from bson import Binary, DatetimeMS, Decimal128, ObjectId, Regex

    if isinstance(value, dict):
        return {str(key): _value(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_value(each) for each in value]
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if isinstance(value, Decimal128):
        return decimal(value.to_decimal())
    if isinstance(value, Binary):
        return str(value.as_uuid()) if value.subtype == 4 else cell(bytes(value))
    if isinstance(value, Regex):
        return str(value.pattern)
    if isinstance(value, ObjectId):
        return str(value)
    return int(value) if isinstance(value, DatetimeMS) else cell(value)


def _command(statement: QueryStatement, read_only: bool) -> dict[str, Any]:
    """The command that is sent. Values are put in once it is parsed, and hold no operators: they cannot change what it asks."""
    from bson import errors, json_util

    try:
        parsed = json_util.loads(statement.text)
    except (ValueError, TypeError, OverflowError, RecursionError, AttributeError, KeyError, errors.BSONError) as error:
        raise ValidationError(f"the query is no command of MongoDB as JSON: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(parsed, dict) or not parsed:
        raise ValidationError('a query of MongoDB is a command as JSON: {"find": "orders", "filter": {}}')
    name = next(iter(parsed))
    if name not in _OPTIONS:
        raise ValidationError(f"{name[:40]!r} is no command of a query step; they are {', '.join(_OPTIONS)}")
    if not isinstance(parsed[name], str) or not parsed[name]:
        raise ValidationError(f"the command {name} names a collection")
    unknown = sorted(set(parsed) - {name, *_OPTIONS[name].split()})
    if unknown:
        known = _OPTIONS[name].replace(" ", ", ")
        raise ValidationError(f"the command {name} does not take {unknown[0][:40]!r} in a query step; it takes {known}")
    stages = parsed.get("pipeline")
    writes = name not in _READING or isinstance(stages, list) and any(
        key in _WRITING_STAGES for stage in stages if isinstance(stage, dict) for key in stage)
    if read_only and writes:
        raise AuthorizationError(f"{name} is not among the commands that only read, or it writes its result")
    used: set[str] = set()
    command: dict[str, Any] = {key: _put(value, statement.values, used, 0) for key, value in parsed.items() if key != name}
    # The key that is offered to every query need not be used.
    if not isinstance(statement.values, Mapping) and len(used) != len(statement.values):
        raise ValidationError(f"the command has other placeholders than its {len(statement.values)} parameters")
    return {name: parsed[name], **command, **({"cursor": {}} if name == "aggregate" else {})}


def _put(part: Any, given: Sequence[Json] | Mapping[str, Json], used: set[str], depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValidationError(f"the command is nested deeper than {_MAX_DEPTH}")
    if isinstance(part, dict):
        for key in part:
            if key in _SCRIPTS:
                raise ValidationError(f"{key} runs a script in the server, which query steps do not do")
        return {key: _put(value, given, used, depth + 1) for key, value in part.items()}
    if isinstance(part, list):
        return [_put(value, given, used, depth + 1) for value in part]
    place = _PLACE.fullmatch(part) if isinstance(part, str) else None
    if place is None:
        return part
    if isinstance(given, Mapping):
        name = place["name"]
        if name is None or name not in given:
            return part  # "$1" is a field, ":x" a text
        return _given(given[name], 0)
    if place["number"] is None or not given:
        return part
    number = int(place["number"][:9])
    if not 1 <= number <= len(given):
        raise ValidationError(f"the command's placeholder {part[:12]} has no parameter: there are {len(given)}")
    used.add(place["number"])
    return _given(given[number - 1], 0)


def _given(value: Json, depth: int) -> Any:
    """A parameter: plain JSON, or one of the values that JSON cannot say (`{"$oid": …}`); never an operator."""
    from bson import errors, json_util

    if depth > _MAX_DEPTH:
        raise ValidationError(f"a parameter is nested deeper than {_MAX_DEPTH}")
    if isinstance(value, list):
        return [_given(each, depth + 1) for each in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and next(iter(value)) in _TYPED:
        try:
            return json_util.object_hook(value)
        except (ValueError, TypeError, OverflowError, AttributeError, KeyError, ArithmeticError, errors.BSONError):
            raise ValidationError(f"a parameter is no proper {next(iter(value))}") from None
    for key in value:
        if key.startswith("$"):
            raise ValidationError(f"a parameter holds the operator {key[:40]}: what a query asks stands in the query")
    return {key: _given(each, depth + 1) for key, each in value.items()}
