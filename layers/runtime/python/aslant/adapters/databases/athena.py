"""Athena: a workgroup that the installation opens, values as execution parameters."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.adapters.databases import guard, text
from aslant.adapters.databases.cells import Rows, moment
from aslant.contracts import Json
from aslant.database_ports import QueryRequest, QueryResult
from aslant.errors import AuthorizationError, NotFoundError, ServerError, StepError, StepTimeout, ValidationError
from aslant.values import compact, read_json

_INTEGERS = frozenset({"tinyint", "smallint", "integer", "int", "bigint"})
_PAGE = 1_000
_FIRST_WAIT, _LONGEST_WAIT = 0.2, 2.0  # seconds between two looks


@dataclass(frozen=True, slots=True)
class Athena:
    region: str
    workgroup: str
    catalog: str
    name: str
    tenant: str
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        deadline = time.monotonic() + request.timeout
        guard.permit("athena", self.workgroup, self.tenant, self.allow)
        if len(request.statements) != 1 or request.isolation:
            raise ValidationError("Athena has no transactions: a step has one query")
        (bound,) = text.prepared(request, "plain", "?")
        arguments: dict[str, Any] = {"QueryString": bound.text, "WorkGroup": self.workgroup}
        context = {key: value for key, value in (("Database", self.name), ("Catalog", self.catalog)) if value}
        if context:
            arguments["QueryExecutionContext"] = context
        if bound.values:
            arguments["ExecutionParameters"] = [literal(each) for each in bound.values]
        if len(request.token) >= 32:
            arguments["ClientRequestToken"] = request.token[:128]
        with calling("the query of Athena"):
            execution = client("athena", self.region).start_query_execution(**arguments)["QueryExecutionId"]
            kind = self._wait(execution, deadline)
            return [self._rows(execution, kind, request.max_rows)]

    def _wait(self, execution: str, deadline: float) -> str:
        """Waits for the end of a query; its kind (DML, DDL, UTILITY)."""
        api, pause = client("athena", self.region), _FIRST_WAIT
        while True:
            found = api.get_query_execution(QueryExecutionId=execution)["QueryExecution"]
            state = found["Status"]["State"]
            if state == "SUCCEEDED":
                return str(found.get("StatementType") or "DML")
            if state in ("FAILED", "CANCELLED"):
                raise _failure(str(found["Status"].get("StateChangeReason") or state.lower())[:500])
            if time.monotonic() + pause >= deadline:
                with contextlib.suppress(Exception):
                    api.stop_query_execution(QueryExecutionId=execution)
                raise StepTimeout("the query of Athena took too long")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_WAIT)

    def _rows(self, execution: str, kind: str, most: int) -> QueryResult:
        api, rows = client("athena", self.region), Rows(most)
        columns: list[tuple[str, str]] = []
        more: dict[str, Any] = {}
        while True:
            answer = api.get_query_results(QueryExecutionId=execution, MaxResults=_PAGE, **more)
            data = answer["ResultSet"].get("Rows", [])
            if not more:
                about = answer["ResultSet"].get("ResultSetMetadata", {}).get("ColumnInfo", [])
                columns = [(str(each.get("Label") or each["Name"]), str(each["Type"])) for each in about]
                names = [each.get("VarCharValue") for each in data[0].get("Data", [])] if data else []
                if kind == "DML" and names == [name for name, _ in columns]:
                    data = data[1:]
            for row in data:
                cells = zip(row.get("Data", []), columns, strict=False)
                rows.add(value(each.get("VarCharValue"), of) for each, (_, of) in cells)
            if rows.more or not answer.get("NextToken"):
                return QueryResult(columns, rows.rows, answer.get("UpdateCount") or None, rows.more)
            more = {"NextToken": answer["NextToken"]}


def literal(given: Json) -> str:
    """A value as Athena takes a parameter: a literal of SQL, in which a quote is the only character that means something."""
    if given is None:
        return "NULL"
    if isinstance(given, bool):
        return "true" if given else "false"
    if isinstance(given, int | float):
        return repr(given)
    return "'" + (given if isinstance(given, str) else compact(given)).replace("'", "''") + "'"


def value(given: str | None, kind: str) -> Any:
    """A cell of Athena, which gives texts, by the type of its column."""
    if given is None:
        return None
    if kind in _INTEGERS and re.fullmatch(r"-?[0-9]+", given):
        return int(given)
    if kind == "boolean":
        return given.lower() == "true"
    if kind in ("double", "float", "real"):
        with contextlib.suppress(ValueError):
            return float(given)
    if kind.startswith("decimal"):
        with contextlib.suppress(InvalidOperation):
            return Decimal(given)
    if kind == "json":
        with contextlib.suppress(ValueError):
            return read_json(given)
    if kind == "varbinary" and re.fullmatch(r"(?:[0-9a-f]{2}(?: |\Z))*", given):
        return bytes.fromhex(given)
    return moment(given) if kind.startswith("timestamp") else given


_REASONS: tuple[tuple[str, type[StepError]], ...] = (
    ("TABLE_NOT_FOUND", NotFoundError), ("SCHEMA_NOT_FOUND", NotFoundError), ("EntityNotFound", NotFoundError),
    ("PERMISSION_DENIED", AuthorizationError), ("AccessDenied", AuthorizationError), ("Access Denied", AuthorizationError),
    ("EXHAUSTED", ServerError), ("INTERNAL_ERROR", ServerError),
)


def _failure(reason: str) -> StepError:
    kind = next((kind for word, kind in _REASONS if word in reason), ValidationError)
    return kind(f"the query of Athena failed: {reason}")
