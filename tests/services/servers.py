"""Real servers on loopback for tests: nginx with a configuration of its own, and certificates of a CA made up here."""

from __future__ import annotations

import datetime
import ipaddress
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PATIENCE = 20.0  # seconds that a server may take to start or to end

_MAIN = """\
daemon off;
worker_processes 1;
pid {root}/nginx.pid;
error_log {root}/error.log;
{user}
events {{ worker_connections 128; }}
http {{
  types {{ application/json json; text/plain txt; }}
  default_type application/octet-stream;
  log_format seen escape=json '{{"method":"$request_method","uri":"$request_uri","status":$status,"port":"$server_port",'
    '"authorization":"$http_authorization","agent":"$http_user_agent","key":"$http_idempotency_key",'
    '"secret":"$http_x_secret","content_type":"$content_type","length":"$content_length","encoding":"$sent_http_content_encoding",'
    '"transfer":"$sent_http_transfer_encoding","protocol":"$server_protocol","nth_of_connection":$connection_requests}}';
  access_log {root}/access.log seen;
  client_body_temp_path {root}/client;
  proxy_temp_path {root}/proxy;
  fastcgi_temp_path {root}/fastcgi;
  uwsgi_temp_path {root}/uwsgi;
  scgi_temp_path {root}/scgi;
  absolute_redirect off;
  root {root}/www;
{servers}
}}
"""


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listened on a moment ago."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]
    finally:
        for each in sockets:
            each.close()


def until(condition: Callable[[], Any], what: str, patience: float = PATIENCE) -> None:
    """Waits for something that is about to happen, for that many seconds."""
    end = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < end, f"{what} did not happen within {patience:g} s"
        time.sleep(0.02)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


@dataclass(frozen=True)
class Nginx:
    """A running nginx. `ports` are those of its servers, in the order of the configuration; files are under `www`."""

    root: Path
    ports: tuple[int, ...]

    @property
    def www(self) -> Path:
        return self.root / "www"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    def seen(self, path: str) -> list[dict[str, Any]]:
        """The requests for a path, as the access log has them. A request is logged when its answer has been sent."""
        rows = [json.loads(line) for line in (self.root / "access.log").read_text().splitlines()]
        return [row for row in rows if row["uri"].partition("?")[0] == path]

    def logged(self, path: str, count: int = 1) -> list[dict[str, Any]]:
        """`seen`, once there are so many."""
        until(lambda: len(self.seen(path)) >= count, f"request {count} for {path}")
        return self.seen(path)


@contextmanager
def nginx(root: Path, ports: int, servers: Callable[..., str]) -> Iterator[Nginx]:
    """nginx with `servers(root, *ports)` as its server blocks, on ports that are free."""
    (root / "www").mkdir(parents=True, exist_ok=True)
    for _ in range(3):  # somebody else may take a port in between
        chosen = free_ports(ports)
        process = _start(root, chosen, servers)
        try:
            if process.poll() is None:
                yield Nginx(root, tuple(chosen))
                return
        finally:
            ended(process)
    raise AssertionError((root / "error.log").read_text())


def _start(root: Path, ports: list[int], servers: Callable[..., str]) -> subprocess.Popen[bytes]:
    """nginx, which listens on all ports or has ended."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    user = "user root;" if os.geteuid() == 0 else ""  # its worker reads the files of this test run
    config = root / "nginx.conf"
    config.write_text(_MAIN.format(root=root, user=user, servers=servers(root, *ports)))
    process = subprocess.Popen(
        [program, "-p", str(root), "-e", str(root / "error.log"), "-c", str(config)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: process.poll() is not None or all(map(listens, ports)), "the start of nginx")
    except BaseException:
        ended(process)
        raise
    return process


def ended(process: subprocess.Popen[Any]) -> None:
    """Ends a process that a test started."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)


class Authority:
    """A certificate authority that nobody trusts unless told: its certificate is in `file`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "A CA for tests")])
        constraint = x509.BasicConstraints(ca=True, path_length=0)
        usage = x509.KeyUsage(key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False,
            key_encipherment=False, data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False)
        certificate = (
            self._builder(self.name, self.key).add_extension(constraint, critical=True)
            .add_extension(usage, critical=True).sign(self.key, hashes.SHA256())
        )
        self.file = folder / "ca.pem"
        self.file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *hosts: str, days: int = 2) -> None:
        """`<name>.pem` and `<name>.key` for hosts (names or addresses), valid until `days` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = [_general(host) for host in hosts]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            self._builder(subject, key, days).add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        (self.folder / f"{name}.key").write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ))

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int = 2) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=9))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
