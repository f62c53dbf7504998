"""The HTTP client's clock, TLS and transport."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from aslant.adapters.guarded_http import GuardedHttp
from aslant.errors import NetworkError, StepTimeout
from aslant.ports import HttpRequest

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
