"""Who may do what. A caller comes from a verified token alone; its tenant bounds all that it can see.

One table says what a role may do; whoever made a thing may do everything with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from aslant.errors import AuthenticationError, AuthorizationError

Role = Literal["admin", "editor", "viewer", "approver"]
Action = Literal["read", "create", "update", "delete", "execute", "approve", "audit"]

ROLES: Mapping[Role, frozenset[Action]] = {
    "admin": frozenset(("read", "create", "update", "delete", "execute", "approve", "audit")),
    "editor": frozenset(("read", "update", "execute")),
    "viewer": frozenset(("read",)),
    "approver": frozenset(("read", "approve")),
}
_OWNERS: frozenset[Action] = frozenset(("read", "update", "delete", "execute"))
_LONGEST = 200  # characters of a tenant or user


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody with a valid token. `groups` are all that the token says, those that are no roles among them."""

    tenant: str
    user: str
    roles: frozenset[Role]
    groups: frozenset[str] = frozenset()
    email: str = ""

    def may(self, action: Action, owner: str = "") -> bool:
        """Whether it may do this with something that `owner` made."""
        if any(action in ROLES[role] for role in self.roles):
            return True
        return bool(owner) and owner == self.user and action in _OWNERS

    def require(self, action: Action, owner: str = "") -> None:
        """Raises AuthorizationError."""
        if not self.may(action, owner):
            having = ", ".join(sorted(self.roles)) or "no role"
            raise AuthorizationError(f"{self.user} ({having}) may not {action} this")


def caller_of(claims: Mapping[str, Any], *, tenant_claim: str, roles_claim: str) -> Caller:
    """The caller that the claims of a verified token name. Raises AuthenticationError when they name nobody."""
    tenant, user = claims.get(tenant_claim), claims.get("username") or claims.get("sub")
    for name, value in ((tenant_claim, tenant), ("sub", user)):
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not value.isprintable():
            raise AuthenticationError(f"the token has no usable claim {name}")
    groups = frozenset(_texts(claims.get(roles_claim)))
    email = claims.get("email") if claims.get("email_verified") is not False else None
    roles = frozenset(role for role in ROLES if role in groups)
    return Caller(str(tenant), str(user), roles, groups, email if isinstance(email, str) else "")


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return value.replace(",", " ").strip("[]").split()  # API Gateway writes a list as [one two]
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else ()
