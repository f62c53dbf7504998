"""Progress as it happens: pages, server-sent events and a WebSocket, each going on from a cursor."""

from __future__ import annotations

import base64
import json
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from aslant import serving
from aslant.event_log import Connection
from aslant.settings import Settings
from tests.integration.api.conftest import Api, definition


class WebSocket:
    """A client: what it sends is masked, as RFC 6455 wants it."""

    def __init__(self, port: int, path: str, headers: dict[str, str]) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        lines = [f"GET {path} HTTP/1.1", f"Host: localhost:{port}", "Upgrade: websocket", "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}", "Sec-WebSocket-Version: 13",
            *(f"{name}: {value}" for name, value in headers.items())]
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        while self.stream.readline().strip():
            pass

    def send(self, message: Any, kind: int = 1) -> None:
        data = json.dumps(message).encode() if kind == 1 else message
        half = len(data) // 2 if kind == 1 and len(data) > 20 else len(data)
        for final, part, opcode in ((half == len(data), data[:half], kind), *([(True, data[half:], 0)] if half < len(data) else [])):
            mask = os.urandom(4)
            body = bytes(byte ^ mask[index % 4] for index, byte in enumerate(part))
            self.socket.sendall(bytes([(0x80 if final else 0) | opcode, 0x80 | len(part)]) + mask + body)

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def frame(self) -> tuple[int, bytes]:
        first, second = self.stream.read(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self.stream.read(2))
        return first & 0x0F, self.stream.read(length)

    def message(self) -> Any:
        kind, data = self.frame()
        return json.loads(data) if kind == 1 else (kind, data)

    def until(self, type: str) -> list[Any]:
        found = []
        while (message := self.message())["type"] != type:
            found.append(message)
        return [*found, message]


@contextmanager
def following(api: Api, path: str, **who: Any) -> Iterator[WebSocket]:
    made = WebSocket(api.running.api.port, path, {"Authorization": f"Bearer {api.token(tenant='live', **who)}"})
    try:
        yield made
    finally:
        made.close()


def started(api: Api, id: str) -> str:
    api.call("POST", "/workflows", definition(id), tenant="live")
    api.call("POST", f"/workflows/{id}/publish", tenant="live")
    return str(api.call("POST", f"/workflows/{id}/execute", {}, tenant="live").body["id"])


def waiting(api: Api, execution: str) -> str:
    end = time.monotonic() + 30
    while not (found := [one for one in api.call("GET", "/approvals", tenant="live").body["items"] if one["execution"] == execution]):
        assert time.monotonic() < end
        time.sleep(0.05)
    return str(found[0]["id"])


def kinds(found: list[Any]) -> list[str]:
    return [one["event"]["event_type"] for one in found if one["type"] == "event"]


def stream(api: Api, execution: str, **headers: str) -> Any:
    return api.call("GET", f"/executions/{execution}/events", tenant="live", headers={"Accept": "text/event-stream", **headers})


@pytest.fixture(scope="module")
def execution(api: Api) -> str:
    """One that waits for an answer."""
    id = started(api, "live-flow")
    waiting(api, id)
    api.running.cloud.settle(20)
    return id


def test_pages_go_on_after_a_cursor_and_wait(api: Api, execution: str) -> None:
    path = f"/executions/{execution}/events"
    first = api.call("GET", f"{path}?limit=1", tenant="live").body
    rest = api.call("GET", f"{path}?after={first['next']}", tenant="live").body
    names = [one["event"]["event_type"] for one in (*first["items"], *rest["items"])]
    assert names[0] == "workflow_started" and "approval_requested" in names and not rest["over"]
    begun = time.monotonic()
    none = api.call("GET", f"{path}?after={rest['next']}&wait=1", tenant="live").body
    assert none["items"] == [] and none["next"] == rest["next"] and time.monotonic() - begun >= 1
    assert api.call("GET", f"{path}?after=ä", tenant="live").status == 422
    assert api.call("GET", path, tenant="other").status == 404


def test_server_sent_events_go_on_from_the_last_one(api: Api, execution: str) -> None:
    answer = stream(api, execution)
    assert answer.status == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
    blocks = [block for block in answer.body.split("\n\n") if "data: " in block]
    lines = [dict(line.split(": ", 1) for line in block.splitlines() if ": " in line) for block in blocks]
    assert lines[0]["event"] == "workflow_started" and json.loads(lines[0]["data"])["execution_id"] == execution
    again = stream(api, execution, **{"Last-Event-ID": lines[0]["id"]})
    assert "workflow_started" not in again.body and lines[1]["id"] in again.body


def test_a_websocket_gets_what_it_missed_and_what_comes(api: Api) -> None:
    id = started(api, "live-socket")
    approval = waiting(api, id)
    api.running.cloud.settle(20)
    with following(api, f"/api/v1/executions/{id}/stream") as peer:
        assert peer.status == 101
        peer.send({"action": "resume", "cursor": ""})
        missed = peer.until("resumed")
        assert kinds(missed)[0] == "workflow_started" and "approval_requested" in kinds(missed)
        peer.send(b"hello", kind=9)
        assert peer.message() == (10, b"hello")
        api.call("POST", f"/approvals/{approval}/approve", {}, tenant="live", user="ben")
        seen: list[Any] = []
        while "workflow_completed" not in kinds(seen):
            seen.append(peer.message())
        assert {"approval_granted", "workflow_completed"} <= set(kinds(seen))
        cursor = next(one["cursor"] for one in seen if one["event"]["event_type"] == "approval_granted")
    with following(api, f"/stream?execution={id}") as peer:
        peer.send({"action": "resume", "cursor": cursor})
        rest = peer.until("resumed")
        assert "approval_granted" not in kinds(rest) and kinds(rest)[-1] == "workflow_completed"
        assert not {one["event"]["event_id"] for one in rest[:-1]} & {one["event"]["event_id"] for one in missed[:-1]}
    end = time.monotonic() + 20
    while serving.connections(api.running.settings).of("live", id):
        assert time.monotonic() < end, "who has left is forgotten"
        time.sleep(0.05)
    time.sleep(5.1)  # until no event of it can come any more
    over = api.call("GET", f"/executions/{id}/events", tenant="live").body
    assert over["over"] and stream(api, id, **{"Last-Event-ID": over["next"]}).status == 204


def test_who_may_not_see_it_may_not_follow_it(api: Api, execution: str) -> None:
    path = f"/executions/{execution}/stream"
    for who, status in (({"user": "zoe", "roles": []}, 403), ({"user": "ann", "roles": []}, 101), ({"user": "zoe", "roles": ["viewer"]}, 101)):
        with following(api, path, **who) as peer:  # type: ignore[arg-type]
            assert peer.status == status, who
    token = api.token(tenant="other")
    for headers, status in (({"Authorization": f"Bearer {token}"}, 404), ({}, 401), ({"Authorization": "Bearer x"}, 401)):
        peer = WebSocket(api.running.api.port, path, headers)
        assert peer.status == status
        peer.close()


def test_connections_that_are_gone_are_removed(api: Api, execution: str) -> None:
    connections = serving.connections(api.running.settings)
    connections.add(Connection("never-was", "live", execution, "ann", 2**31))
    assert serving.sender(Settings.read()).send("never-was", b"{}") is False
    api.call("POST", f"/executions/{execution}/pause", {}, tenant="live")
    end = time.monotonic() + 20
    while connections.of("live", execution):
        assert time.monotonic() < end
        time.sleep(0.05)
