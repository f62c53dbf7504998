"""Who may follow an execution over a WebSocket, what it is sent, and who is forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from aslant import bootstrap, clock, keys, serving
from aslant.access import Caller
from aslant.adapters import clients
from aslant.adapters.dynamo_event_log import DynamoConnections, DynamoEventLog, GatewaySender
from aslant.errors import AuthenticationError, NotFoundError, ServerError, StepError
from aslant.event_log import Connection, place_of
from aslant.executions.records import Execution
from functions.push_events.handler import push
from functions.stream import handler as stream
from tests.unit.moto_aws import moto_aws

NOW = 1_900_000_000


@dataclass
class Peers:
    """What is sent to whom; those in `gone` are not there any more, those in `broken` fail."""

    sent: list[tuple[str, Any]] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)

    def send(self, connection: str, data: bytes) -> bool:
        if connection in self.broken:
            raise ServerError("no answer")
        if connection in self.gone:
            return False
        self.sent.append((connection, json.loads(data)))
        return True

    def close(self, connection: str) -> None:
        self.closed.append(connection)


@pytest.fixture
def peers() -> Peers:
    return Peers()


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch, peers: Peers) -> Iterator[tuple[DynamoEventLog, DynamoConnections]]:
    with moto_aws(monkeypatch):
        dynamodb = clients.client("dynamodb", "us-east-1")
        dynamodb.create_table(**keys.events_table("aslant-events"))
        dynamodb.create_table(**keys.connections_table("aslant-connections"))
        monkeypatch.setattr(clock, "now", lambda: float(NOW))
        monkeypatch.setattr(serving, "sender", lambda settings: peers)
        yield DynamoEventLog("us-east-1", "aslant-events"), DynamoConnections("us-east-1", "aslant-connections")


def event(number: int, execution: str = "e1", tenant: str = "acme", type: str = "node_started") -> dict[str, Any]:
    return {"event_id": f"id-{number}", "event_type": type, "tenant_id": tenant, "execution_id": execution,
        "sequence": f"{number:021d}", "payload": {"step": f"s{number}"}}


@pytest.fixture
def callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens are `<tenant>/<user>/<role>`; acme has the execution e1 of ann's."""

    def authenticated(header: str, settings: Any) -> Caller:
        parts = header.removeprefix("Bearer ").split("/")
        if len(parts) != 3:
            raise AuthenticationError("no token")
        return Caller(parts[0], parts[1], frozenset(parts[2:]) & {"admin", "viewer"})  # type: ignore[arg-type]

    class Executions:
        def get(self, tenant: str, id: str) -> Execution:
            if (tenant, id) != ("acme", "e1"):
                raise NotFoundError("no such execution")
            return Execution(tenant, id, "flow", "1.0.0", "running", 1, 1, "m", "a", "ann", 0, 0)

    monkeypatch.setattr(stream, "authenticated", authenticated)
    monkeypatch.setattr(bootstrap, "executions", lambda settings: Executions())


def call(route: str, id: str = "c1", **more: Any) -> int:
    return stream.handler({"requestContext": {"routeKey": route, "connectionId": id}, **more}, None)["statusCode"]


def connect(token: str, execution: str = "e1", id: str = "c1", **more: Any) -> int:
    return call("$connect", id, queryStringParameters={"execution": execution, "token": token}, **more)


@pytest.mark.parametrize(("token", "execution", "status"), [
    ("acme/zoe/viewer", "e1", 200), ("acme/ann/none", "e1", 200), ("acme/zoe/none", "e1", 403), ("other/zoe/admin", "e1", 404),
    ("acme/zoe/viewer", "e2", 404), ("nothing", "e1", 401), ("acme/zoe/viewer", "", 404),
])  # fmt: skip
def test_who_may_connect(tables: Any, callers: None, token: str, execution: str, status: int) -> None:
    assert connect(token, execution) == status
    assert (tables[1].get("c1") is not None) is (status == 200)


