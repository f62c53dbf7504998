"""The data directory of `aslant dev`: who uses it, and where that process listens."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

DEFAULT = ".aslant"
_ADDRESS, _LOCK, _FILES = "dev.json", "dev.lock", "files"


class InUse(Exception):
    """Another `aslant dev` uses the directory."""


class Unusable(Exception):
    """A directory that cannot be used; the message says why."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a running `aslant dev` listens, and its clock: it showed `clock` at `real` (both epoch seconds).

    `functions` are the skills that are Python functions of that process: what their versions say of themselves, by name.
    """

    url: str
    pid: int
    region: str
    scale: float
    clock: float
    real: float
    functions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @property
    def journal(self) -> Path:
        return self.path / "journal.db"

    @property
    def log(self) -> Path:
        return self.path / "dev.log"

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Inside, no other process takes the directory. Raises InUse and Unusable.

        The lock is the kernel's: it is gone with the process, however that ends.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            ignore = self.path / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="ascii")  # secrets are among what is kept
            number = os.open(self.path / _LOCK, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unusable(f"{self.path}: {error.strerror or error}") from None
        try:
            if not _locked(number):
                found = self._read()
                where = f" (process {found.pid}, {found.url})" if found is not None else ""
                raise InUse(f"an `aslant dev` on {self.path} is running already{where}") from None
            with contextlib.suppress(FileNotFoundError):
                (self.path / _ADDRESS).unlink()  # of one that was killed
            yield
        finally:
            os.close(number)

    def announce(self, address: Address) -> None:
        """Lets commands find the process. Only inside of `taken`."""
        beside = self.path / f"{_ADDRESS}.new"
        beside.write_text(json.dumps(asdict(address)), encoding="utf-8")
        beside.replace(self.path / _ADDRESS)

    def withdraw(self) -> None:
        with contextlib.suppress(OSError):
            (self.path / _ADDRESS).unlink()

    def published_as(self, file: Path) -> str:
        """What `note_published` was told of a file; empty when it was told nothing."""
        try:
            return self._note_of(file).read_text(encoding="ascii")
        except OSError:
            return ""

    def note_published(self, file: Path, digest: str) -> None:
        """Remembers what a file held when it was published; while it holds that, a restart leaves alone what came after."""
        note = self._note_of(file)
        note.parent.mkdir(mode=0o700, exist_ok=True)
        beside = note.with_suffix(f".{os.getpid()}")
        beside.write_text(digest, encoding="ascii")
        beside.replace(note)

    def _note_of(self, file: Path) -> Path:
        """A file for each: several commands may publish at once."""
        return self.path / _FILES / hashlib.sha256(os.fsencode(file.resolve())).hexdigest()

    def running(self) -> Address | None:
        """Where the process that uses the directory listens; None when there is none, or it is not ready yet."""
        return self._read() if self.in_use() else None  # else whoever wrote the address is gone

    def in_use(self) -> bool:
        try:
            number = os.open(self.path / _LOCK, os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(number)
        return False

    def _read(self) -> Address | None:
        try:
            data: Any = json.loads((self.path / _ADDRESS).read_text(encoding="utf-8"))
            return Address(**data)
        except (OSError, ValueError, TypeError):
            return None


def _locked(number: int) -> bool:
    for _ in range(5):  # a command that looks whether somebody has it has it itself for a moment
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except OSError:
            time.sleep(0.05)
    return False


def nearest(start: Path) -> Home | None:
    """The data directory here or in the nearest folder above."""
    for folder in (start, *start.parents):
        if (folder / DEFAULT / _LOCK).exists():
            return Home(folder / DEFAULT)
    return None
