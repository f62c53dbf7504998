"""API Gateway's WebSocket API on this machine: connections that a function admits and answers.

Messages from clients go to the function as API Gateway sends them; `@connections` of the management API sends to a client.
RFC 6455 as far as a browser needs it: texts, fragments, ping, close; no extensions.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import struct
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from infra.local.functions import Functions

_MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LONGEST = 128 * 1024  # bytes of a message, as API Gateway has it
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0, 1, 2, 8, 9, 10
_STATUS = {400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error"}


class Sockets:
    """The open connections of one API. `function` is told $connect, $default and $disconnect."""

    def __init__(self, functions: Functions, function: str) -> None:
        self._functions, self._function = functions, function
        self._open: dict[str, _Peer] = {}
        self._lock = threading.Lock()

    def serve(self, environ: Mapping[str, Any], query: str, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Upgrades a request and stays until the connection ends; an answer of the server only when it is refused."""
        id = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=") + "="
        key = str(environ.get("HTTP_SEC_WEBSOCKET_KEY", ""))
        parameters = dict(parse_qsl(query))
        headers = {"Authorization": str(environ["HTTP_AUTHORIZATION"])} if "HTTP_AUTHORIZATION" in environ else {}
        status = 400
        if key and environ.get("HTTP_SEC_WEBSOCKET_VERSION") == "13":
            status = self._tell(id, "$connect", "CONNECT", headers=headers, queryStringParameters=parameters)
        if status != 200:
            start_response(f"{status} {_STATUS.get(status, 'Error')}", [("Content-Length", "0")])
            return [b""]
        peer = _Peer(environ["werkzeug.socket"], environ["wsgi.input"])
        with self._lock:
            self._open[id] = peer
        try:
            peer.greet(key)
            while (text := peer.receive()) is not None:
                if self._tell(id, "$default", "MESSAGE", body=text) == 404:
                    break
        except (OSError, ValueError):  # it is gone, or talks something else
            pass
        finally:
            with self._lock:
                self._open.pop(id, None)
            peer.close()
            self._tell(id, "$disconnect", "DISCONNECT")
        raise ConnectionAbortedError  # nothing is left to be answered: the server drops it

    def manage(self, method: str, id: str, data: bytes) -> int:
        """The management API: the status of a request about a connection."""
        with self._lock:
            peer = self._open.get(id)
        if peer is None:
            return 410
        if method == "DELETE":
            peer.close()
            return 204
        try:
            peer.send(_TEXT, data)
        except OSError:
            return 410
        return 200

    def close(self) -> None:
        with self._lock:
            peers = list(self._open.values())
        for peer in peers:
            peer.close()

    def _tell(self, id: str, route: str, kind: str, **more: Any) -> int:
        event = {
            "requestContext": {
                "routeKey": route, "eventType": kind, "connectionId": id, "requestId": str(uuid.uuid4()), "stage": "local",
                "apiId": "local", "requestTimeEpoch": int(time.time() * 1000),
            },
            "isBase64Encoded": False, **more,
        }  # fmt: skip
        invocation = self._functions.invoke(self._function, json.dumps(event))
        if invocation.error:
            return 500
        answer = json.loads(invocation.payload)
        return int(answer.get("statusCode", 200)) if isinstance(answer, Mapping) else 200


class _Peer:
    """One connection: frames in and out."""

    def __init__(self, socket: Any, stream: Any) -> None:
        self._socket, self._stream = socket, stream
        self._lock = threading.Lock()
        self._closed = False

    def greet(self, key: str) -> None:
        mark = base64.b64encode(hashlib.sha1((key + _MAGIC).encode()).digest()).decode()  # noqa: S324  as the RFC has it
        self._socket.sendall((
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Accept: {mark}\r\n\r\n"
        ).encode())  # fmt: skip

    def receive(self) -> str | None:
        """The next text; None at the end. Raises OSError, and ValueError for what is no message of a client."""
        parts: list[bytes] = []
        while True:
            final, kind, data = self._frame()
            if kind == _CLOSE:
                return None
            if kind == _PING:
                self.send(_PONG, data)
            elif kind in (_CONTINUATION, _TEXT, _BINARY):
                parts.append(data)
                if sum(map(len, parts)) > _LONGEST:
                    raise ValueError("the message is too long")
                if final:
                    return b"".join(parts).decode()

    def send(self, kind: int, data: bytes) -> None:
        head = bytes([0x80 | kind])
        if len(data) < 126:
            head += bytes([len(data)])
        elif len(data) < 65_536:
            head += b"\x7e" + struct.pack("!H", len(data))
        else:
            head += b"\x7f" + struct.pack("!Q", len(data))
        with self._lock:
            self._socket.sendall(head + data)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            if not self._closed:
                self._closed = True
                self.send(_CLOSE, struct.pack("!H", 1000))
        with contextlib.suppress(OSError):
            self._socket.shutdown(2)

    def _frame(self) -> tuple[bool, int, bytes]:
        first, second = self._exactly(2)
        length = second & 0x7F
        if length == 126:
            (length,) = struct.unpack("!H", self._exactly(2))
        elif length == 127:
            (length,) = struct.unpack("!Q", self._exactly(8))
        if not second & 0x80 or length > _LONGEST:
            raise ValueError("no frame of a client, or one that is too long")
        mask = self._exactly(4)
        data = self._exactly(length)
        return bool(first & 0x80), first & 0x0F, bytes(byte ^ mask[index % 4] for index, byte in enumerate(data))

    def _exactly(self, length: int) -> bytes:
        data: bytes = self._stream.read(length)
        if len(data) != length:
            raise ConnectionResetError
        return data
