"""HTTP for steps: only to permitted addresses, which are checked after DNS and pinned for the connection, on every hop;
bounded in size, time and decompression. Nothing is kept between two requests.
"""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import queue
import re
import socket
import ssl
import tempfile
import threading
import time
import urllib.parse
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aslant.addresses import Address, AllowList
from aslant.errors import (
    AuthorizationError,
    HttpError,
    NetworkError,
    PayloadTooLarge,
    StepError,
    StepTimeout,
    ValidationError,
)
from aslant.http_ports import ClientTls, HttpRequest, HttpResponse

Resolver = Callable[[str, int], Sequence[Address]]

_SAFE_HEADERS = frozenset({"accept", "accept-language", "accept-encoding", "content-type", "user-agent"})
_HOST = re.compile(r"[A-Za-z0-9_.:-]+\Z")
_NETLOC = re.compile(r"(?:\[[^\[\]]+\]|[^\[\]]+)(?::[0-9]*)?\Z")
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TRIES = 4        # addresses of one host that are tried
_CHUNK = 65_536
_OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer",
                          "upgrade", "expect"})  # of one connection: the client writes them itself, or there are none


def resolve(host: str, port: int) -> list[Address]:
    """The addresses of a host, as the system's resolver gives them. Raises NetworkError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise NetworkError(f"the host {host} has no address") from None
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    return list(dict.fromkeys(addresses))


@dataclass(frozen=True, slots=True)
class Target:
    """One hop's address, taken apart. `shown` is the address without what may be secret (user, query, fragment)."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def origin(self) -> tuple[str, str, int]:
        return (self.scheme, self.host, self.port)

    @property
    def shown(self) -> str:
        return f"{self.scheme}://{self.authority}{self.path.partition('?')[0]}"

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.scheme == "https" else 80) else f"{host}:{self.port}"


def target(url: str) -> Target:
    """An address taken apart. Raises ValidationError when it is not a plain http or https address."""
    if any(character <= " " or character == "\x7f" for character in url):
        raise ValidationError("the url holds spaces or control characters")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValidationError("the url is not an address") from None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https"):
        raise ValidationError("the url must start with http:// or https://")
    if "@" in parts.netloc or "\\" in url:
        raise ValidationError("the url holds a user name or a backslash; credentials belong into auth")
    host = (parts.hostname or "").rstrip(".")
    if not host or port == 0:
        raise ValidationError("the url has no host" if not host else "the url's port is 0")
    try:
        host = host if ":" in host else host.encode("idna").decode()
        if ":" in host or parts.netloc.startswith("["):
            ipaddress.IPv6Address(host)
    except ValueError:
        host = ""
    if not _HOST.match(host) or not _NETLOC.match(parts.netloc):
        raise ValidationError("the url's host is not a valid name")
    path = urllib.parse.quote(parts.path or "/", safe="/%:@!$&'()*+,;=~-._")
    if parts.query:
        path += "?" + urllib.parse.quote(parts.query, safe="/%:@!$&'()*+,;=~-._?[]")
    return Target(scheme, host, port or (443 if scheme == "https" else 80), path)


