"""What all connections to databases share: a deadline that holds whatever the server does, and which of them are permitted."""

from __future__ import annotations

import contextlib
import glob
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase

from aslant.adapters.guarded_http import Resolver, resolve
from aslant.adapters.pinned import connect as pinned
from aslant.addresses import AllowList
from aslant.database_ports import DatabaseAddress
from aslant.errors import AuthorizationError, ValidationError

SETTING = "ASLANT_DATABASE_ALLOW"


def connect(where: DatabaseAddress, allow: Sequence[str], deadline: float, resolver: Resolver = resolve) -> socket.socket:
    """A connection to a database's server, under the guard of private addresses."""
    hosts = [each for each in allow if not each.startswith(("dynamodb:", "athena:", "rds:"))]
    return pinned(where.host, where.port, AllowList.of(hosts), deadline, resolver, setting=SETTING)


def permit(kind: str, name: str, tenant: str, allow: Sequence[str]) -> None:
    """Raises AuthorizationError unless an entry `kind:pattern` permits the name; `{tenant}` stands for the tenant's."""
    patterns = [each.partition(":")[2] for each in allow if each.startswith(kind + ":")]
    if not any(fnmatchcase(name, pattern.replace("{tenant}", glob.escape(tenant))) for pattern in patterns):
        raise AuthorizationError(f"this installation does not open {name[:200]!r} to query steps; {SETTING} can ({kind}:NAME)")


@contextlib.contextmanager
def cut_off(sock: socket.socket, deadline: float) -> Iterator[None]:
    """Shuts the socket down at the deadline: a read's own time limit starts anew with each byte that drips in."""

    def cut() -> None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def context(where: DatabaseAddress) -> ssl.SSLContext | None:
    """TLS as the address asks for; None for none."""
    if where.tls == "disable":
        return None
    try:
        made = ssl.create_default_context(cadata=where.ca or None)
    except (ssl.SSLError, ValueError):
        raise ValidationError("the connection's `ca` is no certificate (PEM)") from None
    if where.tls != "verify-full":
        made.check_hostname = False
        if where.tls != "verify-ca":
            made.verify_mode = ssl.CERT_NONE
    return made
