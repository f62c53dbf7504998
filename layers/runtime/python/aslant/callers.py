"""Who calls, by the token that comes with a request."""

from __future__ import annotations

from aslant import bootstrap
from aslant.access import Caller, caller_of
from aslant.errors import AuthenticationError
from aslant.settings import Settings


def authenticated(header: str, settings: Settings) -> Caller:
    """Who an Authorization header stands for. Raises AuthenticationError."""
    kind, _, token = header.partition(" ")
    if kind.lower() != "bearer" or not token.strip():
        raise AuthenticationError("send a token: Authorization: Bearer …")
    claims = bootstrap.tokens(settings).claims(token.strip())
    return caller_of(claims, tenant_claim=settings.tenant_claim, roles_claim=settings.roles_claim)
