"""KMS: keys that only encrypt are made at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from infra.local.moto_patches.registry import patch


@patch(
    "moto.kms.models:generate_private_key",
    gap="every key gets an RSA key (90 ms), also the symmetric one that never uses it",
    fingerprint="cdf2b67aac14",
    wraps=True,
)
def private_key(original: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda key_spec: None if key_spec == "SYMMETRIC_DEFAULT" else original(key_spec)
