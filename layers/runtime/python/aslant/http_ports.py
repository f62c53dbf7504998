"""What http steps and webhooks need from the outside. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ClientTls:
    """The client's certificate and key, and authorities that are trusted besides the public ones: texts in PEM form."""

    certificate: str = ""
    key: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    ca: str = ""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`headers` and `tls` stay with the first origin, except for harmless ones. `timeout` is seconds for everything."""

    method: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    timeout: float = 30.0
    max_bytes: int = 5_000_000
    max_redirects: int = 10
    tls: ClientTls | None = None
    on_data: Callable[[bytes], None] | None = None  # told the body of a 2xx answer as it comes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An answer of any status. `headers` have lower-case names; `url` is where the last redirect led."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    url: str


class Http(Protocol):
    def send(self, request: HttpRequest) -> HttpResponse:
        """The answer, of any status.

        Raises ValidationError (the address), AuthorizationError (a private address), NetworkError, StepTimeout or
        PayloadTooLarge.
        """


@dataclass(frozen=True, slots=True)
class AwsKeys:
    """What a request is signed with, and for."""

    access_key: str
    secret_key: str = field(repr=False)
    session_token: str = field(repr=False)
    region: str
    service: str


class Signer(Protocol):
    def sign(self, request: HttpRequest, keys: AwsKeys) -> HttpRequest:
        """The request with the headers of AWS's Signature Version 4. Raises ValidationError (the address)."""
