"""boto3 clients: made on first use, one per service, region and credentials, and kept for the life of the process."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import Any, NamedTuple, cast

_lock = threading.Lock()
_clients: dict[tuple[Any, ...], Any] = {}
_CONFINED = frozenset({"dynamodb", "s3"})  # services whose requests are those of a tenant


class Credentials(NamedTuple):
    access_key: str
    secret_key: str
    token: str


_credentials: ContextVar[Credentials | None] = ContextVar("credentials", default=None)


def confine(credentials: Credentials | None) -> None:
    """Tables and the bucket are reached with these credentials from now on, in this thread; None ends that."""
    _credentials.set(credentials)


def client(service: str, region: str, *, read_timeout: float = 60, endpoint: str | None = None) -> Any:
    """The boto3 client of a service. boto3 is imported here: it takes longer than everything else in a function."""
    own = _credentials.get() if service in _CONFINED else None
    key = (service, region, own, endpoint)
    with _lock:  # making clients is not thread-safe, using them is
        if key not in _clients:
            import boto3
            from botocore.config import Config

            config = Config(connect_timeout=5, read_timeout=read_timeout, retries={"max_attempts": 3, "mode": "standard"})
            given: dict[str, Any] = {} if endpoint is None else {"endpoint_url": endpoint}
            given |= {} if own is None else {
                "aws_access_key_id": own.access_key, "aws_secret_access_key": own.secret_key, "aws_session_token": own.token,
            }  # fmt: skip
            _clients[key] = cast(Any, boto3).client(service, region_name=region, config=config, **given)
        return _clients[key]


def error_code(error: Exception) -> str:
    """The code of a botocore ClientError, or an empty text."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def forget() -> None:
    """Drops all clients, so that the next use sees the environment (credentials, endpoints) as it is then."""
    with _lock:
        _clients.clear()
