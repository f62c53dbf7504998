"""JSON Web Tokens (RFC 7519), checked against the keys that their issuer publishes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aslant.errors import AuthenticationError, NetworkError

if TYPE_CHECKING:
    from jwt import PyJWKClient

ALGORITHMS = ("RS256", "ES256", "PS256")  # what the key's kind allows; never what a token asks for beyond these
_LEEWAY = 30      # seconds that clocks may differ
_LONGEST = 8192   # characters of a token
_KEPT = 300       # seconds that published keys are kept; an unknown key id fetches them again, every half minute at most


@dataclass(frozen=True, slots=True)
class JwtTokens:
    """`issuer` and `audience` are what a token must say. `keys` is the address of the JSON Web Key Set (RFC 7517)."""

    issuer: str
    audience: str
    keys: str

    def claims(self, token: str) -> Mapping[str, Any]:
        """The claims of a valid token. Raises AuthenticationError, and NetworkError when the keys cannot be read."""
        import jwt

        if len(token) > _LONGEST:
            raise AuthenticationError("the token is too long")
        try:
            key = _client(self.keys).get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token, key, algorithms=ALGORITHMS, audience=self.audience, issuer=self.issuer, leeway=_LEEWAY,
                options={"require": ["exp", "iat", "sub", "aud", "iss"]},
            )
        except jwt.PyJWKClientConnectionError:
            raise NetworkError("the keys of the token's issuer cannot be read") from None
        except (jwt.PyJWTError, ValueError, TypeError) as error:
            raise AuthenticationError(f"the token is not valid: {error}") from None
        return claims


@functools.cache
def _client(address: str) -> PyJWKClient:
    from jwt import PyJWKClient

    # Not `cache_keys`: that keeps a key for good, also one that its issuer has taken back.
    return PyJWKClient(address, lifespan=_KEPT, timeout=5)
