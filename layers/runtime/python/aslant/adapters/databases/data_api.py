"""PostgreSQL and MySQL of Amazon RDS by its Data API: no connection, values as named parameters."""

from __future__ import annotations

import contextlib
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
from aslant.errors import AuthorizationError, StepTimeout, ValidationError
from aslant.values import compact

_DECIMALS = frozenset({"numeric", "decimal", "newdecimal"})


@dataclass(frozen=True, slots=True)
class RdsDataApi:
    """`kind` is postgresql or mysql. The cluster and the secret of its user must both be open to the tenant."""

    region: str
    kind: str
    resource_arn: str
    secret_arn: str
    name: str
    tenant: str
    allow: Sequence[str] = ()

    def run(self, request: QueryRequest) -> list[QueryResult]:
        deadline = time.monotonic() + request.timeout
        for arn in (self.resource_arn, self.secret_arn):
            guard.permit("rds", arn, self.tenant, self.allow)
        postgres = self.kind == "postgresql"
        dialect: text.Dialect = "postgresql" if postgres else "mysql"
        statements = text.prepared(request, dialect, ":p1")
        for each in statements:
            if request.read_only and not postgres and each.verb == "WITH":
                raise AuthorizationError("WITH can write in MySQL, and the Data API has no sessions that only read")
        if request.isolation and not postgres:
            raise ValidationError("MySQL's isolation cannot be chosen by the Data API")
        which = {"resourceArn": self.resource_arn, "secretArn": self.secret_arn}
        where = {**which, "database": self.name} if self.name else which
        with calling("the query by the RDS Data API"):
            api = client("rds-data", self.region)
            transaction = api.begin_transaction(**where)["transactionId"]
            try:
                if postgres:
                    mode = "READ ONLY" if request.read_only else "READ WRITE"
                    level = f"ISOLATION LEVEL {request.isolation.upper()} " if request.isolation else ""
                    limit = max(1, round(request.timeout * 1000))
                    for sql in (f"SET TRANSACTION {level}{mode}", f"SET LOCAL statement_timeout = {limit}"):
                        api.execute_statement(**where, transactionId=transaction, sql=sql)
                found = []
                for each in statements:
                    if time.monotonic() >= deadline:
                        raise StepTimeout("the query by the RDS Data API took too long")
                    answer = api.execute_statement(
                        **where, transactionId=transaction, sql=each.text, includeResultMetadata=True,
                        parameters=[{"name": f"p{n}", "value": _field(value)} for n, value in enumerate(each.values, 1)],
                    )
                    found.append(_result(answer, request.max_rows))
                api.commit_transaction(**which, transactionId=transaction)
                return found
            except BaseException:
                with contextlib.suppress(Exception):
                    api.rollback_transaction(**which, transactionId=transaction)
                raise


def _field(value: Json) -> dict[str, Any]:
    if value is None:
        return {"isNull": True}
    if isinstance(value, bool):
        return {"booleanValue": value}
    if isinstance(value, int) and abs(value) < 2**63:
        return {"longValue": value}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": value if isinstance(value, str) else compact(value)}


def _result(answer: dict[str, Any], most: int) -> QueryResult:
    about = answer.get("columnMetadata", [])
    columns = [(str(each.get("label") or each.get("name", "")), str(each.get("typeName", ""))) for each in about]
    if not columns:
        return QueryResult((), (), int(answer.get("numberOfRecordsUpdated", 0)), False)
    rows = Rows(most)
    for record in answer.get("records", []):
        rows.add(_value(field, kind) for field, (_, kind) in zip(record, columns, strict=False))
    return QueryResult(columns, rows.rows, answer.get("numberOfRecordsUpdated") or None, rows.more)


def _value(field: dict[str, Any], kind: str) -> Any:
    name, value = next(iter(field.items()))
    if name == "isNull":
        return None
    if name == "arrayValue":
        of, items = next(iter(value.items()), ("", []))
        return [_value({"arrayValue": each}, kind) for each in items] if of == "arrayValues" else items
    if name == "stringValue" and kind.lower() in _DECIMALS:
        with contextlib.suppress(InvalidOperation):
            return Decimal(value)
    if name == "stringValue" and kind.lower().startswith(("timestamp", "datetime")):
        return moment(value) + ("Z" if kind.lower() == "timestamptz" and not value.endswith(("Z", "+00")) else "")
    return value