@dataclass(frozen=True, slots=True)
class GuardedHttp:
    """`allow` opens private addresses (see `AllowList`); `ca_file` adds certificates that are trusted."""

    allow: Sequence[str] = ()
    resolver: Resolver = resolve
    ca_file: str | None = None
    _allowed: AllowList = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_allowed", AllowList.of(self.allow))

    def send(self, request: HttpRequest) -> HttpResponse:
        deadline = time.monotonic() + request.timeout
        here = target(request.url)
        for _ in range(request.max_redirects + 1):
            response = self._one(here, request, deadline)
            location = response.headers.get("location")
            if response.status not in _REDIRECTS or not location or request.max_redirects == 0:
                return response
            there = _next(here, response.url, location)
            request = _redirected(request, response.status, same=there.origin == here.origin)
            if request.body is not None and (here.scheme, there.scheme) == ("https", "http"):
                raise HttpError(f"{here.shown} redirects the body to {there.shown}, which is not encrypted")
            here = there
        raise HttpError(f"{request.method} {here.shown}: more than {request.max_redirects} redirects")

    def _one(self, here: Target, request: HttpRequest, deadline: float) -> HttpResponse:
        found = in_time(lambda: self.resolver(here.host, here.port), here, deadline)
        permitted = [each for each in found if self._allowed.permits(here.host, each)]
        if not permitted:
            raise AuthorizationError(
                f"{here.shown} leads to an address that is not public; ASLANT_HTTP_ALLOW can open it"
            )
        failure: StepError = NetworkError(f"{here.shown} did not answer")
        for address in permitted[:_TRIES]:
            try:
                return self._exchange(here, address, request, deadline)
            except _NotConnected as error:
                failure = error.reason
        raise failure

    def _exchange(self, here: Target, address: Address, request: HttpRequest, deadline: float) -> HttpResponse:
        """One request to one address that was checked; the connection is made to that address and no other."""
        import urllib3.connection
        import urllib3.exceptions

        timeout = _left(deadline, here)
        options: dict[str, Any] = {"host": str(address), "port": here.port, "timeout": timeout}
        connection: urllib3.connection.HTTPConnection
        if here.scheme == "https":
            context = _trusting(request.tls, self.ca_file, here)
            connection = urllib3.connection.HTTPSConnection(
                **options, server_hostname=here.host, assert_hostname=here.host, ssl_context=context
            )
        else:
            connection = urllib3.connection.HTTPConnection(**options)
        # urllib3 logs headers that cannot be read together with the whole address, which may hold secrets.
        logging.getLogger("urllib3.connection").addFilter(_nothing)
        connected = False
        try:
            try:
                connection.connect()
            except (OSError, urllib3.exceptions.HTTPError) as error:
                raise _NotConnected(_transport(error, here, deadline)) from None
            except ValueError as error:  # urllib3's CertificateError; Python's own are OSError as well as ValueError
                raise NetworkError(f"{here.shown}: the certificate is not for this host") from error
            connected = True
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN_HEADERS}
            headers["Host"] = here.authority
            if not any(name.lower() == "accept-encoding" for name in headers):
                headers["Accept-Encoding"] = "gzip, deflate"
            with _cut_off(connection, deadline):
                connection.request(request.method, here.path, body=request.body, headers=headers,
                    preload_content=False, decode_content=False)
                answer = connection.getresponse()
                lower = _headers(answer.headers.items())
                told = request.on_data if answer.status // 100 == 2 else None
                body = b"" if request.method == "HEAD" else _body(answer, lower, request.max_bytes, here, told)
            return HttpResponse(answer.status, lower, body, f"{here.scheme}://{here.authority}{here.path}")
        except (OSError, ValueError, urllib3.exceptions.HTTPError, zlib.error) as error:
            raise _transport(error, here, deadline) from None
        except Exception as error:
            if connected and type(error).__module__ == "http.client":
                raise _transport(error, here, deadline) from None
            raise
        finally:
            connection.close()


def _trusting(tls: ClientTls | None, ca_file: str | None, here: Target) -> ssl.SSLContext:
    """What TLS is spoken with. Raises ValidationError for certificates that cannot be read."""
    context = ssl.create_default_context(cafile=ca_file)
    if tls is None:
        return context
    try:
        if tls.ca:
            context.load_verify_locations(cadata=tls.ca)
        if tls.certificate:
            # OpenSSL takes files only. It would ask on the terminal for a password that is not given.
            with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
                file.write(f"{tls.certificate.strip()}\n{tls.key.strip()}\n")
                file.flush()
                context.load_cert_chain(file.name, password=lambda: tls.password)
    except (OSError, ValueError):
        raise ValidationError(f"{here.shown}: the certificates or the key of `tls` cannot be read") from None
    return context


class _UnknownEncoding(ValueError):
    """A Content-Encoding other than gzip and deflate; its text is that."""


class _NotConnected(Exception):
    """No connection to one address; another address of the host may do."""

    def __init__(self, reason: StepError) -> None:
        super().__init__(str(reason))
        self.reason = reason


def in_time(look_up: Callable[[], Sequence[Address]], here: Target, deadline: float) -> Sequence[Address]:
    """A look-up's answer, if it comes before the deadline: the system's resolver takes no time limit."""
    answers: queue.SimpleQueue[Sequence[Address] | Exception] = queue.SimpleQueue()

    def work() -> None:
        try:
            answers.put(look_up())
        except Exception as error:  # noqa: BLE001 - it is raised again where it was waited for
            answers.put(error)

    threading.Thread(target=work, daemon=True).start()
    try:
        answer = answers.get(timeout=_left(deadline, here))
    except queue.Empty:
        raise StepTimeout(f"the address of {here.host} was not found in time") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _nothing(record: logging.LogRecord) -> bool:
    return False


@contextlib.contextmanager
def _cut_off(connection: Any, deadline: float) -> Iterator[None]:
    """Shuts the socket down at the deadline: a read's own timeout starts anew with each byte that drips in."""
    sock = connection.sock

    def cut() -> None:
        with contextlib.suppress(OSError):
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if time.monotonic() >= deadline:
        raise TimeoutError


