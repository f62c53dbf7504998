"""Tokens against the keys that their issuer publishes, read over HTTP as from a real one."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

from aslant.adapters import jwt_tokens
from aslant.adapters.jwt_tokens import JwtTokens
from aslant.errors import AuthenticationError


def test_keys_are_replaced_and_taken_back() -> None:
    served: dict[str, Any] = {"keys": []}
    private = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("old", "new")}

    def publish(*names: str) -> None:
        served["keys"] = [json.loads(ECAlgorithm.to_jwk(private[name].public_key())) | {"kid": name, "alg": "ES256"} for name in names]

    def token(name: str) -> str:
        now = int(time.time())
        claims = {"iss": "issuer", "aud": "us", "sub": "ann", "iat": now, "exp": now + 60}
        return jwt.encode(claims, private[name], algorithm="ES256", headers={"kid": name})

    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(served).encode())

        def log_message(self, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Keys) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            tokens = JwtTokens("issuer", "us", f"http://127.0.0.1:{server.server_port}/keys")
            publish("old")
            assert tokens.claims(token("old"))["sub"] == "ann"
            jwt_tokens._client(tokens.keys).cooldown_duration = 0  # its half minute is over
            with pytest.raises(AuthenticationError):
                tokens.claims(token("new"))
            publish("old", "new")
            assert tokens.claims(token("new"))["sub"] == tokens.claims(token("old"))["sub"] == "ann", "at once, both count"
            publish("new")
            cache = jwt_tokens._client(tokens.keys).jwk_set_cache
            assert cache is not None
            cache.lifespan = 0  # its time is over
            assert tokens.claims(token("new"))["sub"] == "ann"
            with pytest.raises(AuthenticationError):
                tokens.claims(token("old"))
        finally:
            server.shutdown()
