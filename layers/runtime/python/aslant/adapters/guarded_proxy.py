"""A proxy on loopback through which a browser reaches permitted addresses only: checked after DNS and pinned, as for http
steps. It does not look into what is encrypted.
"""

from __future__ import annotations

import contextlib
import select
import socket
import socketserver
import threading
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from aslant.adapters.guarded_http import Resolver, resolve
from aslant.adapters.pinned import connect
from aslant.addresses import AllowList
from aslant.errors import AuthorizationError, StepError

_HEAD = 65_536       # bytes of a request's line and headers
_PATIENCE = 30.0     # seconds for a head, a connection, or silence of a plain request
_CHUNK = 65_536
_MOST = 64           # connections at a time


@dataclass(slots=True)
class Traffic:
    """What went through since `begin`: `refused` are hosts, `spent` says that `most` bytes were exceeded."""

    most: int = 0
    bytes: int = 0
    refused: set[str] = field(default_factory=set)
    spent: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, most: int) -> None:
        with self.lock:
            self.most, self.bytes, self.spent = most, 0, False
            self.refused.clear()

    def count(self, number: int) -> bool:
        """Whether so many bytes may still come."""
        with self.lock:
            self.bytes += number
            self.spent = self.spent or self.bytes > self.most
            return not self.spent


@dataclass(frozen=True, slots=True)
class Proxy:
    port: int
    traffic: Traffic


@contextlib.contextmanager
def guarded_proxy(allow: Sequence[str], deadline: float, resolver: Resolver = resolve) -> Iterator[Proxy]:
    """A running proxy; `deadline` is monotonic, and no connection outlives it or the block."""
    permitted, traffic, open_sockets = AllowList.of(allow), Traffic(), _Open()
    slots = threading.BoundedSemaphore(_MOST)

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            if not slots.acquire(timeout=_PATIENCE):
                return
            try:
                _serve(self.request, permitted, traffic, open_sockets, deadline, resolver)
            finally:
                slots.release()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, allow_reuse_address, request_queue_size = True, True, 128
        block_on_close = False

        def handle_error(self, request: object, client_address: object) -> None:
            """A connection that breaks is the browser's to report."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield Proxy(int(server.server_address[1]), traffic)
    finally:
        server.shutdown()
        server.server_close()
        open_sockets.close()
        thread.join()


class _Open:
    """Connections that are there, so that they can be cut."""

    def __init__(self) -> None:
        self._sockets: set[socket.socket] = set()
        self._lock, self._closed = threading.Lock(), False

    @contextlib.contextmanager
    def hold(self, *sockets: socket.socket) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise OSError("closed")
            self._sockets.update(sockets)
        try:
            yield
        finally:
            with self._lock:
                self._sockets.difference_update(sockets)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for each in self._sockets:
                with contextlib.suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)


def _serve(
    client: socket.socket, allow: AllowList, traffic: Traffic, open_sockets: _Open, deadline: float, resolver: Resolver
) -> None:
    client.settimeout(_PATIENCE)
    head, rest = _head(client)
    method, _, tail = head.partition(b" ")
    place, _, after = tail.partition(b" ")
    tunnel = method == b"CONNECT"
    try:
        parts = urllib.parse.urlsplit(("tcp://" if tunnel else "") + place.decode("ascii"))
        host, port = parts.hostname or "", parts.port or 80
    except (UnicodeDecodeError, ValueError):
        host, port = "", 0
    if not host or not port or (not tunnel and parts.scheme != "http"):
        client.sendall(_answer("400 Bad Request"))
        return
    try:
        server = connect(host, port, allow, min(deadline, time.monotonic() + _PATIENCE), resolver)
    except StepError as error:
        if isinstance(error, AuthorizationError):
            with traffic.lock:
                traffic.refused.add(host.lower())
        if tunnel:  # else an answer would pass for one of the server's
            client.sendall(_answer("403 Forbidden"))
        return
    with server, open_sockets.hold(client, server):
        if tunnel:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            server.sendall(rest)
        else:
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            server.sendall(method + b" " + path.encode("ascii") + b" " + _only_once(after) + rest)
        _relay(client, server, traffic, deadline)


def _head(client: socket.socket) -> tuple[bytes, bytes]:
    """A request's line with its headers, and what came after them."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = client.recv(_CHUNK)
        data += chunk
        if not chunk or len(data) > _HEAD:
            raise OSError("no request")
    head, _, rest = data.partition(b"\r\n\r\n")
    return head, rest


def _only_once(head: bytes) -> bytes:
    """The headers for a connection that takes one request: the next one may be for another host, and is checked again."""
    lines = head.split(b"\r\n")
    kept = [line for line in lines if not line.lower().startswith((b"proxy-", b"connection:", b"keep-alive:"))]
    return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n"


def _relay(client: socket.socket, server: socket.socket, traffic: Traffic, deadline: float) -> None:
    """Both ways, until one side ends, the time is over, or too much has come."""
    other = {client: server, server: client}
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([client, server], [], [], min(left, _PATIENCE))
        for each in ready:
            data = each.recv(_CHUNK)
            if not data:
                return
            if each is server and not traffic.count(len(data)):
                return
            other[each].sendall(data)


def _answer(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