def _transport(error: Exception, here: Target, deadline: float) -> StepError:
    name = type(error).__name__
    if isinstance(error, TimeoutError) or "Timeout" in name or time.monotonic() >= deadline:
        return StepTimeout(f"{here.shown} did not answer in time")
    if isinstance(error, ssl.SSLError) or name == "SSLError":
        cause = getattr(error, "verify_message", "") or getattr(error, "reason", "") or name
        return NetworkError(f"{here.shown}: the TLS connection failed: {cause}")
    if isinstance(error, _UnknownEncoding):
        return HttpError(f"{here.shown} sent a body that is encoded as {error}, which is not read")
    if isinstance(error, zlib.error):
        return NetworkError(f"{here.shown} sent a body that cannot be decompressed")
    if isinstance(error, ValueError):
        return ValidationError(f"{here.shown}: the request has a header or method that cannot be sent")
    return NetworkError(f"{here.shown}: the connection failed: {name}")


def _left(deadline: float, here: Target) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise StepTimeout(f"{here.shown} did not answer in time")
    return left


def _next(here: Target, base: str, location: str) -> Target:
    """Where a redirect leads. Servers write UTF-8 and spaces into it, although they should not."""
    with contextlib.suppress(UnicodeError):
        location = location.encode("latin-1").decode()
    try:
        return target(urllib.parse.urljoin(base, location.strip().replace(" ", "%20")))
    except ValueError:
        raise ValidationError(f"{here.shown} redirects to what is no address") from None
    except ValidationError as error:
        raise ValidationError(f"{here.shown} redirects elsewhere than to http and https: {error}") from None


def _redirected(request: HttpRequest, status: int, *, same: bool) -> HttpRequest:
    """The next hop's request: another origin never gets headers that may identify, a 303 never gets the body."""
    headers = dict(request.headers)
    method, body = request.method, request.body
    if status == 303 and method != "HEAD" or (status in (301, 302) and method == "POST"):
        method, body = "GET", None
        headers = {name: value for name, value in headers.items() if name.lower() != "content-type"}
    if not same:
        headers = {name: value for name, value in headers.items() if name.lower() in _SAFE_HEADERS}
    return replace(request, method=method, body=body, headers=headers, tls=request.tls if same else None)


def _headers(items: Any) -> Mapping[str, str]:
    """Lower-case names; a header that is repeated is joined by commas."""
    found: dict[str, str] = {}
    for name, value in items:
        key = str(name).lower()
        found[key] = f"{found[key]}, {value}" if key in found else str(value)
    return found


def _body(
    answer: Any, headers: Mapping[str, str], limit: int, here: Target, told: Callable[[bytes], None] | None
) -> bytes:
    """Bounded as it arrives too: what is compressed can be endless and say nothing."""
    raw = _bounded(_raw(answer), limit + _CHUNK, here)
    pieces = []
    for piece in _bounded(_decoded(raw, headers.get("content-encoding", "")), limit, here):
        pieces.append(piece)
        if told is not None:
            told(piece)
    return b"".join(pieces)


def _raw(answer: Any) -> Iterator[bytes]:
    while chunk := answer.read1(_CHUNK, decode_content=False):
        yield chunk


def _decoded(chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
    """Decompresses in pieces of at most 64 KiB, however much a chunk would become."""
    names = [name.strip().lower() for name in encoding.split(",") if name.strip() not in ("", "identity")]
    if not names:
        yield from chunks
        return
    if len(names) > 1 or names[0] not in ("gzip", "x-gzip", "deflate"):
        raise _UnknownEncoding(encoding[:40])
    engine = None
    for chunk in chunks:
        data = chunk
        while data:
            if engine is None:
                engine = zlib.decompressobj(_window(names[0], data))
            piece = engine.decompress(data, _CHUNK)
            if piece:
                yield piece
            data = engine.unconsumed_tail
            if engine.eof:
                data, engine = engine.unused_data, None
    if engine is not None and not engine.eof:
        raise zlib.error("the body ends early")


def _window(name: str, start: bytes) -> int:
    """zlib's window: gzip, zlib, or raw deflate, which some servers call deflate too."""
    if name != "deflate":
        return 31
    return 15 if len(start) < 2 or (start[0] & 15 == 8 and (start[0] * 256 + start[1]) % 31 == 0) else -15


def _bounded(chunks: Iterator[bytes], limit: int, here: Target) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        if total > limit:
            raise PayloadTooLarge(f"{here.shown} sent more than {limit:,} bytes")
        yield chunk
