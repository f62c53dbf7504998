"""query steps against real PostgreSQL, MariaDB and Redis: handlers as Lambda calls them."""

from __future__ import annotations

import json
import logging
import socket
import textwrap
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pymysql
import pytest

from infra.local.runner import run as run_workflow
from tests.services import databases
from tests.services.conftest import Ask, Secrets
from tests.services.databases import PASSWORD, Server
from translator.pipeline import Source, compile_sources

EVIL = "x'; DROP TABLE kept; -- \\ \" ` \0".replace("\0", "") + "🙂"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with databases.postgres() as server:
        yield server


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Server]:
    with databases.mariadb() as server:
        yield server


@pytest.fixture(scope="module")
def redis() -> Iterator[Server]:
    with databases.redis() as server:
        yield server


def rows(output: dict[str, Any]) -> list[Any]:
    return [list(row.values()) for row in output["rows"]]


# PostgreSQL

def test_values_of_postgres_have_types(ask: Ask, postgres: Server) -> None:
    ask(postgres, "CREATE TABLE typed (id serial, t text, n numeric, j jsonb, b bytea, d date, z timestamptz, p timestamp, a int[],"
        " g bigint, u uuid, f float8, o bool)")
    done = ask(postgres, ("INSERT INTO typed (t, n, j, b, d, z, p, a, g, u, f, o) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        [EVIL, "1.10", {"k": [1, None]}, "\\x00ff", "2026-01-02", "2026-01-02T03:04:05.5+02:00", "2026-01-02 03:04:05", [1, 2], 2**53,
         "6f9619ff-8b86-d011-b42d-00c04fc964ff", 1.5, True]))
    assert (done["rows_affected"], done["rows"]) == (1, [])
    output = ask(postgres, "SELECT *, '2026-01-02 03:04:05' AS plain FROM typed")
    assert output["rows"] == [{
        "id": 1, "t": EVIL, "n": 1.1, "j": {"k": [1, None]}, "b": "AP8=", "d": "2026-01-02", "z": "2026-01-02T01:04:05.5Z",
        "p": "2026-01-02T03:04:05", "a": [1, 2], "g": 2**53, "u": "6f9619ff-8b86-d011-b42d-00c04fc964ff", "f": 1.5, "o": True,
        "plain": "2026-01-02 03:04:05"}]
    assert output["columns"][1:5] == [{"name": "t", "type": "text"}, {"name": "n", "type": "numeric"}, {"name": "j", "type": "jsonb"},
                                      {"name": "b", "type": "bytea"}]
    odd = ask(postgres, "SELECT 'NaN'::float8, 'infinity'::timestamptz, 12345678901234567.89, 9007199254740993, 0.1, 10.00, 'P1M2D'::interval,"
              " '0044-03-15 BC'::date, NULL")
    assert rows(odd) == [["NaN", "infinity", "12345678901234567.89", "9007199254740993", 0.1, 10, "P1M2D", "0044-03-15 BC", None]]


def test_values_are_bound_and_never_text(ask: Ask, failure: Any, postgres: Server) -> None:
    ask(postgres, "CREATE TABLE kept (id int, t text)", ("INSERT INTO kept VALUES ($1, $2)", [1, EVIL]))
    assert rows(ask(postgres, ("SELECT id FROM kept WHERE t = :t AND ':t' <> :t", {"t": EVIL}))) == [[1]]
    assert rows(ask(postgres, ("SELECT ? || ?", ["a", EVIL]))) == [["a" + EVIL]]
    assert rows(ask(postgres, ("SELECT id FROM kept WHERE id = ANY($1)", [[1, 2]]))) == [[1]]
    assert failure(postgres, ("SELECT id FROM kept WHERE id = $1", ["1 OR 1=1"]))[0] == "ValidationError"
    assert failure(postgres, "SELECT 1; DROP TABLE kept")[0] == "ValidationError"
    assert failure(postgres, ("SELECT $1::text", ["a\0b"]))[0] == "ValidationError"
    assert rows(ask(postgres, "SELECT count(*) FROM kept")) == [[1]]


