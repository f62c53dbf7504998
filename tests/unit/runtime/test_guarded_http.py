"""The HTTP client's clock, TLS and transport."""

from __future__ import annotations

import datetime
import gzip
import ipaddress
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from aslant.adapters.guarded_http import GuardedHttp
from aslant.errors import HttpError, NetworkError, PayloadTooLarge, StepError, StepTimeout, ValidationError
from aslant.http_ports import ClientTls, HttpRequest

Talk = Callable[[socket.socket], None]


class Raw:
    """A server that talks bytes."""

    def __init__(self, talk: Talk, context: ssl.SSLContext | None = None) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stop = threading.Event()

        def serve() -> None:
            while True:
                try:
                    connection, _ = self.listener.accept()
                    with context.wrap_socket(connection, server_side=True) if context else connection as secure:
                        talk(secure)
                except OSError:
                    if self.stop.is_set():
                        return

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()

    def close(self) -> None:
        self.stop.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(5)


@pytest.fixture
def raw() -> Iterator[Callable[..., Raw]]:
    servers: list[Raw] = []

    def start(talk: Talk, context: ssl.SSLContext | None = None) -> Raw:
        servers.append(Raw(talk, context))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def get(port: int, timeout: float = 5.0, scheme: str = "http", host: str = "127.0.0.1", ca: str | None = None):
    http = GuardedHttp(("127.0.0.1",), lambda name, number: [ipaddress.ip_address("127.0.0.1")], ca)
    return http.send(HttpRequest("GET", f"{scheme}://{host}:{port}/x", timeout=timeout))


