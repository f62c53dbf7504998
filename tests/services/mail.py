"""A real mail server on loopback: aiosmtpd, with certificates and a login of its own."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword

from tests.services.servers import free_ports

USER, PASSWORD = "robot", "pass-word-1"


@dataclass
class MailServer:
    """`letters` are what it took; `answers` are replies to commands (`RCPT`, `DATA`) other than that all is well."""

    port: int
    letters: list[Envelope] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)
    users: list[str] = field(default_factory=list)
    encrypted: list[bool] = field(default_factory=list)

    async def handle_RCPT(self, server: Any, session: Any, envelope: Envelope, address: str, options: Any) -> str:
        envelope_answer = self.answers.get(address, self.answers.get("RCPT", ""))
        if not envelope_answer:
            envelope.rcpt_tos.append(address)
        return envelope_answer or "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        if "DATA" in self.answers:
            return self.answers["DATA"]
        self.encrypted.append(session.ssl is not None)
        self.letters.append(envelope)
        return "250 taken"

    def login(self, server: Any, session: Any, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        assert isinstance(data, LoginPassword)
        self.users.append(data.login.decode())
        return AuthResult(success=(data.login, data.password) == (USER.encode(), PASSWORD.encode()), handled=False)


@contextmanager
def mail_server(certificate: str, key: str, *, tls: bool = False, starttls: bool = True, login: bool = True) -> Iterator[MailServer]:
    """A server that listens; with `login` it takes letters only from who has logged in, after encryption."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    (port,) = free_ports(1)
    server = MailServer(port)
    controller = Controller(
        server, hostname="127.0.0.1", port=port, ssl_context=context if tls else None,
        tls_context=context if starttls and not tls else None, require_starttls=starttls and not tls, auth_required=login,
        authenticator=server.login, auth_require_tls=not tls, data_size_limit=100_000,
    )
    controller.start()
    try:
        yield server
    finally:
        controller.stop()
