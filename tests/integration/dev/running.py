"""`aslant dev` as a process of its own, and commands on it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infra.cli.main import main
from tests.integration.cli.processes import environment

LIMIT = 90  # seconds; a loaded machine is slow

SKILLS = '''
import os, time
from aslant.skills import skill

def _write(line):
    number = os.open("notes.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(number, (line + "\\n").encode())
    os.close(number)

@skill
def note(name, seconds=0.0):
    _write(name)
    time.sleep(seconds)
    return name

@skill
def shaky(name):
    _write(name)
    raise RuntimeError("as asked")

@skill
def fails_until(name, file):
    _write(name)
    if not os.path.exists(file):
        raise RuntimeError("not yet")
    return name
'''


# A process that has imported what is slow to import; each `aslant dev` is a fork of it, otherwise a process like any other.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.integration.dev.warm"])


class Dev:
    """A process in a folder. `document` is what it said when it was ready."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.folder = folder
        (folder / "skills.py").write_text(SKILLS, encoding="utf-8")
        given = ["dev", "--json", "--port", "0", "--skills", "skills.py", *argv]
        reader, writer = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=_become, args=(given, str(folder), environment(), writer))
        self.process.start()
        writer.close()
        with os.fdopen(os.dup(reader.fileno()), encoding="utf-8") as output:
            line = output.readline()
        reader.close()
        if not line:
            self.process.join(LIMIT)
            raise AssertionError(f"it ended with {self.process.exitcode}: {self.errors()}")
        self.document: dict[str, Any] = json.loads(line)

    @property
    def pid(self) -> int:
        assert self.process.pid is not None
        return self.process.pid

    def errors(self) -> str:
        return (self.folder / "errors.txt").read_text(encoding="utf-8")

    def kill(self) -> None:
        self.process.kill()
        self.process.join(LIMIT)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it in order; its exit code."""
        if self.process.is_alive():
            os.kill(self.pid, number)
        self.process.join(LIMIT)
        assert self.process.exitcode is not None, "it does not end"
        return self.process.exitcode


def _become(argv: list[str], folder: str, variables: dict[str, str], writer: Any) -> None:
    """In the fork: what the shell would have set, then the command as its console script calls it."""
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the server ignores interrupts
    os.dup2(writer.fileno(), 1)
    writer.close()
    os.dup2(os.open("errors.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), 2)
    # Those of the server know the kind of file that they were opened on.
    sys.stdin, sys.stdout = open(0), open(1, "w", encoding="utf-8")  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1)  # noqa: SIM115
    sys.argv = ["aslant", *argv]
    sys.exit(main())


class Line:
    """Commands on the `aslant dev` of a folder, in this process."""

    def __init__(self, folder: Path, capsys: Any, monkeypatch: Any) -> None:
        self.folder, self._capsys = folder, capsys
        monkeypatch.chdir(folder)
        monkeypatch.setenv("NO_COLOR", "1")
        for name in list(os.environ):
            if name.startswith(("ASLANT_", "AWS_")):
                monkeypatch.delenv(name)

    def __call__(self, *argv: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self._capsys.readouterr()
        code = main(list(argv))
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, *argv: str, code: int = 0) -> Any:
        got, out, err = self(*argv, "--json")
        assert got == code, (out, err)
        return json.loads(out)

    def start(self, *argv: str) -> str:
        code, out, err = self("start", *argv)
        assert code == 0, err
        return out.strip()

    def until(self, look: Callable[[], Any], what: Callable[[Any], bool] = bool) -> Any:
        end = time.monotonic() + LIMIT
        while not what(found := look()):
            assert time.monotonic() < end, f"it stays {found}"
            time.sleep(0.1)
        return found

    def status(self, id: str, *statuses: str) -> dict[str, Any]:
        """The execution, once it has one of these statuses."""
        found: dict[str, Any] = self.until(lambda: self.json("show", id), lambda one: one["status"] in statuses)
        return found

    def waiting(self, id: str) -> list[dict[str, Any]]:
        """The approvals that an execution waits for, once there are any."""
        found: list[dict[str, Any]] = self.until(lambda: self.json("approvals", id))
        return found

    def notes(self) -> list[str]:
        file = self.folder / "notes.txt"
        return file.read_text(encoding="utf-8").split() if file.exists() else []
