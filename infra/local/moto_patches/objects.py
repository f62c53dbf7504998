"""S3: an object that is overwritten while somebody still works with it."""

from __future__ import annotations

from typing import Any

from infra.local.moto_patches.registry import patch


@patch(
    "moto.s3.models:FakeKey.dispose",
    gap="putting an object closes the file of the one it replaces, which another request may be about to read",
    fingerprint="3e18a93bddaa",
)
def dispose(self: Any, garbage: bool = False) -> None:
    if garbage:  # nobody has it any more
        self._value_buffer.close()
        self.disposed = True
