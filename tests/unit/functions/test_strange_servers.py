"""Servers that hang, drip, close and talk rubbish, to every client of a step: typed errors in time, in little memory."""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from aslant import errors

SECRET = "s3cr3t-word"  # noqa: S105
Talk = Callable[[socket.socket], None]


def says(data: bytes) -> Talk:
    return lambda connection: connection.sendall(data)


def answers(data: bytes) -> Talk:
    """To a request; one that waits for a greeting gets it soon."""

    def talk(connection: socket.socket) -> None:
        connection.settimeout(0.3)
        with contextlib.suppress(TimeoutError):
            while b"\r\n\r\n" not in connection.recv(65_536):
                pass
        with contextlib.suppress(TimeoutError):
            connection.recv(65_536)  # the body
        connection.sendall(data)

    return talk


def forever(piece: bytes, pause: float = 0.0) -> Talk:
    def talk(connection: socket.socket) -> None:
        end = time.monotonic() + 20
        while time.monotonic() < end:
            connection.sendall(piece)
            time.sleep(pause)

    return talk


TALKS: dict[str, Talk] = {
    "closes": lambda connection: None,
    "rubbish": says(bytes(range(1, 256)) * 20),
    "web": answers(b"HTTP/1.1 400 Bad\r\n\r\n"),
    "endless": forever(b"\xff" * 65_536),
    "lines": forever(b"220-hello\r\n" * 5000),
    "drips": forever(b"2", 0.05),
    "zeros": says(bytes(5000)),
    "redis nested": says(b"*1\r\n" * 100_000),
    "redis number": says(b":" + b"9" * 5000 + b"\r\n"),
    "redis huge": lambda connection: (says(b"$400000000\r\n")(connection), forever(b"x" * 65_536)(connection))[0],
    "mysql short": says(b"\x0a\0\0\0\x0a8.0\0\1\2\3\4\5"),
    "postgresql huge": says(b"R\x7f\xff\xff\xff\0\0\0\0"),
    "sse": answers(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                b'data: {"choices": [{"delta": {"content": {"a": 1}}, "finish_reason": "stop"}], "usage": {"prompt_tokens": "x"}}\n\n'),
    "tokens": answers(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
                   b'{"choices": [{"message": {"content": "x"}}], "usage": {"prompt_tokens": "many"}}'),
}
CLIENTS: dict[str, Callable[[int], dict[str, Any]]] = {
    "http": lambda port: {"url": f"http://127.0.0.1:{port}/", "timeout": 1},
    "scrape": lambda port: {"url": f"http://127.0.0.1:{port}/", "timeout": 1, "robots": False},
    "notify": lambda port: {"channel": "webhook", "url": f"http://127.0.0.1:{port}/{SECRET}", "message": "x", "timeout": 1},
    "agent": lambda port: {"prompt": "x", "model": "m", "stream": True, "endpoint": {"url": f"http://127.0.0.1:{port}/v1", "key": SECRET}},
    "email": lambda port: {"to": "a@example.com", "body": "x", "smtp": {
        "host": "127.0.0.1", "port": port, "username": "u", "password": SECRET}},
    "postgresql": lambda port: _query("select 1", f"postgresql://u:{SECRET}@127.0.0.1:{port}/d"),
    "mysql": lambda port: _query("select 1", f"mysql://u:{SECRET}@127.0.0.1:{port}/d"),
    "redis": lambda port: _query("GET a", f"redis://:{SECRET}@127.0.0.1:{port}/0"),
    "mongodb": lambda port: _query('{"find": "a"}', f"mongodb://u:{SECRET}@127.0.0.1:{port}/d"),
}
TRANSIENT = {"NetworkError", "StepTimeout", "ServerError"}
FINAL = {("web", "http"): "HttpError", ("web", "scrape"): "HttpError", ("web", "notify"): "HttpError", ("web", "agent"): "HttpError",
         ("sse", "agent"): "ModelError", ("tokens", "agent"): "ModelError"}


def _query(text: str, where: str) -> dict[str, Any]:
    return {"query": text, "connection_string": where, "timeout": 1}


def _pairs() -> Iterator[tuple[str, str]]:
    for talk in TALKS:
        own = talk.partition(" ")[0]
        for client in CLIENTS:
            web = client in ("http", "scrape", "notify", "agent")
            if (own in CLIENTS and own != client) or (talk in ("sse", "tokens") and client != "agent"):
                continue
            if talk in ("drips", "endless") and client in ("scrape", "notify", "mongodb"):  # the time limit of http, and of others
                continue
            if (talk in ("drips", "zeros", "rubbish") and web and client != "http") or (talk == "drips" and client in ("email", "agent")):
                continue
            yield talk, client


@pytest.fixture
def serve() -> Iterator[Callable[[Talk], int]]:
    listeners: list[socket.socket] = []

    def start(talk: Talk) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def one(connection: socket.socket) -> None:
            try:
                with connection:
                    connection.settimeout(5)
                    talk(connection)
            except OSError:
                pass

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=one, args=(connection,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    for each in listeners:
        each.close()


@pytest.mark.parametrize("talk", TALKS)
def test_no_server_harms_a_step(talk: str, serve: Any, invocation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP", "DATABASE"):
        monkeypatch.setenv(f"ASLANT_{name}_ALLOW", "127.0.0.1")
    monkeypatch.setenv("ASLANT_EMAIL_FROM", "me@example.com")
    port = serve(TALKS[talk])
    for client in (client for each, client in _pairs() if each == talk):
        kind = client if client in ("http", "scrape", "notify", "agent", "email") else "query"
        handler = importlib.import_module(f"functions.steps.{kind}.handler").handler
        before, started = _memory(), time.monotonic()
        try:
            found, text = "", json.dumps(handler(invocation(kind, CLIENTS[client](port)), None))
        except errors.StepError as error:
            found, text = type(error).__name__, str(error)
        wanted = {FINAL[talk, client]} if (talk, client) in FINAL else TRANSIENT | {"PayloadTooLarge"}
        assert found in wanted, (talk, client, found, text)
        assert SECRET not in text and _memory() - before < 100_000, (client, text)
        assert time.monotonic() - started < 15, client


def _memory() -> int:
    """The most that this process has had so far, in KiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
