"""query steps: where the database is, what it is asked, and what the output holds. No database."""

from __future__ import annotations

import json

import pytest

from aslant import bootstrap
from aslant.database_ports import QueryResult
from aslant.errors import SecretNotFound
from functions.steps.query.connection import address
from functions.steps.query.handler import handler

URL = "postgresql://ada:hunter22-long@db.example.com/orders"


class Databases:
    """Every kind of database, which answers as it is told."""

    def __init__(self):
        self.where = []
        self.requests = []
        self.results = [QueryResult([("id", "int4"), ("name", "text"), ("id", "int4")], [[1, "a", 2]], None, True)]

    def run(self, request):
        self.requests.append(request)
        return self.results


class Secrets:
    def __init__(self, values):
        self.values = values

    def get(self, tenant, name):
        if name not in self.values:
            raise SecretNotFound(f"there is no secret {name}")
        return self.values[name]


@pytest.fixture
def secrets():
    return {"database_url": URL}


@pytest.fixture
def databases(monkeypatch, secrets):
    made = Databases()
    for name in ("database", "data_api", "partiql", "athena"):
        def choose(settings, *where, name=name):
            made.where.append((name, *where))
            return made

        monkeypatch.setattr(bootstrap, name, choose)
    monkeypatch.setattr(bootstrap, "secrets", lambda settings: Secrets(secrets))
    return made


@pytest.fixture
def run(invocation, databases):
    return lambda config, **more: handler(invocation("query", config, **more), None)["output"]


def failure(call):
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


def test_the_output(run, databases):
    output = run({"query": "SELECT 1"})
    assert output.pop("elapsed_ms") >= 0
    assert output == {
        "rows": [{"id": 1, "name": "a", "id_2": 2}], "row_count": 1, "rows_affected": None, "truncated": True,
        "columns": [{"name": "id", "type": "int4"}, {"name": "name", "type": "text"}, {"name": "id_2", "type": "int4"}]}
    databases.results = [QueryResult(affected=2), QueryResult([("n", "int8")], [[5]])]
    output = run({"statements": [{"query": "UPDATE t SET n = $1", "parameters": [5]}, {"query": "SELECT n FROM t"}]})
    assert [each["rows_affected"] for each in output["results"]] == [2, None] and output["rows"] == [{"n": 5}]
    databases.results = [QueryResult(value={"a": 1})]
    assert run({"query": "HGETALL h", "connection_string": "redis://h.example.com"})["result"] == {"a": 1}
    databases.results = [QueryResult(value=[{"a": 1}], more=True)]
    found = run({"query": "{}", "connection_string": "mongodb://h.example.com/shop?authSource=admin"})
    assert (found["rows"], found["row_count"], found["truncated"]) == ([{"a": 1}], 1, True) and "columns" not in found
    databases.results = [QueryResult(value={"matched": 3}, affected=3)]
    assert run({"query": "{}", "connection_string": "mongodb://h.example.com/shop"})["result"] == {"matched": 3}


def test_the_request(run, databases):
    run({"query": "SELECT $1", "parameters": [1, {"a": 1}], "read_only": True, "max_rows": 5, "timeout": 7, "isolation": "Serializable"})
    request = databases.requests[0]
    assert (request.read_only, request.max_rows, request.isolation) == (True, 5, "serializable") and 0 < request.timeout <= 7
    assert request.statements[0].text == "SELECT $1" and request.statements[0].values == [1, {"a": 1}]
    run({"query": "INSERT INTO t VALUES (:idempotency_key, :n)", "parameters": {"n": 1}})
    run({"query": "INSERT INTO t VALUES (:idempotency_key)"})
    key = databases.requests[1].token
    assert databases.requests[1].statements[0].values == {"idempotency_key": key, "n": 1}
    assert databases.requests[2].statements[0].values == {"idempotency_key": key} and len(key) == 36


def test_which_database(run, databases, secrets):
    def where(**config):
        run({"query": "SELECT 1", **config})
        return databases.where[-1]

    assert where()[1].host == "db.example.com"
    secrets["reports"] = json.dumps({"engine": "mysql", "host": "m.example.com", "port": 3307, "username": "u", "password": "long-pass",
                                     "dbname": "d", "dbInstanceIdentifier": "i"})
    found = where(connection="reports")[1]
    assert (found.kind, found.host, found.port, found.user, found.password, found.name) == ("mysql", "m.example.com", 3307, "u", "long-pass", "d")
    assert where(query_type="MySQL", connection_string="mysql://u:p@h.example.com/x", database_name="y")[1].name == "x"
    assert where(connection_string={"host": "h.example.com", "user": "u"}, database="mariadb", database_name="y")[1].name == "y"
    assert where(query_type="sql")[1].kind == "postgresql"
    assert where(database="dynamodb") == ("partiql", "acme")
    assert where(database="athena", workgroup="w", catalog="c", database_name="d") == ("athena", "w", "c", "d", "acme")
    arns = {"resource_arn": "arn:aws:rds:us-east-1:1:cluster:c", "secret_arn": "arn:aws:secretsmanager:us-east-1:1:secret:s"}
    assert where(**arns, database_name="d") == ("data_api", "postgresql", arns["resource_arn"], arns["secret_arn"], "d", "acme")
    assert where(**arns, database="mysql")[1] == "mysql"


