"""`aslant` as a process, with pipes or with a terminal of its own."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "layers/runtime/python")])
LIMIT = 60  # seconds; generous, since a loaded machine is slow to start Python


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASLANT_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": PATH, "TERM": "xterm-256color"}


def aslant(*argv: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "infra.cli.main", *argv], cwd=cwd, env=environment(),
        capture_output=True, text=True, timeout=LIMIT, check=False)


def started(argv: list[str], cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """A process in a session of its own, without a standard input; its outputs are pipes unless `options` say more."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-m", "infra.cli.main", *argv], cwd=cwd, env=environment(), text=True,
        start_new_session=True, **given)


class Terminal:
    """A process with a terminal of its own."""

    def __init__(self, argv: list[str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen([sys.executable, "-m", "infra.cli.main", *argv], cwd=cwd, env=environment(),
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.seen = ""

    def read_until(self, text: str | None) -> str:
        """What was shown so far, once `text` is a part of it (or, with None, once the process has ended)."""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and (text is None or text not in self.seen):
            ready, _, _ = select.select([self._master], [], [], 0.2)
            if ready:
                try:
                    chunk = os.read(self._master, 65536)
                except OSError:  # the other side is closed
                    break
                self.seen += chunk.decode()
        assert text is None or text in self.seen, self.seen
        return self.seen

    def write(self, text: str) -> None:
        os.write(self._master, text.encode())

    def close(self) -> int:
        self.read_until(None)
        try:
            return self.process.wait(timeout=LIMIT)
        finally:
            os.close(self._master)
