"""Connections of steps to other servers than those of HTTP: under the same guard, checked after DNS and pinned."""

from __future__ import annotations

import socket
import time

from aslant.adapters.guarded_http import Resolver, Target, in_time, resolve
from aslant.addresses import AllowList
from aslant.errors import AuthorizationError, NetworkError, StepTimeout

_TRIES = 4  # addresses of one host that are tried


def connect(
    host: str, port: int, allow: AllowList, deadline: float, resolver: Resolver = resolve, *,
    setting: str = "ASLANT_HTTP_ALLOW",
) -> socket.socket:
    """A connection to the first permitted address that answers; `deadline` is monotonic, and the socket's timeout too.
    `setting` is the variable that `allow` comes from.

    Raises AuthorizationError for a host without a permitted address, NetworkError, StepTimeout.
    """
    found = in_time(lambda: resolver(host, port), Target("tcp", host, port, ""), deadline)
    permitted = [each for each in found if allow.permits(host, each)]
    if not permitted:
        raise AuthorizationError(f"{host} leads to an address that is not public; {setting} can open it")
    for address in permitted[:_TRIES]:
        left = deadline - time.monotonic()
        if left <= 0:
            break
        try:
            return socket.create_connection((str(address), port), left)
        except OSError:
            continue
    if time.monotonic() >= deadline:
        raise StepTimeout(f"{host}:{port} did not answer in time")
    raise NetworkError(f"{host}:{port} did not answer")
