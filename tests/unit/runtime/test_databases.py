"""Texts of statements, cells, and databases of AWS (moto)."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal

import boto3
import pytest

from aslant.adapters.databases import athena as athena_module
from aslant.adapters.databases.athena import Athena, literal, value
from aslant.adapters.databases.cells import Rows, cell
from aslant.adapters.databases.data_api import RdsDataApi
from aslant.adapters.databases.guard import permit
from aslant.adapters.databases.mongo import _command
from aslant.adapters.databases.partiql import DynamoPartiQl, tables
from aslant.adapters.databases.redis_server import _words
from aslant.adapters.databases.text import bind, check
from aslant.database_ports import QueryRequest, QueryStatement
from aslant.errors import AuthorizationError, PayloadTooLarge, StepError, ValidationError


@pytest.mark.parametrize(("text", "given", "dialect", "style", "bound"), [
    ("SELECT $2, $1, $2", [1, 2], "postgresql", "$1", ("SELECT $1, $2, $1", [2, 1])),
    ("SELECT $2, $1, $2", [1, 2], "mysql", "?", ("SELECT ?, ?, ?", [2, 1, 2])),
    ("SELECT :a, :b, :a", {"a": 1, "b": 2, "c": 3}, "postgresql", "$1", ("SELECT $1, $2, $1", [1, 2])),
    ("SELECT :a, :b, :a", {"a": 1, "b": 2}, "mysql", "?", ("SELECT ?, ?, ?", [1, 2, 1])),
    ("SELECT :a, :b, :a", {"a": 1, "b": 2}, "postgresql", ":p1", ("SELECT :p1, :p2, :p1", [1, 2])),
    ("SELECT ?, ?", [1, 2], "postgresql", "$1", ("SELECT $1, $2", [1, 2])),
    ("SELECT ? WHERE ?", [1, 1], "postgresql", ":p1", ("SELECT :p1 WHERE :p2", [1, 1])),
    ("SELECT j ? 'a' AND x = $1", [1], "postgresql", "$1", ("SELECT j ? 'a' AND x = $1", [1])),
    ("SELECT j ? 'a'", [], "postgresql", "$1", ("SELECT j ? 'a'", [])),
    ("SELECT ':a', \":a\", x::a, E'\\':a', $$:a$$, $t$ $$ :a $t$ -- :a\n/* :a /* :a */ :a */, :a", {"a": 1}, "postgresql", "$1",
     ("SELECT ':a', \":a\", x::a, E'\\':a', $$:a$$, $t$ $$ :a $t$ -- :a\n/* :a /* :a */ :a */, $1", [1])),
    ("SELECT '\\'?', \"?\", `?`, # ?\n ? -- ?", [1], "mysql", "?", ("SELECT '\\'?', \"?\", `?`, # ?\n ? -- ?", [1])),
    ("SELECT 'it''s ?', ?", [1], "plain", "?", ("SELECT 'it''s ?', ?", [1])),
    ("SELECT a[1:n], :n", {"n": 1}, "postgresql", "$1", ("SELECT a[1:n], $1", [1])),
    ("SELECT 1 ; -- done\n;", [], "postgresql", "$1", ("SELECT 1 ", [])),
    ("SELECT @x:=:x", {"x": 1}, "mysql", "?", ("SELECT @x:=?", [1])),
])
def test_placeholders(text, given, dialect, style, bound):
    assert bind(text, given, dialect, style)[:2] == bound


@pytest.mark.parametrize(("text", "given", "dialect"), [
    ("SELECT 1; SELECT 2", [], "postgresql"), ("SELECT 1; DROP TABLE x --", [], "mysql"), ("SELECT $1", [1, 2], "postgresql"),
    ("SELECT $1, $2", [1], "postgresql"), ("SELECT $0", [1], "postgresql"), ("SELECT ?", [1, 2], "mysql"), ("SELECT ?, ?", [1], "mysql"),
    ("SELECT 1", [1], "plain"), ("SELECT :a", {"b": 1}, "postgresql"), ("SELECT '?'", [1], "mysql"), ("SELECT \0", [], "plain"),
    ("SELECT /*! 1 */ 1", [], "mysql"), ("SELECT /*M! 1 */ 1", [], "mysql"), ("SELECT $99999999999999999999", [1], "postgresql"),
    ("SELECT " + ",".join("?" * 1001), list(range(1001)), "mysql"),
])
def test_statements_that_are_none(text, given, dialect):
    with pytest.raises(ValidationError):
        bind(text, given, dialect, "?")


def test_what_may_be_sent():
    check(bind("/* x */ (select 1)", [], "postgresql", "$1"), True)
    for text in ("COMMIT", "-- x\nset x = 1", "(commit)"):
        with pytest.raises(ValidationError):
            check(bind(text, [], "postgresql", "$1"), False)
    for text in ("INSERT INTO t VALUES (1)", "", "TRUNCATE t", "CALL f()"):
        with pytest.raises(AuthorizationError):
            check(bind(text, [], "postgresql", "$1"), True)


@pytest.mark.parametrize(("given", "shown"), [
    (Decimal("0.1"), 0.1), (Decimal("10.00"), 10), (Decimal("1E+3"), 1000), (Decimal("12345678901234567.89"), "12345678901234567.89"),
    (Decimal(2**53 + 1), str(2**53 + 1)), (Decimal("NaN"), "NaN"), (Decimal("1E-400"), "1E-400"), (Decimal("-Infinity"), "-Infinity"),
    (float("nan"), "NaN"), (float("-inf"), "-Infinity"), (2**60, str(2**60)), (b"\x00\xff", "AP8="), (memoryview(b"a"), "YQ=="),
    (datetime.date(2026, 1, 2), "2026-01-02"), ({"a": (1, b"a")}, {"a": [1, "YQ=="]}), ({2, 1}, [1, 2]), (True, True), (None, None),
    (Decimal("9E+30"), "9" + "0" * 30),
])
def test_cells(given, shown):
    assert cell(given) == shown and type(cell(given)) is type(shown)


def test_rows_are_bounded():
    rows = Rows(2)
    assert [rows.add([1]), rows.add([2]), rows.add([3])] == [True, True, False] and rows.more and rows.rows == [[1], [2]]
    with pytest.raises(PayloadTooLarge):
        Rows(9).add(["x" * 300_000])


def test_what_is_open_to_a_tenant():
    permit("dynamodb", "acme-orders", "acme", ["dynamodb:{tenant}-*"])
    permit("rds", "arn:aws:rds:eu-west-1:1:cluster:c", "acme", ["db.internal", "rds:arn:aws:rds:*:cluster:c"])
    for name, tenant, allow in (("acme-orders", "other", ["dynamodb:{tenant}-*"]), ("x", "*", ["dynamodb:{tenant}"]), ("x", "a", []),
                                ("x", "a", ["athena:x"]), ("x", "a", ["x"])):
        with pytest.raises(AuthorizationError, match="ASLANT_DATABASE_ALLOW"):
            permit("dynamodb", name, tenant, allow)


def test_words_of_redis():
    def words(text, values=()):
        return [word.decode() for word in _words(QueryStatement(text, values))]

    assert words("SET 'a b' ?", ["x y\r\nDEL z"]) == ["SET", "a b", "x y\r\nDEL z"]
    assert words("SET k:$1:$2 $2", [1, "'"]) == ["SET", "k:1:'", "'"]
    assert words("SET user:name :name", {"name": "n"}) == ["SET", "user:name", "n"]
    assert words("SET $a $b", {"a": "$b", "b": {"x": 1}}) == ["SET", "$b", '{"x":1}']
    assert words("GET $1") == ["GET", "$1"]
    for text, values in (("GET $1 ?", [1]), ("GET ? ?", [1]), ("GET x", [1]), ("GET $2", [1]), ("GET $b", {"a": 1}), ('GET "x', [])):
        with pytest.raises(ValidationError):
            words(text, values)


def test_commands_of_mongodb():
    def parsed(command, values=(), read_only=False):
        return _command(QueryStatement(json.dumps(command), values), read_only)

    asked = {"find": "orders", "filter": {"a": "$1", "b": [":x", "$1 "]}}
    assert parsed(asked, ["$2"]) == {"find": "orders", "filter": {"a": "$2", "b": [":x", "$1 "]}}
    assert parsed(asked, {"x": [1, {"y": None}]})["filter"] == {"a": "$1", "b": [[1, {"y": None}], "$1 "]}
    assert parsed({"aggregate": "a", "pipeline": [{"$group": {"_id": "$1"}}]}) == {
        "aggregate": "a", "pipeline": [{"$group": {"_id": "$1"}}], "cursor": {}}
    for operator in ({"$ne": 1}, [{"x": {"$gt": ""}}], {"$oid": "x"}, {"$date": "x", "$ne": 1}, {"$code": "x"}):
        with pytest.raises(ValidationError):
            parsed(asked, [operator])
    for command in ({"shutdown": 1}, {"find": {"$ne": 1}}, {"find": "a", "lsid": 1}, {"find": "a", "filter": {"a": {"$where": "x"}}}, [], 1):
        with pytest.raises(ValidationError):
            parsed(command)
    for command in ({"delete": "a", "deletes": []}, {"aggregate": "a", "pipeline": [{"$merge": "b"}]}):
        with pytest.raises(AuthorizationError):
            parsed(command, read_only=True)


# DynamoDB

@pytest.fixture
def orders(aws):
    client = boto3.client("dynamodb")
    for name in ("acme-orders", "aslant-executions"):
        client.create_table(TableName=name, KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST",
                            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}])
    return DynamoPartiQl("us-east-1", "acme", ["dynamodb:{tenant}-*", "dynamodb:aslant-*"], ["aslant-executions"])


def ask(database, *pairs, **more):
    found = database.run(QueryRequest([QueryStatement(*pair) for pair in pairs], **more))
    return [[[name for name, _ in each.columns], list(map(list, each.rows)), each.more] for each in found]


def test_partiql(orders):
    client = boto3.client("dynamodb")
    client.put_item(TableName="acme-orders", Item={"id": {"S": "it's"}, "n": {"N": "1.5"}, "b": {"M": {"k": {"L": [{"N": "1"}, {"NULL": True}]}}}})
    assert ask(orders, ('SELECT * FROM "acme-orders" WHERE id = $1', ["it's"]), read_only=True) == [
        [["id", "n", "b"], [["it's", 1.5, {"k": [1, None]}]], False]]
    ask(orders, ("INSERT INTO \"acme-orders\" VALUE {'id': 'new'}",))
    assert ask(orders, ('SELECT id FROM "acme-orders" WHERE id = :id', {"id": "new"})) == [[["id"], [["new"]], False]]
    for number in range(3):
        client.put_item(TableName="acme-orders", Item={"id": {"S": str(number)}, "raw": {"B": b"\x00"}, "s": {"SS": ["b", "a"]}})
    found = ask(orders, ('SELECT raw, s FROM "acme-orders" WHERE id = ?', ["1"]))
    assert found == [[["raw", "s"], [["AA==", ["a", "b"]]], False]]
    assert ask(orders, ('SELECT id FROM "acme-orders"',), max_rows=2)[0][2] is True


def test_what_dynamodb_is_asked(monkeypatch):
    calls = Calls(execute_statement=[{"Items": [{"id": {"S": "1"}}], "NextToken": "t"}, {"Items": [{"id": {"S": "2"}}]}],
                  execute_transaction={"Responses": [{}, {"Item": {"id": {"S": "1"}}}]})
    monkeypatch.setattr("aslant.adapters.databases.partiql.client", lambda *_: calls)
    database = DynamoPartiQl("us-east-1", "acme", ["dynamodb:orders"], [])
    insert = "INSERT INTO orders VALUE {'id': :id, 'n': :n}"
    assert ask(database, ("SELECT id FROM orders WHERE n > ?", [0.1])) == [[["id"], [["1"], ["2"]], False]]
    ask(database, (insert, {"id": "it's", "n": {"a": [1.5, None]}}), ("SELECT id FROM orders WHERE id = 'x'",), token="k" * 40)
    assert calls.seen == [
        ("execute_statement", {"Statement": "SELECT id FROM orders WHERE n > ?", "Parameters": [{"N": "0.1"}]}),
        ("execute_statement", {"Statement": "SELECT id FROM orders WHERE n > ?", "Parameters": [{"N": "0.1"}], "NextToken": "t"}),
        ("execute_transaction", {"ClientRequestToken": "k" * 36, "TransactStatements": [
            {"Statement": "INSERT INTO orders VALUE {'id': ?, 'n': ?}",
             "Parameters": [{"S": "it's"}, {"M": {"a": {"L": [{"N": "1.5"}, {"NULL": True}]}}}]},
            {"Statement": "SELECT id FROM orders WHERE id = 'x'"}]})]


@pytest.mark.parametrize(("query", "more", "kind"), [
    ('SELECT * FROM "aslant-executions"', {}, AuthorizationError), ('SELECT * FROM "other-orders"', {}, AuthorizationError),
    ("DELETE FROM \"acme-orders\" WHERE id = 'x'", {"read_only": True}, AuthorizationError), ("DROP TABLE x", {}, ValidationError),
    ('SELECT * FROM "acme-orders" WHERE EXISTS(SELECT * FROM "aslant-executions")', {}, AuthorizationError),
    ('SELECT * FROM "acme-orders" -- x', {}, ValidationError), ('SELECT * FROM /* x */ "acme-orders"', {}, ValidationError),
    ("SELECT * FROM acme-orders", {}, ValidationError), ("SELECT 1", {}, ValidationError), ("SELECT * FROM 'x'", {}, ValidationError),
    ('SELECT * FROM "acme-orders"', {"isolation": "serializable"}, ValidationError), ('SELECT * FROM "a""b"', {}, ValidationError),
])
def test_what_dynamodb_is_not_asked(orders, query, more, kind):
    with pytest.raises(kind):
        ask(orders, (query,), **more)


def test_tables_of_a_statement():
    assert tables('SELECT * FROM "a"."index" WHERE x = \'FROM "b"\'') == ["a"]
    assert tables("UPDATE Music SET x = 1") == ["Music"]
    assert tables("INSERT INTO \"a.b\" VALUE {'id': 'x'}") == ["a.b"]


# RDS Data API and Athena

class Calls:
    """An AWS client that notes calls and answers as it is told."""

    def __init__(self, **answers):
        self.answers = answers
        self.seen = []

    def __getattr__(self, name):
        def call(**arguments):
            self.seen.append((name, arguments))
            answer = self.answers.get(name, {})
            answer = answer.pop(0) if isinstance(answer, list) else answer
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call


CLUSTER, SECRET = "arn:aws:rds:us-east-1:1:cluster:c", "arn:aws:secretsmanager:us-east-1:1:secret:acme/db"


@pytest.fixture
def data_api(monkeypatch):
    def make(kind="postgresql", allow=("rds:" + CLUSTER, "rds:*:secret:{tenant}/*"), **answers):
        calls = Calls(begin_transaction={"transactionId": "t-1"}, **answers)
        monkeypatch.setattr("aslant.adapters.databases.data_api.client", lambda *_: calls)
        return RdsDataApi("us-east-1", kind, CLUSTER, SECRET, "shop", "acme", allow), calls

    return make


def test_the_data_api(data_api):
    record = [{"longValue": 1}, {"stringValue": "1.10"}, {"isNull": True}, {"blobValue": b"\x00"}, {"booleanValue": True},
              {"stringValue": "2026-01-02 03:04:05"}, {"arrayValue": {"longValues": [1, 2]}}]
    about = [{"label": "id", "typeName": "int4"}, {"label": "n", "typeName": "numeric"}, {"label": "x", "typeName": "text"},
             {"label": "b", "typeName": "bytea"}, {"label": "o", "typeName": "bool"}, {"label": "z", "typeName": "timestamptz"},
             {"label": "a", "typeName": "_int4"}]
    api, calls = data_api(execute_statement=[{}, {}, {"columnMetadata": about, "records": [record] * 3}, {"numberOfRecordsUpdated": 2}])
    found = api.run(QueryRequest([QueryStatement("SELECT * FROM t WHERE a = $1 AND b = $2", ["x'", None]), QueryStatement("UPDATE t SET n = :n", {"n": 1})],
                                 max_rows=2, isolation="serializable", timeout=5))
    assert found[0].rows[0] == [1, 1.1, None, "AA==", True, "2026-01-02T03:04:05Z", [1, 2]] and len(found[0].rows) == 2 and found[0].more
    assert found[1].affected == 2
    asked = [arguments for name, arguments in calls.seen if name == "execute_statement"]
    assert [each["sql"] for each in asked] == [
        "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE READ WRITE", "SET LOCAL statement_timeout = 5000", "SELECT * FROM t WHERE a = :p1 AND b = :p2",
        "UPDATE t SET n = :p1"]
    assert asked[2]["parameters"] == [{"name": "p1", "value": {"stringValue": "x'"}}, {"name": "p2", "value": {"isNull": True}}]
    assert {each["transactionId"] for each in asked} == {"t-1"} and calls.seen[-1][0] == "commit_transaction"


def test_the_data_api_undoes_what_fails(data_api):
    api, calls = data_api("mysql", execute_statement=[{}, ValidationError("no")])
    with pytest.raises(ValidationError):
        api.run(QueryRequest([QueryStatement("DELETE FROM t"), QueryStatement("DELETE FROM u")]))
    assert calls.seen[-1][0] == "rollback_transaction"


def test_the_data_api_is_not_open_to_everybody(data_api):
    for allow in ((), ("rds:" + CLUSTER,), ("rds:*:secret:{tenant}/*",)):
        api, calls = data_api(allow=allow)
        with pytest.raises(AuthorizationError):
            api.run(QueryRequest([QueryStatement("SELECT 1")]))
        assert not calls.seen
    api, calls = data_api("mysql")
    with pytest.raises(AuthorizationError):
        api.run(QueryRequest([QueryStatement("WITH x AS (SELECT 1) DELETE FROM t")], read_only=True))


@pytest.fixture
def lake(monkeypatch):
    def make(**answers):
        calls = Calls(start_query_execution={"QueryExecutionId": "q-1"}, **answers)
        monkeypatch.setattr(athena_module, "client", lambda *_: calls)
        monkeypatch.setattr(athena_module.time, "sleep", lambda seconds: None)
        return Athena("us-east-1", "reports", "", "logs", "acme", ["athena:reports"]), calls

    return make


def state(name, reason="", kind="DML"):
    return {"QueryExecution": {"Status": {"State": name, "StateChangeReason": reason}, "StatementType": kind}}


def data(*rows, more=None):
    page = {"ResultSet": {"Rows": [{"Data": [{} if each is None else {"VarCharValue": each} for each in row]} for row in rows],
                          "ResultSetMetadata": {"ColumnInfo": [{"Name": "n", "Type": "bigint"}, {"Name": "d", "Type": "decimal(9,2)"}]}}}
    return page | ({"NextToken": more} if more else {})


def test_athena(lake):
    athena, calls = lake(get_query_execution=[state("QUEUED"), state("RUNNING"), state("SUCCEEDED")],
                         get_query_results=[data(["n", "d"], ["1", "1.10"], more="t"), data([None, "2"])])
    found = athena.run(QueryRequest([QueryStatement("SELECT n, d FROM t WHERE a = :a AND b = :b", {"a": "it's", "b": 1})], token="k" * 40))
    assert found[0].rows == [[1, 1.1], [None, 2]] and found[0].columns == [("n", "bigint"), ("d", "decimal(9,2)")]
    assert calls.seen[0][1] == {
        "QueryString": "SELECT n, d FROM t WHERE a = ? AND b = ?", "WorkGroup": "reports", "QueryExecutionContext": {"Database": "logs"},
        "ExecutionParameters": ["'it''s'", "1"], "ClientRequestToken": "k" * 40}
    assert calls.seen[-1][1]["NextToken"] == "t"


@pytest.mark.parametrize(("reason", "kind"), [
    ("TABLE_NOT_FOUND: line 1:15: Table 'x' does not exist", "NotFoundError"), ("SYNTAX_ERROR: line 1:8", "ValidationError"),
    ("Query exhausted resources: EXHAUSTED", "ServerError"), ("Access Denied (Service: Amazon S3", "AuthorizationError"), ("", "ValidationError"),
])
def test_failures_of_athena(lake, reason, kind):
    athena, _ = lake(get_query_execution=state("FAILED", reason))
    with pytest.raises(StepError) as caught:
        athena.run(QueryRequest([QueryStatement("SELECT 1")]))
    assert type(caught.value).__name__ == kind


def test_athena_is_stopped_in_time_and_opened_by_name(lake):
    athena, calls = lake(get_query_execution=state("RUNNING"))
    with pytest.raises(StepError) as caught:
        athena.run(QueryRequest([QueryStatement("SELECT 1")], timeout=0.05))
    assert type(caught.value).__name__ == "StepTimeout" and calls.seen[-1] == ("stop_query_execution", {"QueryExecutionId": "q-1"})
    for database, request in (
        (Athena("us-east-1", "other", "", "", "acme", ["athena:reports"]), QueryRequest([QueryStatement("SELECT 1")])),
        (athena, QueryRequest([QueryStatement("SELECT 1"), QueryStatement("SELECT 2")])),
        (athena, QueryRequest([QueryStatement("INSERT INTO t SELECT 1")], read_only=True)),
    ):
        with pytest.raises(StepError):
            database.run(request)


def test_literals_and_cells_of_athena():
    assert [literal(each) for each in (None, True, 1, 1.5, "a'b", ["x"])] == ["NULL", "true", "1", "1.5", "'a''b'", "'[\"x\"]'"]
    assert [value("1", "integer"), value("true", "boolean"), value("NaN", "double") != 0, value("00 ff", "varbinary"),
            value("2026-01-02 03:04:05.000", "timestamp"), value("[1]", "json"), value("x", "varchar"), value(None, "int")] == [
        1, True, True, b"\x00\xff", "2026-01-02T03:04:05.000", [1], "x", None]
