"""The local cloud over HTTP: any AWS client with `AWS_ENDPOINT_URL` set to it sees what the functions see.

Only this machine reaches it, and no web page: a browser sends an `Origin`, which no AWS client does, and a name that was
rebound to this address comes with a foreign `Host`.
"""

from __future__ import annotations

import errno
import logging
import socket
import socketserver
import threading
import warnings
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, Self

_Start = Callable[..., Any]


class PortTaken(Exception):
    """Another process listens on the port."""


class Server:
    """Serves the running local cloud, or another WSGI application, on 127.0.0.1 until it is left. `port` 0 takes a free one."""

    def __init__(self, port: int = 0, application: _Start | None = None) -> None:
        self._wanted = port
        self._application = application
        self._server: socketserver.BaseServer | None = None
        self._thread: threading.Thread | None = None
        self.port = port

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}"

    def __enter__(self) -> Self:
        application = self._application or _cloud()
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Quiet(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"  # clients keep their connections

            def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
                """Says nothing."""

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self._look()
        try:
            server = make_server(
                "127.0.0.1", self._wanted, application, threaded=True, request_handler=Quiet
            )
        except (OSError, SystemExit):  # werkzeug ends the process when the port is in use
            raise PortTaken(f"port {self._wanted} is in use") from None
        self._server, self.port = server, server.server_port
        self._thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        """Raises PortTaken; werkzeug would say it on standard error as well."""
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", self._wanted))
            except OSError as error:
                why = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
                raise PortTaken(f"port {self._wanted} {why}") from None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(5)


def _cloud() -> _Start:
    """moto's services."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # moto wants all that its extra `server` names
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    return _guarded(DomainDispatcherApplication(create_backend_app))


def _guarded(application: _Start) -> _Start:
    def guard(environ: dict[str, Any], start_response: _Start) -> Iterable[bytes]:
        host = str(environ.get("HTTP_HOST", "")).rpartition(":")[0] or str(environ.get("HTTP_HOST", ""))
        local = host in ("localhost", "127.0.0.1") or host.endswith(".localhost")  # a bucket's own name
        if not local or "HTTP_ORIGIN" in environ or str(environ.get("PATH_INFO", "")).startswith("/moto-api"):
            start_response("403 Forbidden", [("Content-Type", "text/plain"), ("Content-Length", "0")])
            return [b""]
        answer: Iterable[bytes] = application(environ, start_response)
        return answer

    return guard
