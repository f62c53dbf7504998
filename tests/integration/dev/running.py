"""`aslant dev` as a process of its own, and commands on it."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from infra.cli.main import main
from tests.integration.cli.processes import Forked

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


class Dev:
    """A process in a folder. `document` is what it said when it was ready."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.folder = folder
        (folder / "skills.py").write_text(SKILLS, encoding="utf-8")
        given = ["dev", "--json", "--port", "0", "--skills", "skills.py", *argv]
        self.process = Forked(given, folder, errors=folder / "errors.txt")
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait(LIMIT)}: {self.errors()}"
        self.document: dict[str, Any] = json.loads(line)
        self.pid = self.process.pid

    def errors(self) -> str:
        return (self.folder / "errors.txt").read_text(encoding="utf-8")

    def kill(self) -> None:
        self.stop(signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it in order; its exit code."""
        self.process.send_signal(number)
        self.process.stdout.close()
        return self.process.wait(LIMIT)


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