def test_a_header_counts_before_the_address(tables: Any, callers: None) -> None:
    assert connect("nothing", headers={"Authorization": "Bearer acme/zoe/viewer"}) == 200
    assert tables[1].get("c1") == Connection("c1", "acme", "e1", "zoe", NOW + 7200)
    assert call("$disconnect") == 200 and call("$disconnect") == 200 and tables[1].get("c1") is None


def test_what_was_missed(tables: Any, callers: None, peers: Peers) -> None:
    log, _ = tables
    for number in (3, 1, 2, 2):
        log.put(event(number), NOW + 5)
    log.put(event(9, execution="e2"), NOW)
    log.put(event(8, tenant="other"), NOW)
    connect("acme/ann/viewer")
    assert call("$default", body='{"action": "resume", "cursor": ""}') == 200
    assert [message.get("event", {}).get("event_id") for _, message in peers.sent] == ["id-1", "id-2", "id-3", None]
    last = peers.sent[-1][1]
    assert last == {"type": "resumed", "cursor": place_of(event(3)), "more": False}
    middle, peers.sent = peers.sent[0][1]["cursor"], []
    call("$default", body=json.dumps({"action": "resume", "cursor": middle}))
    assert [message.get("event", {}).get("event_id") for _, message in peers.sent] == ["id-2", "id-3", None]


@pytest.mark.parametrize("body", ["", "[]", "no", '{"action": "resume", "cursor": 5}', '{"action": "other"}', "5"])
def test_what_is_no_message_is_told_so(tables: Any, callers: None, peers: Peers, body: str) -> None:
    connect("acme/ann/viewer")
    assert call("$default", body=body) == 200 and peers.sent[-1][1]["type"] == "error"
    assert call("$default", body='{"action": "ping"}') == 200 and peers.sent[-1][1] == {"type": "pong"}
    assert call("$default", "unknown", body='{"action": "ping"}') == 404


def test_events_go_to_those_who_follow_and_who_is_gone_is_forgotten(tables: Any, peers: Peers) -> None:
    _, connections = tables
    for id, execution, tenant, expires in (
        ("here", "e1", "acme", NOW + 9), ("gone", "e1", "acme", NOW + 9), ("old", "e1", "acme", NOW), ("odd", "e1", "acme", NOW + 9),
        ("elsewhere", "e2", "acme", NOW + 9), ("foreign", "e1", "other", NOW + 9),
    ):
        connections.add(Connection(id, tenant, execution, "ann", expires))
    peers.gone, peers.broken = {"gone"}, {"odd"}
    assert push(connections, peers, event(4), NOW) == 1
    assert [(id, message["event"]["event_id"]) for id, message in peers.sent] == [("here", "id-4")]
    assert peers.closed == ["old"] and {one.id for one in connections.of("acme", "e1")} == {"here", "odd"}


def test_without_a_table_of_connections_events_are_kept_all_the_same(peers: Peers) -> None:
    class Broken:
        def of(self, tenant: str, execution: str) -> list[Connection]:
            raise StepError("no table")

    made: Any = Broken()
    assert push(made, peers, event(1), NOW) == 0


def test_the_gateway_on_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    with moto_aws(monkeypatch):
        sender = GatewaySender("us-east-1", "https://api1.execute-api.us-east-1.amazonaws.com/live")
        assert sender.send("c1", b"{}"), "moto makes up connections"
        with pytest.raises(StepError, match="ASLANT_STREAM_URL"):
            GatewaySender("us-east-1", "").send("c1", b"{}")


def test_the_samples(tables: Any, callers: None, peers: Peers) -> None:
    folder = Path(__file__).parents[3] / "events" / "websocket"
    connected, resume = (json.loads((folder / f"{name}.json").read_text()) for name in ("connect", "resume"))
    assert stream.handler(connected, None) == {"statusCode": 401}
    connected["headers"]["Authorization"], connected["queryStringParameters"]["execution"] = "Bearer acme/ann/viewer", "e1"
    assert stream.handler(connected, None) == {"statusCode": 200} == stream.handler(resume, None)
    assert peers.sent[-1][1]["type"] == "resumed"
