"""DynamoDB by PartiQL: tables that the installation opens, values as the statement's parameters."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, cast

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client, error_code
from aslant.adapters.databases import guard, text
from aslant.adapters.databases.cells import Rows
from aslant.database_ports import QueryRequest, QueryResult
from aslant.errors import AuthorizationError, ConflictError, StepTimeout, ValidationError

_VERBS = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "EXISTS"})
_MOST = 100  # statements of a transaction
_CONFLICTS = frozenset({"ConditionalCheckFailedException", "DuplicateItemException", "TransactionCanceledException",
                        "IdempotentParameterMismatchException"})


@dataclass(frozen=True, slots=True)
class DynamoPartiQl:
    region: str
    tenant: str
    allow: Sequence[str] = ()
    own: Sequence[str] = ()  # tables of the installation, which no entry opens

    def run(self, request: QueryRequest) -> list[QueryResult]:
        from botocore.exceptions import ClientError

        deadline = time.monotonic() + request.timeout
        if request.isolation:
            raise ValidationError("DynamoDB has no isolation levels to choose from")
        statements = [self._statement(each.text, each.values, request.read_only) for each in request.statements]
        if len(statements) > _MOST:
            raise ValidationError(f"a transaction of DynamoDB has at most {_MOST} statements")
        with calling("the query of DynamoDB"):
            try:
                if len(statements) == 1:
                    return [self._one(statements[0], request, deadline)]
                answer = client("dynamodb", self.region).execute_transaction(
                    TransactStatements=statements, ClientRequestToken=request.token[:36])
            except ClientError as error:
                if error_code(error) in _CONFLICTS:
                    raise ConflictError(f"the query of DynamoDB failed: {error_code(error)}") from None
                raise
        told = [*answer.get("Responses", ()), *({} for _ in statements)]  # of writes there may be none
        return [
            _result([each["Item"]] if "Item" in each else [], request.max_rows, False)
            for each, _ in zip(told, statements, strict=False)
        ]

    def _statement(self, query: str, values: Any, read_only: bool) -> dict[str, Any]:
        from boto3.dynamodb.types import TypeSerializer

        bound = text.bind(query, values, "plain", "?")
        if bound.verb not in _VERBS:
            raise ValidationError(f"{bound.verb or 'this'} is no statement of PartiQL")
        if read_only and bound.verb != "SELECT":
            raise AuthorizationError(f"{bound.verb} is not among the statements that only read")
        for table in tables(bound.text):
            if table in self.own:
                raise AuthorizationError(f"the table {table} is the installation's own")
            guard.permit("dynamodb", table, self.tenant, self.allow)
        serialize = TypeSerializer().serialize
        statement: dict[str, Any] = {"Statement": bound.text}
        if bound.values:
            statement["Parameters"] = [serialize(json.loads(json.dumps(each), parse_float=Decimal)) for each in bound.values]
        return statement

    def _one(self, statement: dict[str, Any], request: QueryRequest, deadline: float) -> QueryResult:
        items: list[dict[str, Any]] = []
        more: dict[str, Any] = {}
        while True:
            answer = client("dynamodb", self.region).execute_statement(**statement, **more)
            items += answer.get("Items", [])
            token = answer.get("NextToken")
            if not token or len(items) > request.max_rows:
                return _result(items, request.max_rows, bool(token))
            if time.monotonic() >= deadline:
                raise StepTimeout("the query of DynamoDB took too long")
            more = {"NextToken": token}


def tables(query: str) -> list[str]:
    """The tables that a statement of PartiQL names. Raises ValidationError where that is not certain."""
    tokens = text.words(query, "plain")
    bare = _bare(query)
    if "--" in bare or "/*" in bare:
        raise ValidationError("a query of DynamoDB holds no comments")
    found = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        if token.kind != "word" or token.text.upper() not in ("FROM", "INTO", "UPDATE"):
            continue
        if following is None or query[token.end:following.start].strip():
            raise ValidationError(f"the query names no table after {token.text}")
        name = following.text
        if following.kind == "text" and name[0] == '"' and '""' not in name:
            name = name[1:-1]
        elif following.kind != "word" or query[following.end:following.end + 1] not in ("", " ", "\n", "\t", ")", ".", "\r"):
            raise ValidationError("a table's name is a word, or stands in double quotes")
        found.append(name)
    if not found:
        raise ValidationError("the query names no table")
    return found


def _bare(query: str) -> str:
    """The statement without its quoted texts."""
    for token in reversed(text.words(query, "plain")):
        if token.kind == "text":
            query = query[:token.start] + query[token.end:]
    return query


def _result(items: list[dict[str, Any]], most: int, more: bool) -> QueryResult:
    """Items have no columns: their names are those that occur, in the order of the first item that has them."""
    from boto3.dynamodb.types import Binary, TypeDeserializer

    deserialize = TypeDeserializer().deserialize

    def plain(value: Any) -> Any:
        if isinstance(value, Binary):
            return bytes(cast(Any, value).value)
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list):
            return [plain(item) for item in value]
        return {plain(item) for item in value} if isinstance(value, set) else value

    shown = [{key: plain(deserialize(value)) for key, value in item.items()} for item in items[:most]]
    names: dict[str, str] = {}
    for item in items[:most]:
        for key, value in item.items():
            names.setdefault(key, next(iter(value)))
    rows = Rows(most)
    for item in shown:
        rows.add(item.get(name) for name in names)
    return QueryResult(list(names.items()), rows.rows, None, more or len(items) > most)
