"""`aslant` as a process, with pipes or with a terminal of its own."""

from __future__ import annotations

import multiprocessing
import os
import pty
import select
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from infra.cli.main import main

ROOT = Path(__file__).parents[3]
PATH = os.pathsep.join([str(ROOT), str(ROOT / "layers/runtime/python")])
LIMIT = 60  # seconds; generous, since a loaded machine is slow to start Python


def environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ASLANT_", "NO_COLOR"))}
    return {**kept, "PYTHONPATH": PATH, "TERM": "xterm-256color"}


def started(argv: list[str], cwd: Path, **options: Any) -> subprocess.Popen[str]:
    """A process in a session of its own, without a standard input; its outputs are pipes unless `options` say more."""
    given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen([sys.executable, "-m", "infra.cli.main", *argv], cwd=cwd, env=environment(), text=True,
        start_new_session=True, **given)


# A process that has imported what is slow to import; a fork of it is otherwise a process like any other.
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.integration.warm"])


class Forked:
    """Like what `started` gives, but soon there: for tests of how it goes on, not of how Python starts.

    Standard error is a pipe, or goes to the end of the file `errors`. With a `terminal` all three are that one.
    """

    def __init__(self, argv: list[str], cwd: Path, *, errors: Path | None = None, terminal: int | None = None) -> None:
        (out, out_end), (err, err_end) = _FORKS.Pipe(duplex=False), _FORKS.Pipe(duplex=False)
        told = None if errors is None else str(errors)
        if terminal is not None:
            out_end, err_end = (Connection(os.dup(terminal)) for _ in range(2))
        given = (argv, str(cwd), environment(), out_end, err_end, told, terminal is not None)
        self._process = _FORKS.Process(target=_become, args=given)
        self._process.start()
        self.stdout, self.stderr = (os.fdopen(os.dup(end.fileno()), encoding="utf-8") for end in (out, err))
        for end in (out, out_end, err, err_end):
            end.close()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def send_signal(self, number: int) -> None:
        if self._process.is_alive():
            os.kill(self.pid, number)

    def wait(self, timeout: float) -> int:
        """Its exit code; of one that a signal ended the signal's number below zero."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def communicate(self, timeout: float) -> tuple[str, str]:
        """The rest of both outputs, which have to fit into a pipe, once it has ended."""
        self.wait(timeout)
        with self.stdout, self.stderr:
            return self.stdout.read(), self.stderr.read()


def _become(
    argv: list[str], folder: str, variables: dict[str, str], out: Any, err: Any, errors: str | None, terminal: bool
) -> None:
    """In the fork: what the shell would have set, then the command as its console script calls it."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server ignores interrupts
    if terminal:
        os.dup2(out.fileno(), 0)
    os.dup2(out.fileno(), 1)
    os.dup2(err.fileno() if errors is None else os.open(errors, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
    out.close()
    err.close()
    # Those of the server know the kind of file that they were opened on.
    sys.stdin, sys.stdout = open(0), open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    sys.argv = ["aslant", *argv]
    sys.exit(main())


class Terminal:
    """A fork with a terminal of its own."""

    def __init__(self, argv: list[str], cwd: Path) -> None:
        self._master, slave = pty.openpty()
        self.process = Forked(argv, cwd, terminal=slave)
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
            for one in (self.process.stdout, self.process.stderr):
                one.close()
            os.close(self._master)
