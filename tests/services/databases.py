"""PostgreSQL, MariaDB, Redis, and a server of MongoDB's protocol, on loopback for tests: each on a port of its own, in a folder that goes with it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.services.servers import Authority, ended, free_ports, listens, until

PASSWORD = "s3cret-pass-word"


@dataclass(frozen=True)
class Server:
    """A running server; `url` has the user's name and password."""

    port: int
    url: str
    root: Path

    @property
    def ca(self) -> str:
        """The certificate (PEM) of the authority that its own is from; it is for 127.0.0.1."""
        return (self.root / "ca.pem").read_text()


def _owner(name: str) -> dict[str, int]:
    """Who a server runs as: these do not run as root."""
    return {} if os.geteuid() != 0 else {"user": pwd.getpwnam(name).pw_uid, "group": pwd.getpwnam(name).pw_gid}


@contextmanager
def _folder(owner: dict[str, int]) -> Iterator[Path]:
    """Beneath /tmp, whatever TMPDIR says: another user must be able to reach it."""
    root = Path(tempfile.mkdtemp(prefix="aslant-db-", dir="/tmp"))
    if owner:
        os.chown(root, owner["user"], owner["group"])
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _certificate(root: Path, owner: dict[str, int]) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 and its key, which only the server may read."""
    Authority(root).issue("server", "127.0.0.1")
    key = root / "server.key"
    key.chmod(0o600)
    if owner:
        os.chown(key, owner["user"], owner["group"])
    return root / "server.pem", key


@contextmanager
def _running(command: Sequence[str], port: int, root: Path, owner: dict[str, int]) -> Iterator[None]:
    with open(root / "log", "wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=root, start_new_session=True, **owner,  # type: ignore[call-overload]
        )
    try:
        until(lambda: process.poll() is not None or listens(port), f"the start of {command[0]}")
        assert process.poll() is None, (root / "log").read_text()
        yield
    finally:
        ended(process)


@contextmanager
def postgres() -> Iterator[Server]:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    assert folders, "PostgreSQL is not installed: tests/services/install.sh"
    programs, owner = folders[-1], _owner("postgres")
    with _folder(owner) as root:
        secret = root / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        subprocess.run(
            [programs / "initdb", "-D", root / "data", "-U", "owner", "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8",
             "--locale=C.UTF-8", "--no-sync", "--no-instructions"], check=True, capture_output=True, cwd=root, **owner,  # type: ignore[call-overload]
        )
        (port,), (certificate, key) = free_ports(1), _certificate(root, owner)
        command = [str(programs / "postgres"), "-D", str(root / "data"), "-p", str(port), "-c", "listen_addresses=127.0.0.1",
                   "-c", f"unix_socket_directories={root}", "-c", "fsync=off", "-c", "max_connections=20",
                   "-c", "ssl=on", "-c", f"ssl_cert_file={certificate}", "-c", f"ssl_key_file={key}"]
        with _running(command, port, root, owner):
            yield Server(port, f"postgresql://owner:{PASSWORD}@127.0.0.1:{port}/postgres", root)


@contextmanager
def mariadb() -> Iterator[Server]:
    owner = _owner("mysql")
    with _folder(owner) as root:
        (port,) = free_ports(1)
        start = root / "start.sql"
        start.write_text(f"CREATE DATABASE shop;\nCREATE USER owner@'127.0.0.1' IDENTIFIED BY '{PASSWORD}';\n"
                         "GRANT ALL ON shop.* TO owner@'127.0.0.1';\nCREATE USER guest@'127.0.0.1' IDENTIFIED BY 'guest-pass';\n"
                         "GRANT SELECT ON shop.* TO guest@'127.0.0.1';\n")
        start.chmod(0o644)
        own = ["--no-defaults", f"--datadir={root}/data", f"--socket={root}/socket", f"--pid-file={root}/pid"]
        subprocess.run(["mariadb-install-db", *own[:2], "--auth-root-authentication-method=normal", "--skip-test-db"],
                       check=True, capture_output=True, cwd=root, **owner)  # type: ignore[call-overload]
        program = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        certificate, key = _certificate(root, owner)
        command = [program, *own, f"--ssl-cert={certificate}", f"--ssl-key={key}", f"--port={port}", "--bind-address=127.0.0.1", f"--init-file={start}", "--skip-name-resolve",
                   "--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=16M", "--character-set-server=utf8mb4"]
        with _running(command, port, root, owner):
            yield Server(port, f"mysql://owner:{PASSWORD}@127.0.0.1:{port}/shop", root)


@contextmanager
def redis(*, tls: bool = False) -> Iterator[Server]:
    with _folder({}) as root:
        (port,), (certificate, key) = free_ports(1), _certificate(root, {})
        ports = ["--port", "0", "--tls-port", str(port), "--tls-cert-file", str(certificate), "--tls-key-file", str(key),
                 "--tls-auth-clients", "no"] if tls else ["--port", str(port)]
        command = ["redis-server", *ports, "--bind", "127.0.0.1", "--save", "", "--dir", str(root), "--requirepass", PASSWORD]
        with _running(command, port, root, {}):
            yield Server(port, f"{'rediss' if tls else 'redis'}://:{PASSWORD}@127.0.0.1:{port}/0", root)


@contextmanager
def mongodb(*, tls: bool = False, auth: bool = False) -> Iterator[Server]:
    """SecantusDB, which speaks MongoDB's protocol and has its semantics; not MongoDB itself."""
    program = Path(__file__).parents[2] / ".venv/mongodb/bin/secantusd-py"
    assert program.exists(), "the server is not installed: tests/services/install.sh"
    with _folder({}) as root:
        (port,), (certificate, key) = free_ports(1), _certificate(root, {})
        options = ["--tls-cert-file", str(certificate), "--tls-key-file", str(key)] if tls else []
        command = [str(program), "--port", str(port), "--host", "127.0.0.1", "--storage-path", str(root / "data"), *options]
        if auth:  # the first user comes from a run that asks for none
            import pymongo  # half a second, in every process that collects any tests

            with _running(command, port, root, {}), pymongo.MongoClient("127.0.0.1", port, directConnection=True) as client:
                client.admin.command("createUser", "owner", pwd=PASSWORD, roles=["root"])
            command.append("--auth")
        user = f"owner:{PASSWORD}@" if auth else ""
        query = "?tls=require" if tls else "?authSource=admin" if auth else ""
        with _running(command, port, root, {}):
            yield Server(port, f"mongodb://{user}127.0.0.1:{port}/shop{query}", root)
