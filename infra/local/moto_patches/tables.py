"""DynamoDB: writes with a condition are atomic, also between threads."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from infra.local.moto_patches.registry import patch

_lock = threading.RLock()


@patch(
    "moto.dynamodb.responses:DynamoHandler.call_action",
    gap="a condition is checked before the write, and nothing keeps two threads from both passing it",
    fingerprint="ce5f57cf83cd",
    wraps=True,
)
def one_at_a_time(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call_action(self: Any) -> Any:
        with _lock:
            return original(self)

    return call_action
