"""boto3 clients: made on first use, one per service and region, and kept for the life of the process."""

from __future__ import annotations

import threading
from typing import Any, cast

_lock = threading.Lock()
_clients: dict[tuple[str, str], Any] = {}


def client(service: str, region: str, *, read_timeout: float = 60) -> Any:
    """The boto3 client of a service. boto3 is imported here: it takes longer than everything else in a function."""
    key = (service, region)
    with _lock:  # making clients is not thread-safe, using them is
        if key not in _clients:
            import boto3
            from botocore.config import Config

            config = Config(connect_timeout=5, read_timeout=read_timeout, retries={"max_attempts": 3, "mode": "standard"})
            _clients[key] = cast(Any, boto3).client(service, region_name=region, config=config)
        return _clients[key]


def error_code(error: Exception) -> str:
    """The code of a botocore ClientError, or an empty text."""
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


def forget() -> None:
    """Drops all clients, so that the next use sees the environment (credentials, endpoints) as it is then."""
    with _lock:
        _clients.clear()
