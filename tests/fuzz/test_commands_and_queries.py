"""Steps that run commands and ask databases with hostile configurations: an output, or an error that the state machine knows."""

from __future__ import annotations

import contextlib
import importlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aslant import bootstrap
from aslant.adapters.databases import athena, mongo, mysql, partiql, redis_server, text
from aslant.adapters.databases.cells import Rows
from aslant.database_ports import QueryRequest, QueryResult, QueryStatement
from aslant.errors import StepError
from tests.fuzz.test_steps import KEYS, KNOWN, VALUES, configs
from tests.unit.runtime.fakes import ForgetfulSteps

QUERIES = st.sampled_from([
    "SELECT $1", "SELECT ?", "SELECT :a, :a", "SELECT 1;;", "/*", "/* /* */", "'", "$$", "$a$", "SELECT :a::b", "", "-- x", "GET $1", "SET a ?",
    "INSERT INTO a VALUE {'x': ?}", "HGETALL $a", " ",
    '{"find": "a", "filter": {"x": ":a", "y": "$1"}}', '{"update": "a", "updates": [{"q": {"$where": ":a"}}]}', '{"find": "a", "let": {"$oid": 1}}',
]) | st.text(alphabet="$1?:a'\"/*-; \\`#", max_size=20)
PARAMETERS = st.lists(VALUES, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "idempotency_key", "\ud800"]), VALUES, max_size=3)
CONNECTIONS = st.sampled_from([
    "redis://h/1", "mysql://[::1/x", "postgresql://a:b@h:x/", "//", "a://b", "postgresql://h/x?sslmode=x&sslmode=require", "postgres://h/%ff\ud800",
    {"host": "h", "port": 2.5}, {"host": ["x"]}, {"": 1},
])
LIKELY = {
    "query": configs("query") | st.fixed_dictionaries({"query": QUERIES, "parameters": PARAMETERS}, optional={
        "database": st.sampled_from(["redis", "mysql", "dynamodb", "athena", "mongodb"]), "connection_string": CONNECTIONS}),
    "command": configs("command") | st.fixed_dictionaries({"command": st.sampled_from(["true", "cat"])}, optional={
        "args": st.lists(VALUES, max_size=3), "env": st.dictionaries(KEYS, VALUES, max_size=2), "stdin": VALUES,
        "files": st.dictionaries(KEYS, VALUES, max_size=2), "cwd": VALUES, "timeout": VALUES, "max_output_bytes": VALUES}),
}


class Everything:
    """All databases at once, up to where they would be talked to."""

    def run(self, request: QueryRequest) -> list[QueryResult]:
        return [self._one(statement) for statement in request.statements]

    def _one(self, statement: QueryStatement) -> QueryResult:
        for dialect, style in (("postgresql", "$1"), ("mysql", "?"), ("mysql", ":p1"), ("plain", "?")):
            with contextlib.suppress(StepError):
                bound = text.bind(statement.text, statement.values, dialect, style)  # type: ignore[arg-type]
                for value in bound.values:
                    assert not set("'\"\\`;") & set(mysql._literal(value).replace("_utf8mb4 ''", ""))
                    written = athena.literal(value)
                    assert written[0] != "'" or "'" not in written[1:-1].replace("''", "")
        for attempt in (lambda: redis_server._words(statement), lambda: mongo._command(statement, True),
                        lambda: partiql.DynamoPartiQl("r", "acme", ["dynamodb:*"])._statement(statement.text, statement.values, False)):
            with contextlib.suppress(StepError):
                attempt()
        rows, values = Rows(3), list(statement.values.values() if isinstance(statement.values, dict) else statement.values)
        rows.add(values)
        return QueryResult([(f"c{number % 2}", "t") for number in range(len(values))], rows.rows, None, rows.more)


class Secrets:
    def get(self, tenant: str, name: str) -> str:
        return "postgresql://a:b@h.example.com/x" if len(name) > 1 else "{"


@pytest.mark.parametrize("step_type", LIKELY)
def test_hostile_commands_and_queries(step_type: str, monkeypatch: pytest.MonkeyPatch) -> None:
    handler = importlib.import_module(f"functions.steps.{step_type}.handler").handler
    monkeypatch.setenv("ASLANT_COMMANDS", "true,cat")
    for port in ("database", "data_api", "partiql", "athena"):
        monkeypatch.setattr(bootstrap, port, lambda *_: Everything())
    monkeypatch.setattr(bootstrap, "secrets", lambda _: Secrets())
    monkeypatch.setattr(bootstrap, "steps", lambda _: ForgetfulSteps())

    @settings(max_examples=60 if step_type == "command" else 250, deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(config=LIKELY[step_type])
    def run(config: Any) -> None:
        payload = {"step": "s", "type": step_type, "execution": {"id": "e", "tenant": "acme"}, "config": config, "timeout": 20, "part": "fuzz"}
        try:
            result = handler(payload, None)
        except Exception as error:  # noqa: BLE001 - which one it is is the question
            assert type(error).__name__ in KNOWN, (config, str(error))
            str(error).encode()
        else:
            json.dumps(result, ensure_ascii=False, allow_nan=False).encode()

    run()
