"""API Gateway's WebSocket API on this machine: connections that a function admits and answers.

Messages from clients go to the function as API Gateway sends them; `@connections` of the management API sends to a client. The
protocol (RFC 6455) is wsproto's.
"""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Event, Message, Ping, TextMessage
from wsproto.utilities import ProtocolError

from infra.local.functions import Functions

_LONGEST = 128 * 1024  # bytes of a message, as API Gateway has it
_CHUNK = 65_536        # bytes that are read at once, at most
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
        parameters = dict(parse_qsl(query))
        headers = {"Authorization": str(environ["HTTP_AUTHORIZATION"])} if "HTTP_AUTHORIZATION" in environ else {}
        try:
            peer = _Peer(environ)
            status = self._tell(id, "$connect", "CONNECT", headers=headers, queryStringParameters=parameters)
        except ProtocolError:
            status = 400
        if status != 200:
            start_response(f"{status} {_STATUS.get(status, 'Error')}", [("Content-Length", "0")])
            return [b""]
        with self._lock:
            self._open[id] = peer
        try:
            peer.greet()
            while (text := peer.receive()) is not None:
                if self._tell(id, "$default", "MESSAGE", body=text) == 404:
                    break
        except (OSError, ValueError, ProtocolError):  # it is gone, or talks something else
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
            peer.send(data.decode())
        except (OSError, ProtocolError):
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
    """One connection. Its reader and whoever sends are different threads."""

    def __init__(self, environ: Mapping[str, Any]) -> None:
        """Raises RemoteProtocolError for a request that is none for a WebSocket."""
        self._socket, self._stream = environ["werkzeug.socket"], environ["wsgi.input"]
        self._protocol = WSConnection(ConnectionType.SERVER)
        self._lock = threading.Lock()
        self._events: deque[Event] = deque()
        headers = [
            (name[5:].replace("_", "-").lower().encode(), str(value).encode("latin-1"))
            for name, value in environ.items() if name.startswith("HTTP_")
        ]
        self._protocol.initiate_upgrade_connection(headers, str(environ.get("PATH_INFO", "")))
        next(iter(self._protocol.events()))  # the request

    def greet(self) -> None:
        self._send(AcceptConnection())

    def receive(self) -> str | None:
        """The next text; None at the end. Raises OSError, ProtocolError, and ValueError for one that is too long or no text."""
        parts: list[bytes] = []
        while True:
            while self._events:
                event = self._events.popleft()
                if isinstance(event, CloseConnection):
                    return None
                if isinstance(event, Ping):
                    self._send(event.response())
                elif isinstance(event, Message):
                    parts.append(event.data.encode() if isinstance(event.data, str) else bytes(event.data))
                    if sum(map(len, parts)) > _LONGEST:
                        raise ValueError("the message is too long")
                    if event.message_finished:
                        return b"".join(parts).decode()
            if not (data := self._stream.read1(_CHUNK)):
                return None
            with self._lock:
                self._protocol.receive_data(data)
                self._events.extend(self._protocol.events())

    def send(self, text: str) -> None:
        """Raises OSError and ProtocolError when nobody is there any more."""
        self._send(TextMessage(data=text))

    def close(self) -> None:
        with contextlib.suppress(OSError, ProtocolError):
            self._send(CloseConnection(code=1000))
        with contextlib.suppress(OSError):
            self._socket.shutdown(2)

    def _send(self, event: Event) -> None:
        with self._lock:
            self._socket.sendall(self._protocol.send(event))
