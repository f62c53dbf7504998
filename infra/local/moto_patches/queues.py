"""SQS: whoever reads a queue is told of its messages; nothing gets lost between threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.local.moto_patches.registry import patch
from infra.local.runtime import current

_QUEUE = "moto.sqs.models:Queue."


@patch(_QUEUE + "add_message", gap="nobody is told of a message", fingerprint="f27c9231c1f2", wraps=True)
def add_message(original: Callable[..., None]) -> Callable[..., None]:
    def add(self: Any, message: Any) -> None:
        original(self, message)
        if (queues := current().queues) is not None:
            queues.added(self.name, message)

    return add


@patch(
    _QUEUE + "delete_message", gap="a message that comes while another is deleted gets lost", fingerprint="fa6fd5b9bd2c",
    wraps=True,
)
def delete_message(original: Callable[..., None]) -> Callable[..., None]:
    def delete(self: Any, receipt_handle: str) -> None:
        with self._messages_lock:
            before = {message.id for message in self._messages}
            original(self, receipt_handle)
            gone = before - {message.id for message in self._messages}
        if (queues := current().queues) is not None:
            queues.deleted(self.name, sorted(gone))

    return delete
