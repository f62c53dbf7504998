"""Emails by a mail server (SMTP): encrypted before anything is said, at an address that is checked and pinned."""

from __future__ import annotations

import contextlib
import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from aslant.adapters.guarded_http import Resolver, resolve
from aslant.adapters.pinned import connect
from aslant.addresses import AllowList
from aslant.errors import (
    AuthenticationError,
    NetworkError,
    PayloadTooLarge,
    ServerError,
    StepError,
    StepTimeout,
    ValidationError,
)
from aslant.mail_ports import Envelope

_LONGEST_REPLY = 100_000  # bytes
_TOO_LARGE, _NO_LOGIN = 552, (530, 534, 535, 538)


@dataclass(frozen=True, slots=True)
class SmtpPost:
    """`security` is starttls, tls or none; `allow` opens private addresses (see `AllowList`)."""

    host: str
    port: int
    security: str
    username: str = ""
    password: str = ""
    allow: Sequence[str] = ()
    resolver: Resolver = resolve

    def carry(self, envelope: Envelope, message: bytes, timeout: float) -> tuple[str, Sequence[str]]:
        """A mail server gives no id: the message's own one stands for it."""
        deadline = time.monotonic() + timeout
        try:
            with self._session(deadline) as session:
                refused = session.sendmail(_plain(envelope.sender), envelope.recipients, message)
        except (smtplib.SMTPException, OSError, ValueError) as error:
            raise self._error(error, deadline) from None
        return "", list(refused)

    @contextlib.contextmanager
    def _session(self, deadline: float) -> Iterator[smtplib.SMTP]:
        context = ssl.create_default_context()
        sock = connect(self.host, self.port, AllowList.of(self.allow), deadline, self.resolver)
        session: smtplib.SMTP | None = None
        # The time limit of a socket starts anew with each byte that drips in; this one does not.
        handle = sock.dup()  # TLS takes the socket over
        timer = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, (handle,))
        timer.daemon = True
        timer.start()
        try:
            if self.security == "tls":
                sock = context.wrap_socket(sock, server_hostname=self.host)
            session = _Session(self.host, self.port, sock)
            if self.security == "starttls":
                session.starttls(context=context)
            if self.username:
                session.login(self.username, self.password)
            yield session
            with contextlib.suppress(smtplib.SMTPException, OSError):
                session.quit()
        finally:
            timer.cancel()
            if session is not None:
                session.close()
            sock.close()
            handle.close()

    def _error(self, error: Exception, deadline: float) -> StepError:
        where = f"the mail server {self.host}:{self.port}"
        if time.monotonic() >= deadline or isinstance(error, TimeoutError):
            return StepTimeout(f"{where} did not answer in time")
        if isinstance(error, ssl.SSLError):
            return NetworkError(f"{where}: the TLS connection failed: {getattr(error, 'verify_message', '') or error.reason}")
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            code, text = next(iter(error.recipients.values()))
            return _refused(int(code), f"{where} refuses every recipient: {code} {_text(text)}")
        if isinstance(error, smtplib.SMTPResponseException):
            if error.smtp_code < 200 or isinstance(error.smtp_error, str):  # the library's own words: it is no reply
                return NetworkError(f"{where} does not answer as mail servers do")
            return _refused(error.smtp_code, f"{where} answered {error.smtp_code} {_text(error.smtp_error)}")
        if isinstance(error, smtplib.SMTPNotSupportedError):
            return ValidationError(f"{where} does not offer what is needed: {error}")
        if isinstance(error, smtplib.SMTPException) and not isinstance(error, smtplib.SMTPServerDisconnected):
            return AuthenticationError(f"{where} takes no login that is known here")
        return NetworkError(f"{where}: the connection failed: {type(error).__name__}")


class _Session(smtplib.SMTP):
    """A session on a connection that exists already. The server's name stays the one that certificates are for."""

    def __init__(self, host: str, port: int, sock: socket.socket) -> None:
        self._given = sock
        super().__init__(host, port, local_hostname="localhost")

    def _get_socket(self, host: str, port: int, timeout: Any) -> socket.socket:
        return self._given

    def getreply(self) -> tuple[int, bytes]:
        """As it is, but a reply has an end: the library would keep lines for as long as they come."""
        if self.file is None:
            assert self.sock is not None
            self.file = _Bounded(self.sock.makefile("rb"))
        self.file.left = _LONGEST_REPLY
        return super().getreply()


@dataclass(slots=True)
class _Bounded:
    """The reading side of a connection; `left` are the bytes that may still come."""

    file: BinaryIO
    left: int = _LONGEST_REPLY

    def readline(self, size: int) -> bytes:
        line = self.file.readline(size)
        self.left -= len(line)
        if self.left < 0:
            raise OSError("the reply has no end")
        return line

    def close(self) -> None:
        self.file.close()


def _refused(code: int, text: str) -> StepError:
    if code in _NO_LOGIN:
        return AuthenticationError(text)
    if code == _TOO_LARGE:
        return PayloadTooLarge(text)
    return ServerError(text) if 400 <= code < 500 else ValidationError(text)


def _text(answer: bytes | str) -> str:
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    return " ".join(text.split())[:300]


def _plain(sender: str) -> str:
    """The address alone, without the name in front."""
    return sender.rpartition("<")[2].rstrip(">")


def _cut(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
