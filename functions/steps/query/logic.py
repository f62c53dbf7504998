"""One query: configuration -> connection -> statements with bound values -> rows with types."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aslant.configs.query import QueryConfig
from aslant.contracts import Json, StepResult
from aslant.database_ports import Database, DatabaseAddress, QueryRequest, QueryResult, QueryStatement
from aslant.errors import ValidationError
from aslant.ports import Secrets
from aslant.step import StepRun, result
from aslant.values import read_json
from functions.steps.query.connection import KINDS, address

DEFAULT_SECRET = "database_url"
_OFFERED = "idempotency_key"  # a named parameter that every query may use


@dataclass(frozen=True, slots=True)
class Ports:
    """Each is made when it is needed."""

    secrets: Callable[[], Secrets]
    server: Callable[[DatabaseAddress], Database]
    data_api: Callable[[str, str, str, str], Database]  # kind, cluster, secret, database
    dynamodb: Callable[[], Database]
    athena: Callable[[str, str, str], Database]  # workgroup, catalog, database


def call(config: QueryConfig, run: StepRun, ports: Ports) -> StepResult:
    """The output is `rows` (objects), `row_count`, `columns` (name and type), `truncated`, `rows_affected`; of Redis `result`.
    Of MongoDB documents are the rows, without `columns`, and `result` is what else a command answers.

    Of `statements`, `results` has one such object each, and the rest is the last one's. Raises the errors of
    `Database`. Under simulation an installation that opens no databases gives an output that says `simulated`.
    """
    if run.settings.simulate and not run.settings.database_allow:
        shown = config.model_dump(exclude_unset=True, exclude={"connection_string"})
        return result({"simulated": True, "type": run.type, "config": shown})
    started = time.monotonic()
    database, kind = _database(config, run, ports)
    found = [_output(each, kind) for each in database.run(request(config, run, kind))]
    output = {**found[-1], "elapsed_ms": round((time.monotonic() - started) * 1000)}
    if config.statements:
        output["results"] = list(found)
    return result(output, calls=len(found))


def request(config: QueryConfig, run: StepRun, kind: str) -> QueryRequest:
    """The statements of a configuration and their bounds."""
    if config.query is not None:
        statements = [_statement(config.query, config.parameters, run)]
    else:
        statements = [_statement(each.query, each.parameters, run) for each in config.statements]
    # Athena gives a token's query again, also when it failed: an attempt has a token of its own.
    token = f"{run.idempotency_key}-{run.run}-{run.attempt}" if kind == "athena" else run.idempotency_key
    return QueryRequest(statements, config.read_only, config.isolation, config.max_rows, run.remaining(config.timeout), token)


def _statement(text: str, values: Sequence[Json] | Mapping[str, Json], run: StepRun) -> QueryStatement:
    if isinstance(values, Mapping):
        return QueryStatement(text, {_OFFERED: run.idempotency_key, **values})
    if not values and f":{_OFFERED}" in text:
        return QueryStatement(text, {_OFFERED: run.idempotency_key})
    return QueryStatement(text, values)


def _database(config: QueryConfig, run: StepRun, ports: Ports) -> tuple[Database, str]:
    kind = KINDS.get(config.database or "") or KINDS.get((config.query_type or "").lower())
    if kind == "dynamodb":
        return ports.dynamodb(), kind
    if kind == "athena":
        return ports.athena(config.workgroup, config.catalog or "", config.database_name or ""), kind
    if config.resource_arn is not None and config.secret_arn is not None:
        if kind not in (None, "postgresql", "mysql"):
            raise ValidationError("the RDS Data API reaches PostgreSQL and MySQL")
        name = config.database_name or ""
        return ports.data_api(kind or "postgresql", config.resource_arn, config.secret_arn, name), kind or "postgresql"
    where = address(_connection(config, run, ports), kind, config.database_name)
    run.redactor.learn(where.password)
    return ports.server(where), where.kind


def _connection(config: QueryConfig, run: StepRun, ports: Ports) -> str | Mapping[str, Any]:
    """What says where the database is; a secret by its name is read here, and hidden from then on."""
    if config.connection_string is not None:
        return config.connection_string
    text = ports.secrets().get(run.tenant, config.connection or DEFAULT_SECRET)
    run.redactor.know(text)
    if text.lstrip()[:1] != "{":
        return text
    try:
        value = read_json(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise ValidationError("the connection's secret is neither an address nor an object")
    return value


def _output(found: QueryResult, kind: str) -> dict[str, Json]:
    if kind == "redis":
        return {"result": found.value}
    if kind == "mongodb":
        documents = found.value if isinstance(found.value, list) else []
        return {"rows": documents, "row_count": len(documents), "rows_affected": found.affected, "truncated": found.more,
                **({"result": found.value} if isinstance(found.value, dict) else {})}
    names = _names([name for name, _ in found.columns])
    rows: list[Json] = [dict(zip(names, row, strict=False)) for row in found.rows]
    return {
        "rows": rows, "row_count": len(rows), "rows_affected": found.affected, "truncated": found.more,
        "columns": [{"name": name, "type": of} for name, (_, of) in zip(names, found.columns, strict=True)],
    }


def _names(columns: Sequence[str]) -> list[str]:
    """Names of columns, each once: `id`, `id_2`."""
    found: dict[str, None] = {}
    for column in columns:
        name, number = column, 2
        while name in found:
            name, number = f"{column}_{number}", number + 1
        found[name] = None
    return list(found)
