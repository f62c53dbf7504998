"""Who signs the tokens of a local API: a key of the data directory, made on first use."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aslant.settings import Settings

ISSUER = "aslant-local"
PATH = "/.well-known/jwks.json"  # of the API, where its function reads the keys
_KEY = "token-key.pem"
_ID = "local"


@dataclass(frozen=True, slots=True)
class Issuer:
    """`folder` is the data directory of `aslant dev`."""

    folder: Path

    def keys(self) -> bytes:
        """The public key, as a JSON Web Key Set (RFC 7517)."""
        from cryptography.hazmat.primitives import serialization
        from jwt.algorithms import ECAlgorithm

        key: Any = serialization.load_pem_private_key(self._key().encode(), None)
        public = json.loads(ECAlgorithm.to_jwk(key.public_key())) | {"kid": _ID, "use": "sig", "alg": "ES256"}
        return json.dumps({"keys": [public]}).encode()

    def token(self, *, tenant: str, user: str, roles: Sequence[str], seconds: int, settings: Settings) -> str:
        """A signed token that is good for so many seconds."""
        import jwt

        now = int(time.time())
        claims = {
            "iss": ISSUER, "aud": settings.token_audience, "sub": user, "iat": now, "exp": now + seconds,
            settings.tenant_claim: tenant, settings.roles_claim: list(roles),
        }
        return jwt.encode(claims, self._key(), algorithm="ES256", headers={"kid": _ID})

    def _key(self) -> str:
        """The private key (PEM). Of two processes that make one, one wins."""
        path = self.folder / _KEY
        if not path.exists():
            self._make(path)
        return path.read_text(encoding="ascii")

    def _make(self, path: Path) -> None:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ec

        key = ec.generate_private_key(ec.SECP256R1())
        text = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_bytes(text)
        beside.chmod(0o600)
        try:
            os.link(beside, path)
        except FileExistsError:
            return
        finally:
            beside.unlink()