def drip(piece: bytes) -> Talk:
    """Sends a byte every 50 ms, for 10 s at most."""

    def talk(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n" + piece)
        for _ in range(200):
            connection.sendall(b"x")
            time.sleep(0.05)

    return talk


@pytest.mark.parametrize("start", [b"\r\n", b"X-Slow: "], ids=["body", "headers"])
def test_an_answer_that_drips_in_ends_at_the_deadline(raw, start):
    before = time.monotonic()
    with pytest.raises(StepTimeout):
        get(raw(drip(start)).port, 0.5)
    assert time.monotonic() - before < 5


def test_silence_is_a_timeout_and_a_cut_or_garbled_answer_a_network_error(raw):
    def silent(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.recv(1)

    def cut(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")

    def garbled(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"\x00\x01\x02 what\r\n\r\n")

    with pytest.raises(StepTimeout):
        get(raw(silent).port, 0.2)
    with pytest.raises(NetworkError):
        get(raw(cut).port)
    with pytest.raises(NetworkError):
        get(raw(garbled).port)


def certificate(folder, name: str) -> tuple[str, str]:
    """A self-signed certificate and its key, as files."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    built = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "cert.pem", folder / "key.pem"
    files[0].write_bytes(built.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                           serialization.NoEncryption()))
    return str(files[0]), str(files[1])


def test_tls_checks_the_name_although_it_connects_to_an_address(raw, tmp_path):
    files = certificate(tmp_path, "api.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)

    def talk(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

    port = raw(talk, context).port
    assert get(port, scheme="https", host="api.example", ca=files[0]).body == b"hi"
    with pytest.raises(NetworkError):
        get(port, scheme="https", host="other.example", ca=files[0])
    with pytest.raises(NetworkError):
        get(port, scheme="https", host="api.example")


def test_a_certificate_of_the_client_is_for_its_first_host_and_nobody_else(raw, tmp_path):
    """The server asks for a certificate of its own authority; a redirect to another one must come without."""
    (tmp_path / "client").mkdir()
    files, mine = certificate(tmp_path, "api.example"), certificate(tmp_path / "client", "client.example")
    names: list[str | None] = []

    def context(mode: ssl.VerifyMode) -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(*files)
        made.load_verify_locations(mine[0])
        made.verify_mode = mode
        return made

    def talk(answer: bytes) -> Talk:
        def answered(connection: socket.socket) -> None:
            found = connection.getpeercert()
            names.append(found["subject"][0][0][1] if found else None)
            answering(answer)(connection)

        return answered

    other = raw(talk(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), context(ssl.CERT_OPTIONAL)).port
    moved = f"HTTP/1.1 302 Found\r\nLocation: https://api.example:{other}/y\r\nContent-Length: 0\r\n\r\n".encode()
    port = raw(talk(moved), context(ssl.CERT_REQUIRED)).port
    http = GuardedHttp(("127.0.0.1",), lambda name, number: [ipaddress.ip_address("127.0.0.1")], files[0])
    tls = ClientTls(Path(mine[0]).read_text(), Path(mine[1]).read_text())
    assert http.send(HttpRequest("GET", f"https://api.example:{port}/x", tls=tls)).body == b"hi"
    assert names == ["client.example", None]
    with pytest.raises(NetworkError):
        http.send(HttpRequest("GET", f"https://api.example:{port}/x"))
    for wrong in (ClientTls("no", "certificate"), ClientTls(tls.certificate, "no key"), ClientTls(ca="none")):
        with pytest.raises(ValidationError, match="tls"):
            http.send(HttpRequest("GET", f"https://api.example:{port}/x", tls=wrong))
    trusting = GuardedHttp(("127.0.0.1",), lambda name, number: [ipaddress.ip_address("127.0.0.1")])
    own = ClientTls(ca=Path(files[0]).read_text())
    assert trusting.send(HttpRequest("GET", f"https://api.example:{other}/x", tls=own)).body == b"hi"


def answering(data: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(data)

    return talk


def test_a_resolver_that_hangs_is_not_waited_for():
    free = threading.Event()
    try:
        with pytest.raises(StepTimeout):
            GuardedHttp((), lambda name, port: free.wait(20) and []).send(HttpRequest("GET", "http://slow.example/", timeout=0.2))
    finally:
        free.set()


def test_a_resolver_that_fails_says_why():
    def broken(name: str, port: int) -> list:
        raise NetworkError("the host has no address")

    with pytest.raises(NetworkError, match="no address"):
        GuardedHttp((), broken).send(HttpRequest("GET", "http://x.example/", timeout=5))


@pytest.mark.parametrize(("start", "piece"), [
    (b"", gzip.compress(b"")), (b"\x1f\x8b\x08\x10\0\0\0\0\0\xff", b"c" * 50_000),
], ids=["members", "comment"])
def test_what_is_compressed_to_nothing_is_bounded_as_it_arrives(raw, start, piece):
    def endless(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + start)
        for _ in range(2_000):
            connection.sendall(piece * (50_000 // len(piece) + 1))

    port = raw(endless).port
    http = GuardedHttp(("127.0.0.1",))
    with pytest.raises(PayloadTooLarge):
        http.send(HttpRequest("GET", f"http://127.0.0.1:{port}/", timeout=20, max_bytes=1000))


@pytest.mark.parametrize("bomb", [
    b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(bytes(30_000_000)),
    b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(bytes(30_000_000)),
    b"Content-Length: 10000000\r\n\r\n" + bytes(10_000_000),
    b"Transfer-Encoding: chunked\r\n\r\n" + b"10000\r\n" + bytes(65_536) + b"\r\n" + b"10000\r\n" + bytes(65_536) + b"\r\n0\r\n\r\n",
], ids=["gzip", "deflate", "length", "chunked"])
def test_bombs_are_cut_off(raw, bomb):
    port = raw(answering(b"HTTP/1.1 200 OK\r\n" + bomb)).port
    with pytest.raises(PayloadTooLarge):
        GuardedHttp(("127.0.0.1",)).send(HttpRequest(
            "GET", f"http://127.0.0.1:{port}/", timeout=20, max_bytes=100_000))


@pytest.mark.parametrize(("data", "kind"), [
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\n\r\n" + gzip.compress(gzip.compress(b"x", mtime=0), mtime=0), "HttpError"),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nxx", "HttpError"),
    (b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nxx", "NetworkError"),
    (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000 + b"\r\n", "NetworkError"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", "NetworkError"),
    (b"HTTP/1.1 100 Continue\r\n\r\n" * 1_000 + b"HTTP/1.1 200 " + b"y" * 100_000, "NetworkError"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n", "NetworkError"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n", "NetworkError"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -7\r\n\r\n", None),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", None),
    (b"HTTP/1.1 99999 OK\r\n\r\n", "NetworkError"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://[::1/\r\nContent-Length: 0\r\n\r\n", "ValidationError"),
    (b"HTTP/1.1 302 Found\r\nLocation: http://\xc3\xbc@x/\r\nContent-Length: 0\r\n\r\n", "ValidationError"),
    (b"HTTP/1.1 302 Found\r\nLocation: gopher://127.0.0.1:25/x\r\nContent-Length: 0\r\n\r\n", "ValidationError"),
])
def test_answers_that_are_wrong(raw, data, kind):
    port = raw(answering(data)).port
    if kind is None:
        assert get(port).body in (b"", b"abc")
        return
    with pytest.raises(StepError) as caught:
        get(port)
    assert type(caught.value).__name__ == kind


def test_a_redirect_with_spaces_and_utf8_is_followed(raw):
    seen = []

    def talk(connection: socket.socket) -> None:
        seen.append(connection.recv(65_536).split(b"\r\n")[0])
        more = b"302 Found\r\nLocation: /a \xc3\xbc?q=1 2" if len(seen) == 1 else b"200 OK"
        connection.sendall(b"HTTP/1.1 " + more + b"\r\nContent-Length: 0\r\n\r\n")

    get(raw(talk).port)
    assert seen[1] == b"GET /a%20%C3%BC?q=1%202 HTTP/1.1"


def test_the_client_writes_the_headers_of_its_connection_itself(raw):
    seen = []

    def talk(connection: socket.socket) -> None:
        seen.append(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    port = raw(talk).port
    GuardedHttp(("127.0.0.1",)).send(HttpRequest("POST", f"http://127.0.0.1:{port}/", {
        "host": "internal", "Content-Length": "1", "TRANSFER-ENCODING": "chunked", "connection": "upgrade", "accept-encoding": "gzip",
        "X-Mine": "1"}, b"abc"))
    head = seen[0].partition(b"\r\n\r\n")[0].lower().split(b"\r\n")[1:]
    assert sorted(line.partition(b":")[0] for line in head if not line.startswith(b"user-agent")) == [
        b"accept-encoding", b"content-length", b"host", b"x-mine"]
    assert f"host: 127.0.0.1:{port}".encode() in head and b"content-length: 3" in head


@pytest.mark.parametrize("headers", [{"X": "a\r\nY: b"}, {"X\r\nY": "b"}, {"X": "a\nb"}, {"X: y": "b"}, {"": "b"}, {"X": "\u20ac"}])
def test_headers_that_would_be_two_are_not_sent(raw, headers):
    port = raw(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")).port
    with pytest.raises(ValidationError):
        GuardedHttp(("127.0.0.1",)).send(HttpRequest("GET", f"http://127.0.0.1:{port}/", headers))


def test_a_body_is_not_redirected_to_where_it_would_not_be_encrypted(raw, tmp_path):
    files = certificate(tmp_path, "api.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*files)
    plain = []

    def open_(connection: socket.socket) -> None:
        plain.append(connection.recv(65_536))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    there = raw(open_).port
    port = raw(answering(
        f"HTTP/1.1 307 Moved\r\nLocation: http://api.example:{there}/\r\nContent-Length: 0\r\n\r\n".encode()), context).port
    http = GuardedHttp(("127.0.0.1",), lambda name, number: [ipaddress.ip_address("127.0.0.1")], files[0])
    with pytest.raises(HttpError, match="not encrypted"):
        http.send(HttpRequest("POST", f"https://api.example:{port}/", {"Authorization": "Bearer abc"}, b"secret"))
    assert plain == []
    http.send(HttpRequest("GET", f"https://api.example:{port}/", {"Authorization": "Bearer abc"}))
    assert len(plain) == 1 and b"Bearer" not in plain[0]


def test_headers_that_cannot_be_read_are_not_logged_with_the_address(raw, capfd, caplog):
    port = raw(answering(b"HTTP/1.1 200 OK\r\nbroken header\r\nContent-Length: 2\r\n\r\nhi")).port
    GuardedHttp(("127.0.0.1",)).send(HttpRequest("GET", f"http://127.0.0.1:{port}/?token=canary-4711"))
    assert "canary-4711" not in caplog.text + "".join(capfd.readouterr())
