"""query steps against a server of MongoDB's protocol, with the driver of its makers."""

from __future__ import annotations

import json
import socket
import threading
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pytest

from tests.services import databases
from tests.services.conftest import Ask
from tests.services.databases import Server

OPERATOR = {"$gt": ""}


@pytest.fixture(scope="module")
def mongodb() -> Iterator[Server]:
    with databases.mongodb() as server:
        yield server


def command(**parts: Any) -> str:
    return json.dumps(parts)


def test_documents_are_written_read_changed_and_deleted(ask: Ask, mongodb: Server) -> None:
    done = ask(mongodb, (command(insert="orders", documents=[{"who": ":who", "items": ":items"}, {"who": "bob", "sum": 3}]),
                         {"who": "ann 'x' {$ne: 1}", "items": [{"n": 1}, None]}))
    assert (done["rows_affected"], done["rows"]) == (2, [])
    found = ask(mongodb, (command(find="orders", filter={"who": "$1"}, projection={"_id": 0}), ["ann 'x' {$ne: 1}"]), read_only=True)
    assert found["rows"] == [{"who": "ann 'x' {$ne: 1}", "items": [{"n": 1}, None]}] and not found["truncated"]
    changed = ask(mongodb, command(update="orders", updates=[
        {"q": {"who": "bob"}, "u": {"$inc": {"sum": 4}}}, {"q": {"who": "new"}, "u": {"$set": {"sum": 1}}, "upsert": True}]))
    assert changed["rows_affected"] == 2 and changed["result"]["modified"] == 1 and len(changed["result"]["upserted"]) == 1
    total = ask(mongodb, command(aggregate="orders", pipeline=[{"$group": {"_id": None, "total": {"$sum": "$sum"}}}]))
    assert total["rows"] == [{"_id": None, "total": 8}]
    assert ask(mongodb, command(count="orders", query={"sum": {"$gt": 2}}))["result"] == {"count": 1}
    assert sorted(ask(mongodb, command(distinct="orders", key="sum"))["result"]["values"]) == [1, 7]
    taken = ask(mongodb, command(findAndModify="orders", query={"who": "new"}, remove=True))
    assert taken["rows"][0]["sum"] == 1 and taken["rows_affected"] == 1
    assert ask(mongodb, command(findAndModify="orders", query={"who": "new"}, remove=True))["rows"] == []
    gone = ask(mongodb, command(delete="orders", deletes=[{"q": {}, "limit": 0}]))
    assert gone["rows_affected"] == 2


def test_values_have_types(ask: Ask, mongodb: Server) -> None:
    given = {"d": {"$date": "2026-01-02T03:04:05.678+02:00"}, "n": {"$numberDecimal": "1.10"}, "big": {"$numberLong": "9007199254740993"},
             "o": {"$oid": "507f1f77bcf86cd799439011"}, "b": {"$binary": {"base64": "AP8=", "subType": "00"}},
             "u": {"$uuid": "6f9619ff-8b86-d011-b42d-00c04fc964ff"}, "f": 1.5, "t": True, "none": None, "text": "🙂 $1 :x"}
    ask(mongodb, (command(insert="typed", documents=[":all"]), {"all": given}))
    (row,) = ask(mongodb, command(find="typed", projection={"_id": 0}))["rows"]
    assert row == {"d": "2026-01-02T01:04:05.678Z", "n": 1.1, "big": "9007199254740993", "o": "507f1f77bcf86cd799439011", "b": "AP8=",
                   "u": "6f9619ff-8b86-d011-b42d-00c04fc964ff", "f": 1.5, "t": True, "none": None, "text": "🙂 $1 :x"}
    by_id = ask(mongodb, (command(find="typed", filter={"o": "$1", "d": {"$lt": "$2"}}), [given["o"], {"$date": "2026-02-01T00:00:00Z"}]))
    assert by_id["row_count"] == 1


def test_rows_are_bounded(ask: Ask, failure: Any, mongodb: Server) -> None:
    ask(mongodb, command(insert="many", documents=[{"n": n, "pad": "x" * 400} for n in range(1_500)]))
    some = ask(mongodb, command(find="many", sort={"n": 1}, projection={"_id": 0, "n": 1}), max_rows=250)
    assert [row["n"] for row in some["rows"]] == list(range(250)) and some["truncated"]
    every = ask(mongodb, command(find="many", projection={"_id": 0, "n": 1}), max_rows=1_500)
    assert every["row_count"] == 1_500 and not every["truncated"]
    ask(mongodb, command(insert="wide", documents=[{"pad": "x" * 1_000_000} for _ in range(9)]))
    assert failure(mongodb, command(find="wide"))[0] == "PayloadTooLarge"


def test_several_commands_are_one_transaction(ask: Ask, failure: Any, mongodb: Server) -> None:
    insert = command(insert="accounts", documents=[{"_id": "a", "sum": 1}])
    both = ask(mongodb, insert, command(find="accounts"))
    assert both["results"][0]["rows_affected"] == 1 and both["rows"] == [{"_id": "a", "sum": 1}]
    name, text = failure(mongodb, command(update="accounts", updates=[{"q": {"_id": "a"}, "u": {"$set": {"sum": 9}}}]), insert)
    assert name == "ConflictError", text
    assert ask(mongodb, command(find="accounts"))["rows"] == [{"_id": "a", "sum": 1}]