def test_a_transaction_is_whole(ask: Ask, failure: Any, postgres: Server) -> None:
    ask(postgres, "CREATE TABLE account (name text PRIMARY KEY, amount int CHECK (amount >= 0))")
    first = ask(postgres, "INSERT INTO account VALUES ('a', 10), ('b', 0)", "SELECT sum(amount) AS all FROM account", isolation="serializable")
    assert [each["rows_affected"] for each in first["results"]] == [2, None] and first["rows"] == [{"all": 10}]
    assert failure(postgres, "UPDATE account SET amount = 99 WHERE name = 'b'", "UPDATE account SET amount = -1 WHERE name = 'a'")[0] == "ValidationError"
    assert failure(postgres, "UPDATE account SET amount = 99 WHERE name = 'b'", "INSERT INTO account VALUES ('a', 1)")[0] == "ConflictError"
    assert rows(ask(postgres, "SELECT amount FROM account ORDER BY name")) == [[10], [0]]
    for verb in ("BEGIN", "COMMIT", "ROLLBACK", "SET ROLE owner", "COPY account TO '/tmp/x'", "PREPARE x AS SELECT 1"):
        assert failure(postgres, verb)[0] == "ValidationError"


def test_bounds_of_postgres(ask: Ask, failure: Any, postgres: Server) -> None:
    output = ask(postgres, ("SELECT * FROM generate_series(1, $1::int) AS n", [10_000_000]), max_rows=2)
    assert (rows(output), output["row_count"], output["truncated"]) == ([[1], [2]], 2, True)
    ask(postgres, "CREATE TABLE many (n int)")
    output = ask(postgres, "INSERT INTO many SELECT generate_series(1, 3000) RETURNING n", max_rows=2)
    assert (rows(output), output["truncated"], output["rows_affected"]) == ([[1], [2]], True, None)
    assert rows(ask(postgres, "SELECT count(*) FROM many")) == [[3000]]
    assert failure(postgres, "SELECT repeat('x', 1000) FROM generate_series(1, 1000)")[0] == "PayloadTooLarge"
    started = time.monotonic()
    assert failure(postgres, "SELECT pg_sleep(60)", timeout=1)[0] == "StepTimeout"
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("query", [
    "INSERT INTO ro VALUES (1)", "WITH x AS (DELETE FROM ro RETURNING 1) SELECT * FROM x", "DROP TABLE ro", "SET TRANSACTION READ WRITE",
    "SELECT set_config('transaction_read_only', 'off', false)", "SELECT nextval('ro_counter')", "EXPLAIN ANALYZE DELETE FROM ro",
    "SELECT * INTO ro2 FROM ro",
])
def test_reading_only(ask: Ask, failure: Any, postgres: Server, query: str) -> None:
    ask(postgres, "CREATE TABLE IF NOT EXISTS ro (id int)", "CREATE SEQUENCE IF NOT EXISTS ro_counter")
    assert failure(postgres, query, read_only=True)[0] in ("AuthorizationError", "ValidationError")
    assert ask(postgres, "SELECT 1 AS one", read_only=True)["rows"] == [{"one": 1}]


def test_errors_of_postgres(failure: Any, postgres: Server, monkeypatch: pytest.MonkeyPatch, secrets: Secrets) -> None:
    assert failure(postgres, "SELECT * FROM nowhere")[0] == "NotFoundError"
    assert failure(postgres, "SELEC 1")[0] == "ValidationError"
    for change, kind in ((("owner:", "nobody:"), "AuthenticationError"), ((PASSWORD, "wrong"), "AuthenticationError"),
                         (("/postgres", "/nowhere"), "NotFoundError"), ((f":{postgres.port}/", ":1/"), "NetworkError"),
                         (("/postgres", "/postgres?sslmode=verify-full"), "NetworkError"), (("postgresql://", "oracle://"), "ValidationError")):
        broken = Server(postgres.port, postgres.url.replace(*change), postgres.root)
        assert failure(broken, "SELECT 1")[0] == kind, change
    monkeypatch.delenv("ASLANT_DATABASE_ALLOW")
    name, text = failure(postgres, "SELECT 1")
    assert name == "AuthorizationError" and "ASLANT_DATABASE_ALLOW" in text