@pytest.mark.parametrize(("given", "tls", "port"), [
    ("postgres://u@db.example.com", "require", 5432), ("postgresql://u@127.0.0.1/x", "prefer", 5432),
    ("postgresql://u@db.example.com:6/x?sslmode=verify-full", "verify-full", 6), ("mysql://u@[::1]/x", "prefer", 3306),
    ("mysql+pymysql://u@db.example.com/x?ssl-mode=VERIFY_IDENTITY", "verify-full", 3306), ("redis://db.example.com", "disable", 6379),
    ("rediss://:p@db.example.com:7/3", "verify-full", 7), ({"host": "db.example.com", "sslmode": "verify-ca", "ca": "x"}, "verify-ca", 5432),
])
def test_addresses(given, tls, port):
    found = address(given, None, None)
    assert (found.tls, found.port) == (tls, port)


def test_an_address_is_decoded():
    found = address("postgresql://a%40b:p%2Fw%20d@db.example.com/na%20me", None, None)
    assert (found.user, found.password, found.name) == ("a@b", "p/w d", "na me")
    assert "p/w d" not in repr(found)


@pytest.mark.parametrize(("given", "kind"), [
    ("db.example.com", None), ("", None), ("oracle://u:hunter22@db/x", None), ("postgresql:///x", None), ("postgresql://u@h:99999/x", None),
    ("postgresql://u:hunter22@h/x?options=-csearch_path", None), ("postgresql://u@h/x?sslmode=maybe", None), ("postgresql://a,b/x", None),
    ("mysql://u:hunter22@h/x", "postgresql"), ({"host": "h", "hostaddr": "1.2.3.4"}, None), ({"host": "/tmp"}, None), ({"user": "u"}, None),
    ({"host": "h", "port": "x"}, None), ({"host": "h", "port": 0}, None), ("redis://h/name", None), ("http://h/x", None),
    ("host=h user=u password=hunter22", None), ({"host": "h\nx"}, None),
])
def test_addresses_that_are_none(given, kind):
    name, text = failure(lambda: address(given, kind, None))
    assert name == "ValidationError" and "hunter22" not in text


def test_secrets_of_the_connection_come_out_nowhere(run, databases):
    databases.results = [QueryResult([("t", "text")], [["is hunter22-long"], [URL]])]
    assert run({"query": "SELECT 1"})["rows"] == [{"t": "is ***"}, {"t": "***"}]
    assert run({"query": "SELECT 1", "connection_string": {"host": "h.example.com", "password": "hunter22-long"}})["rows"][0] == {"t": "is ***"}


def test_what_is_not_there(run, databases, secrets, monkeypatch):
    secrets.clear()
    assert failure(lambda: run({"query": "SELECT 1"}))[0] == "SecretNotFound"
    monkeypatch.setenv("ASLANT_SIMULATE", "1")
    assert run({"query": "SELECT 1", "parameters": [1]}) == {
        "simulated": True, "type": "query", "config": {"query": "SELECT 1", "parameters": [1]}}
    assert run({"query": "SELECT 1", "connection_string": "x"})["config"] == {"query": "SELECT 1"}
    monkeypatch.setenv("ASLANT_DATABASE_ALLOW", "db.internal")
    assert failure(lambda: run({"query": "SELECT 1"}))[0] == "SecretNotFound"
    name, text = failure(lambda: run({"query": "x", "connection_string": "mongodb+srv://h.example.com/x"}))
    assert name == "ValidationError" and "mongodb+srv" in text
    secrets["odd"] = "{not json"
    assert failure(lambda: run({"query": "x", "connection": "odd"}))[0] == "ValidationError"


def test_a_driver_that_is_not_installed(monkeypatch):
    from aslant.settings import Settings

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    name, text = failure(lambda: bootstrap.database(Settings(), address(URL, None, None)))
    assert name == "StepTypeUnavailable" and "psycopg" in text


@pytest.mark.parametrize("config", [
    {}, {"query": ""}, {"query": "x", "statements": [{"query": "y"}]}, {"statements": []}, {"query": "x", "max_rows": 0},
    {"query": "x", "connection": "a", "connection_string": "b"}, {"query": "x", "resource_arn": "a"}, {"query": "x", "parameters": "y"},
    {"statements": [{"query": "x"}], "parameters": [1]}, {"query": "x", "database": "oracle"}, {"query": "x", "isolation": "none"},
    {"query": "x", "timeout": 0}, {"statements": [{"query": "x"}] * 101},
])
def test_configurations_that_are_none(run, databases, config):
    assert failure(lambda: run(config))[0] == "ValidationError" and not databases.requests
