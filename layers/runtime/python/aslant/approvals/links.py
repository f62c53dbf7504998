"""Signed links to answer an approval: each for one person and one answer, until the request expires.

A link is `<base>/approvals/answer?l=<content>.<signature>`; it holds no token and opens nothing but this one question, and
since a person's first answer counts, it works once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
from dataclasses import dataclass
from typing import NamedTuple

from aslant.approvals.rules import Decision
from aslant.errors import ApprovalClosed, AuthorizationError

PATH = "/approvals/answer"


class Link(NamedTuple):
    """What a link says: who answers what in whose name. `expires` is epoch seconds."""

    tenant: str
    approval: str
    person: str
    decision: Decision
    expires: int
    answer: str | None = None  # the option, for a multiple choice


@dataclass(frozen=True, slots=True)
class Links:
    """Makes and reads links with one secret of the installation."""

    base: str
    secret: bytes

    def write(self, link: Link) -> str:
        content = _encode(json.dumps(list(link), ensure_ascii=False, separators=(",", ":")).encode())
        return f"{self.base.rstrip('/')}{PATH}?l={content}.{self._sign(content)}"

    def read(self, text: str, now: float) -> Link:
        """What the value of `l` says. Raises AuthorizationError for one that is not ours, ApprovalClosed for an old one."""
        content, _, signature = text.partition(".")
        if not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), self._sign(content).encode()):
            raise AuthorizationError("this link was not made here")
        try:
            link = Link(*json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4))))
        except (ValueError, TypeError, binascii.Error):
            raise AuthorizationError("this link was not made here") from None
        if now >= link.expires:
            raise ApprovalClosed("this link has expired")
        return link

    def _sign(self, content: str) -> str:
        data = b"aslant approval link\x00" + content.encode("utf-8", "surrogatepass")
        return _encode(hmac.new(self.secret, data, hashlib.sha256).digest())


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")