def test_a_write_that_is_made_again_is_there_once(ask: Ask, postgres: Server) -> None:
    ask(postgres, "CREATE TABLE once (key uuid PRIMARY KEY, n int)")
    write = ("INSERT INTO once VALUES (:idempotency_key, :n) ON CONFLICT DO NOTHING", {"n": 1})
    made = [ask(postgres, write)["rows_affected"] for _ in range(2)]  # nothing was recorded of the first
    assert made == [1, 0] and rows(ask(postgres, "SELECT count(*) FROM once")) == [[1]]


def test_a_server_that_goes_away(failure: Any, postgres: Server) -> None:
    assert failure(postgres, "SELECT pg_terminate_backend(pg_backend_pid())")[0] in ("ServerError", "NetworkError")


# MariaDB

def test_values_of_mariadb_have_types(ask: Ask, mariadb: Server) -> None:
    ask(mariadb, "CREATE TABLE typed (id int AUTO_INCREMENT PRIMARY KEY, t varchar(80) COLLATE utf8mb4_unicode_ci, n decimal(20,4), b blob,"
        " d date, s timestamp(1) NULL, p datetime, i time, g bigint unsigned, f double)")
    done = ask(mariadb, ("INSERT INTO typed (t, n, b, d, s, p, i, g, f) VALUES (?, ?, unhex(?), ?, ?, ?, ?, ?, ?)",
        [EVIL, "1.10", "00ff", "2026-01-02", "2026-01-02 03:04:05.5", "2026-01-02 03:04:05", "-12:00:01", 2**63, 1.5]))
    assert (done["rows_affected"], done["rows"]) == (1, [])
    output = ask(mariadb, "SELECT *, '2026-01-02 03:04:05' AS plain FROM typed")
    assert output["rows"] == [{
        "id": 1, "t": EVIL, "n": 1.1, "b": "AP8=", "d": "2026-01-02", "s": "2026-01-02T03:04:05.5Z", "p": "2026-01-02T03:04:05",
        "i": "-12:00:01", "g": str(2**63), "f": 1.5, "plain": "2026-01-02 03:04:05"}]
    assert [column["type"] for column in output["columns"]] == [
        "int", "varchar", "decimal", "binary", "date", "timestamp", "datetime", "time", "bigint", "double", "varchar"]
    assert rows(ask(mariadb, ("SELECT ?, ?, ?, ?", [None, True, "", {"k": "é"}]))) == [[None, 1, "", '{"k":"é"}']]


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"])
def test_values_are_bound_whatever_the_mode_of_sql(ask: Ask, failure: Any, mariadb: Server, mode: str) -> None:
    with pymysql.connect(unix_socket=str(mariadb.root / "socket"), user="root") as root, root.cursor() as cursor:
        cursor.execute("SET GLOBAL sql_mode = %s", [mode])
    assert rows(ask(mariadb, "SELECT @@sql_mode")) == [[mode or ""]]
    ask(mariadb, "CREATE OR REPLACE TABLE kept (id int, t varchar(80))", ("INSERT INTO kept VALUES ($1, $2)", [1, EVIL]))
    assert rows(ask(mariadb, ("SELECT id, :m AS m FROM kept WHERE t = :t AND ':t' <> :t", {"t": EVIL, "m": mode}))) == [[1, mode]]
    assert rows(ask(mariadb, ("SELECT id FROM kept WHERE t LIKE concat(?, '%')", ["x'; DROP"]))) == [[1]]
    assert rows(ask(mariadb, ("SELECT count(*) FROM kept WHERE t = ?", ["' OR '1'='1"]))) == [[0]]
    assert failure(mariadb, "SELECT 1; DROP TABLE kept")[0] == "ValidationError"
    assert failure(mariadb, "SELECT 1 /*! ; DROP TABLE kept */")[0] == "ValidationError"
    assert rows(ask(mariadb, "SELECT count(*) FROM kept")) == [[1]]


def test_a_transaction_of_mariadb(ask: Ask, failure: Any, mariadb: Server) -> None:
    ask(mariadb, "CREATE TABLE account (name varchar(9) PRIMARY KEY, amount int)", "INSERT INTO account VALUES ('a', 10)")
    assert failure(mariadb, "UPDATE account SET amount = 99", "INSERT INTO account VALUES ('a', 1)")[0] == "ConflictError"
    assert rows(ask(mariadb, "SELECT amount FROM account", isolation="serializable")) == [[10]]
    assert rows(ask(mariadb, "INSERT INTO account VALUES ('b', 1) RETURNING name")) == [["b"]]


