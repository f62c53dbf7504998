"""`aslant dev` as a process of its own, and commands on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
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


class Dev:
    """A process in a folder. `document` is what it said when it was ready."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.folder = folder
        (folder / "skills.py").write_text(SKILLS, encoding="utf-8")
        self._errors = (folder / "errors.txt").open("a+", encoding="utf-8")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "infra.cli.main", "dev", "--json", "--port", "0", "--skills", "skills.py", *argv],
            cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            start_new_session=True, preexec_fn=_heed_interrupts,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended with {self.process.wait(10)}: {self.errors()}"
        self.document: dict[str, Any] = json.loads(line)

    def errors(self) -> str:
        return (self.folder / "errors.txt").read_text(encoding="utf-8")

    def kill(self) -> None:
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self._errors.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends it in order; its exit code."""
        if self.process.poll() is None:
            os.kill(self.process.pid, number)
        self.process.communicate(timeout=LIMIT)
        self._errors.close()
        return self.process.returncode


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a test run in the background ignores them


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
