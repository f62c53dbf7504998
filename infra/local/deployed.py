"""Functions as they were deployed: the archive's code in processes of its own, with the variables that the stack gave it.

As in Lambda, a process serves one event after the other, and is gone when a new archive comes. Third-party layers hold wheels
for arm64 and Lambda's Python; here the packages of this installation stand in for them.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PROGRAM = """
import importlib, json, os, sys, traceback, types
module, _, name = sys.argv[1].rpartition(".")
sys.meta_path = [one for one in sys.meta_path if "editable" not in repr(one)]  # what is not deployed is not there
events, out = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
os.dup2(2, 1)  # what the function prints is no part of its answer
for line in events:
    event, about = json.loads(line)
    context = types.SimpleNamespace(**about, get_remaining_time_in_millis=lambda: 30_000)
    try:
        answer = {"result": getattr(importlib.import_module(module), name)(event, context)}
    except Exception as error:
        traceback.print_exc()
        answer = {"error": type(error).__name__, "message": str(error)}
    print(json.dumps(answer), file=out, flush=True)
"""
_LONGEST = 120  # seconds that a call may take


class DeployedError(Exception):
    """What a deployed function raised, under its own name."""


class Deployed:
    """`paths` are its code and its layers, first to last; `handler` is `module.function`; `log` takes what it prints."""

    def __init__(self, handler: str, paths: tuple[Path, ...], variables: Mapping[str, str], log: Path | None = None) -> None:
        self.handler, self.paths, self.variables, self.log = handler, paths, variables, log or Path(os.devnull)
        self._idle: list[subprocess.Popen[str]] = []
        self._lock = threading.Lock()
        self._closed = False

    def __call__(self, event: dict[str, Any], context: Any) -> Any:
        about = {"function_name": context.function_name, "invoked_function_arn": context.invoked_function_arn,
            "aws_request_id": context.aws_request_id, "memory_limit_in_mb": 512}  # fmt: skip
        with self._lock:
            process = self._idle.pop() if self._idle else None
        answer = _asked(process or self._started(), json.dumps([event, about]), self._keep)
        if "error" in answer:
            raise type(answer["error"], (DeployedError,), {})(answer["message"])
        return answer["result"]

    def close(self) -> None:
        """Ends its processes, those that still serve an event after it."""
        with self._lock:
            self._closed, idle, self._idle = True, self._idle, []
        for process in idle:
            _end(process)

    def _started(self) -> subprocess.Popen[str]:
        inherited = {name: os.environ[name] for name in ("PATH", "LANG", "HOME") if name in os.environ}
        with open(self.log, "ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, self.handler], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                text=True, cwd=self.paths[0],
                env=inherited | dict(self.variables) | {
                    "PYTHONPATH": os.pathsep.join(map(str, self.paths)), "PYTHONDONTWRITEBYTECODE": "1",
                },
            )  # fmt: skip

    def _keep(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(process)
                return
        _end(process)


def _asked(process: subprocess.Popen[str], line: str, keep: Callable[[subprocess.Popen[str]], None]) -> dict[str, Any]:
    """What a process answers, which is kept then. Raises DeployedError when it ended instead."""
    assert process.stdin is not None and process.stdout is not None
    watch = threading.Timer(_LONGEST, process.kill)
    watch.daemon = True
    watch.start()
    try:
        print(line, file=process.stdin, flush=True)
        text = process.stdout.readline()
    except OSError:
        text = ""
    finally:
        watch.cancel()
    if not text:
        _end(process)
        raise DeployedError(f"Runtime.ExitError: the process ended with {process.returncode}")
    keep(process)
    answer: dict[str, Any] = json.loads(text)
    return answer


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


@contextmanager
def deployed(folder: Path, cloud: Any, variables: Mapping[str, str]) -> Iterator[Callable[[Any], None]]:
    """Gives what makes a function callable that a stack gave to moto, until it is left; archives are unpacked in `folder`,
    where their logs are, too.

    `variables` come on top of the stack's.
    """
    running: dict[str, Deployed] = {}

    def unpack(name: str, archive: bytes) -> Path:
        target = folder / f"{name}-{hashlib.sha256(archive).hexdigest()[:12]}"
        if not target.is_dir():
            with zipfile.ZipFile(io.BytesIO(archive)) as packed:
                packed.extractall(target)
        return target

    def register(made: Any) -> None:
        paths = [unpack(made.function_name, made.code_bytes)]
        for layer in made.layers:
            name, version = layer["Arn"].split(":")[6:8]
            paths.append(unpack(name, _layer(made, name, version)) / "python")
        # moto gives a reference to a bus as the bus itself
        given = {name: str(getattr(value, "name", value)) for name, value in made.environment_vars.items()}
        function = Deployed(made.handler, tuple(paths), {**given, **variables}, folder / f"{made.function_name}.log")
        cloud.function(made.function_name, function, timeout=made.timeout)
        if (before := running.pop(made.function_name, None)) is not None:
            before.close()
        running[made.function_name] = function

    try:
        yield register
    finally:
        for function in running.values():
            function.close()


def _layer(made: Any, name: str, version: str) -> bytes:
    from moto.awslambda.utils import get_backend

    found = get_backend(made.account_id, made.region).get_layer_version(name, version)
    archive: bytes = found.code_bytes
    return archive