def test_bounds_of_mariadb(ask: Ask, failure: Any, mariadb: Server) -> None:
    for query in ("SELECT seq FROM seq_1_to_100000", "SELECT seq FROM seq_1_to_100000 LIMIT 5000"):
        output = ask(mariadb, query, max_rows=2)
        assert (rows(output), output["truncated"]) == ([[1], [2]], True)
    assert failure(mariadb, "SELECT repeat('x', 1000) FROM seq_1_to_1000")[0] == "PayloadTooLarge"
    started = time.monotonic()
    assert failure(mariadb, "SELECT sleep(60)", timeout=1)[0] == "StepTimeout"
    assert time.monotonic() - started < 15


@pytest.mark.parametrize("query", [
    "INSERT INTO ro VALUES (1)", "DROP TABLE ro", "SET SESSION TRANSACTION READ WRITE", "SELECT * FROM ro INTO OUTFILE '/tmp/x'",
    "EXPLAIN DELETE FROM ro; DELETE FROM ro", "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE ro", "SELECT nextval(ro_counter)",
])
def test_reading_only_in_mariadb(ask: Ask, failure: Any, mariadb: Server, query: str) -> None:
    ask(mariadb, "CREATE TABLE IF NOT EXISTS ro (id int)")
    ask(mariadb, "CREATE SEQUENCE IF NOT EXISTS ro_counter")
    assert failure(mariadb, query, read_only=True)[0] in ("AuthorizationError", "ValidationError")
    assert ask(mariadb, "SELECT 1 AS one", read_only=True)["rows"] == [{"one": 1}]


def test_errors_of_mariadb(failure: Any, mariadb: Server) -> None:
    assert failure(mariadb, "SELECT * FROM nowhere")[0] == "NotFoundError"
    assert failure(mariadb, "SELEC 1")[0] == "ValidationError"
    guest = Server(mariadb.port, mariadb.url.replace(f"owner:{PASSWORD}", "guest:guest-pass"), mariadb.root)
    assert failure(guest, "CREATE TABLE more (id int)")[0] == "AuthorizationError"
    for change, kind in (((PASSWORD, "wrong"), "AuthenticationError"), ((f":{mariadb.port}/", ":1/"), "NetworkError"),
                         (("/shop", "/shop?sslmode=verify-full"), "NetworkError")):
        broken = Server(mariadb.port, mariadb.url.replace(*change), mariadb.root)
        assert failure(broken, "SELECT 1")[0] == kind, change


# Redis

def test_commands_of_redis(ask: Ask, redis: Server) -> None:
    assert ask(redis, ("SET user:$1 $2 EX 60", [7, "a b\r\nFLUSHALL"]))["result"] == "OK"
    assert ask(redis, ("GET user:$id", {"id": 7}), read_only=True)["result"] == "a b\r\nFLUSHALL"
    assert ask(redis, ("HSET h ? ? n 2", ["fi eld", "v"]))["result"] == 2
    assert ask(redis, "HGETALL h")["result"] == {"fi eld": "v", "n": "2"}
    assert ask(redis, "SETBIT raw 0 1")["result"] == 0 and ask(redis, "GET raw")["result"] == {"base64": "gA=="}
    assert ask(redis, "GET nothing")["result"] is None
    both = ask(redis, "SET n 1", "INCR n", "MGET n none")
    assert [each["result"] for each in both["results"]] == ["OK", 2, ["2", None]] and both["result"] == ["2", None]


def test_what_redis_is_not_told(failure: Any, redis: Server) -> None:
    for command in ("FLUSHALL", "CONFIG GET *", "EVAL 'return 1' 0", "SELECT 3", "AUTH x", "DEBUG SLEEP 1", "BLPOP x 0", "SUBSCRIBE x",
                    "MIGRATE 10.0.0.1 6379 k 0 1", "KEYS *", "SHUTDOWN", "", "GET 'x"):
        assert failure(redis, command)[0] == "ValidationError", command
    assert failure(redis, "SET a 1", read_only=True)[0] == "AuthorizationError"
    assert failure(redis, ("GET $3", [1]))[0] == failure(redis, ("GET x", [1]))[0] == "ValidationError"
    assert failure(redis, "LPUSH list a", "INCR list")[0] == "ValidationError"
    broken = Server(redis.port, redis.url.replace(PASSWORD, "wrong"), redis.root)
    assert failure(broken, "PING")[0] == "AuthenticationError"