@pytest.mark.parametrize("text", [
    "", "[]", "{}", "find orders", '{"find": 1}', '{"find": ""}', '{"dropDatabase": 1}', '{"mapReduce": "a"}', '{"eval": "x"}',
    '{"find": "a", "$db": "admin"}', '{"find": "a", "lsid": {}}', '{"find": "a", "filter": {"$where": "1"}}', '{"find": "a", "filter": {"$bad": 1}}',
    '{"find": "a", "filter": {"x": {"$date": "never"}}}', '{"find": "a", "filter": {"x": {"$oid": "x"}}}', '{"aggregate": "a", "pipeline": [{"$match": {"$expr": {"$function": {}}}}]}',
    '{"find": "a", "filter": ' + '{"a": ' * 5_000 + "1" + "}" * 5_000 + "}",
    '{"insert": "a", "documents": []}',
])
def test_what_is_no_command_of_a_step(failure: Any, mongodb: Server, text: str) -> None:
    assert failure(mongodb, text or " ")[0] == "ValidationError"


def test_parameters_hold_no_operators(failure: Any, ask: Ask, mongodb: Server) -> None:
    ask(mongodb, command(insert="users", documents=[{"name": "ann", "password": "p"}]))
    login = command(find="users", filter={"name": ":name", "password": ":password"})
    for value in (OPERATOR, [OPERATOR], {"x": {"$ne": 1}}, {"$oid": "x"}, {"$oid": "507f1f77bcf86cd799439011", "$ne": 1}):
        assert failure(mongodb, (login, {"name": "ann", "password": value}))[0] == "ValidationError", value
    assert ask(mongodb, (login, {"name": "ann", "password": "p"}))["row_count"] == 1
    assert ask(mongodb, (login, {"name": "ann", "password": '{"$gt": ""}'}))["row_count"] == 0
    assert failure(mongodb, (command(find="users", filter={"name": "$2"}), ["ann"]))[0] == "ValidationError"
    assert failure(mongodb, (command(find="users"), ["ann"]))[0] == "ValidationError"


def test_read_only(failure: Any, ask: Ask, mongodb: Server) -> None:
    for text in (command(insert="a", documents=[{}]), command(delete="a", deletes=[{"q": {}, "limit": 0}]),
                 command(aggregate="a", pipeline=[{"$match": {}}, {"$out": "b"}])):
        assert failure(mongodb, text, read_only=True)[0] == "AuthorizationError"
    assert ask(mongodb, command(find="none"), read_only=True)["rows"] == []


def test_errors_of_the_server(failure: Any, ask: Ask, mongodb: Server) -> None:
    name, text = failure(mongodb, command(insert="twice", documents=[{"_id": 1}, {"_id": 1}, {"_id": 2}]))
    assert name == "ConflictError" and "1 before it happened" in text
    assert failure(mongodb, command(update="twice", updates=[{"q": {}, "u": {"$nonsense": {"a": 1}}}]))[0] == "ValidationError"
    (port,) = databases.free_ports(1)
    assert failure(Server(port, f"mongodb://127.0.0.1:{port}/shop", mongodb.root), command(find="a"))[0] == "NetworkError"
    assert failure(Server(mongodb.port, f"mongodb://127.0.0.1:{mongodb.port}", mongodb.root), command(find="a"))[0] == "ValidationError"
    assert failure(mongodb, command(find="a"), isolation="serializable")[0] == "ValidationError"


def test_users_and_passwords(ask: Ask, failure: Any) -> None:
    with databases.mongodb(auth=True) as server:
        assert ask(server, command(find="a"))["rows"] == []
        other = Server(server.port, server.url.replace("owner:", "guest:"), server.root)
        assert failure(other, command(find="a"))[0] == "AuthenticationError"
        nobody = Server(server.port, f"mongodb://127.0.0.1:{server.port}/shop", server.root)
        assert failure(nobody, command(find="a"))[0] in ("AuthenticationError", "AuthorizationError")


def test_over_tls(ask: Ask, failure: Any) -> None:
    with databases.mongodb(tls=True) as server:
        bare = server.url.partition("?")[0]
        trusted = Server(server.port, bare + "?" + urllib.parse.urlencode({"sslmode": "verify-full", "ca": server.ca}), server.root)
        assert ask(server, command(find="a"))["rows"] == ask(trusted, command(find="a"))["rows"] == []
        unknown = Server(server.port, bare + "?sslmode=verify-full", server.root)
        assert failure(unknown, command(find="a"), timeout=3)[0] in ("NetworkError", "StepTimeout")
        elsewhere = Server(server.port, trusted.url.replace("127.0.0.1", "localhost"), server.root)
        assert failure(elsewhere, command(find="a"), timeout=3)[0] in ("NetworkError", "StepTimeout", "AuthorizationError")


def test_a_server_that_says_nothing_costs_no_more_than_the_timeout(failure: Any, mongodb: Server) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held: list[socket.socket] = []

        def take() -> None:
            while True:
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        started = time.monotonic()
        name, _ = failure(Server(port, f"mongodb://127.0.0.1:{port}/x", mongodb.root), command(find="a"), timeout=2)
        assert name in ("StepTimeout", "NetworkError") and time.monotonic() - started < 20
    for each in held:
        each.close()