# All of them

ENCRYPTED = {"postgres": "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()", "mariadb": "SHOW STATUS LIKE 'Ssl_cipher'"}


@pytest.mark.parametrize("kind", ENCRYPTED)
def test_connections_are_encrypted_and_certificates_checked(ask: Ask, failure: Any, request: pytest.FixtureRequest, kind: str) -> None:
    server: Server = request.getfixturevalue(kind)

    def encrypted(**options: str) -> bool:
        mode = Server(server.port, f"{server.url}?{urllib.parse.urlencode(options)}", server.root)
        return bool(rows(ask(mode, ENCRYPTED[kind]))[0][-1])

    assert encrypted(sslmode="verify-full", ca=server.ca) and encrypted(sslmode="verify-ca", ca=server.ca)
    assert encrypted(sslmode="require") and encrypted() and not encrypted(sslmode="disable")
    other = Server(server.port, server.url.replace("127.0.0.1", "localhost") + "?" + urllib.parse.urlencode(
        {"sslmode": "verify-full", "ca": server.ca}), server.root)
    assert failure(other, "SELECT 1")[0] == "NetworkError"


def test_redis_over_tls(ask: Ask, failure: Any) -> None:
    with databases.redis(tls=True) as server:
        trusted = Server(server.port, server.url + "?" + urllib.parse.urlencode({"ca": server.ca}), server.root)
        assert ask(trusted, "PING")["result"] == "PONG"
        assert failure(server, "PING")[0] == "NetworkError"
        plain = Server(server.port, server.url.replace("rediss", "redis"), server.root)
        assert failure(plain, "PING", timeout=5)[0] in ("NetworkError", "StepTimeout")


@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "redis"])
def test_a_server_that_says_nothing_costs_no_more_than_the_timeout(failure: Any, scheme: str, tmp_path: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []
        thread = threading.Thread(target=lambda: held.append(listening.accept()[0]), daemon=True)
        thread.start()
        server = Server(listening.getsockname()[1], f"{scheme}://a:b@127.0.0.1:{listening.getsockname()[1]}/0", tmp_path)
        started = time.monotonic()
        name, _ = failure(server, "SELECT 1" if scheme != "redis" else "PING", timeout=2)
        assert name in ("StepTimeout", "NetworkError") and time.monotonic() - started < 20
        for each in held:
            each.close()


def test_passwords_come_out_nowhere(failure: Any, ask: Ask, postgres: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    output = ask(postgres, ("SELECT $1::text AS t", [f"it is {PASSWORD}"]))
    assert output["rows"] == [{"t": "it is ***"}]
    failure(postgres, ("SELECT $1::int", [PASSWORD]))
    assert PASSWORD not in caplog.text and PASSWORD not in json.dumps(output)


def test_a_workflow_that_writes_and_reads(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASLANT_DATABASE_ALLOW", "127.0.0.1")
    text = textwrap.dedent("""
        dialect: canonical
        name: uptime
        inputs: {status: {type: integer}}
        steps:
          - id: prepare
            type: query
            config: {connection_string: "{{ secrets.postgres_url }}", query: "CREATE TABLE uptime (status int, why text)"}
          - id: log
            type: query
            depends_on: [prepare]
            config:
              connection_string: "{{ secrets.postgres_url }}"
              query: INSERT INTO uptime VALUES ($1, $2) RETURNING status
              parameters: ["{{ input.status }}", "it's; down"]
          - id: count
            type: query
            depends_on: [log]
            config:
              connection: postgres_url
              query: SELECT why, count(*)::int AS n FROM uptime WHERE status = :status GROUP BY why
              parameters: {status: "{{ steps.log.output.rows[0].status }}"}
              read_only: true
        outputs:
          found: "{{ steps.count.output.rows }}"
    """)
    result = run_workflow(compile_sources([Source(text, "uptime.yaml")]), {"status": 503}, timeout=90, secrets={"postgres_url": postgres.url})
    assert result.status == "completed", result.error
    assert result.output == {"found": [{"why": "it's; down", "n": 1}]}
