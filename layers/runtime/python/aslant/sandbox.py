"""Runs a user's Python script in a process that has no network, credentials, environment or files.

`run(script, names)` gives what the script returns. Limits are those of `Limits`; the process and all that it started are
killed at the end, whatever happens. See `sandbox_runner` and `sandbox_seal` for what locks the script in.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aslant.contracts import Json
from aslant.errors import SandboxError
from aslant.values import read_json

_START = Path(__file__).with_name("sandbox_seal.py")
_JAVASCRIPT = re.compile(r"=>|\b(?:const|let|var|function)\s|===|\bconsole\.log\b|;\s*$", re.MULTILINE)
MAX_SCRIPT = 100_000  # characters


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one script. Sizes are bytes, times seconds."""

    seconds: float = 30.0
    memory: int = 512 * 1024 * 1024
    file: int = 10 * 1024 * 1024
    output: int = 1024 * 1024
    files: int = 32


def run(script: str, names: Mapping[str, Json], limits: Limits | None = None) -> Json:
    """What a Python script returns: its `return`, its last expression, or its variable `result`; null without any.

    The script sees `names` (`data`, `input`, `results`, `items`). Raises SandboxError for a script that fails (with its
    line), that is not Python, whose value is not JSON, or that breaks a limit.
    """
    bounds = limits or Limits()
    if len(script) > MAX_SCRIPT:
        raise SandboxError(f"the script has {len(script):,} characters; {MAX_SCRIPT:,} are the limit")
    job = json.dumps({"script": script, "names": dict(names), "limits": _kernel_limits(bounds)})
    folder = tempfile.mkdtemp(prefix="aslant-script-")
    try:
        answer = _answer(job.encode("utf-8", "surrogatepass"), folder, bounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if "error" in answer:
        raise _script_error(script, str(answer["error"]), answer.get("line"))
    return answer.get("value")


def _kernel_limits(limits: Limits) -> dict[str, int]:
    return {"CPU": int(limits.seconds) + 1, "AS": limits.memory, "FSIZE": limits.file, "NOFILE": limits.files,
            "NPROC": 0, "CORE": 0, "STACK": 64 * 1024 * 1024}


def _script_error(script: str, message: str, line: Json) -> SandboxError:
    if message.startswith("SyntaxError") and _JAVASCRIPT.search(script):
        return SandboxError(f"the script is not Python (line {line}); JavaScript is not run, write it in Python")
    return SandboxError(f"script line {line}: {message}" if line else f"script: {message}")


def _answer(job: bytes, folder: str, limits: Limits) -> dict[str, Json]:
    # The loader of some Python builds (Lambda's is one) needs this variable; the runner clears it.
    library = os.environ.get("LD_LIBRARY_PATH")
    process = subprocess.Popen(
        [*_isolation(), sys.executable, "-I", "-S", "-B", str(_START)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder,
        env={"LD_LIBRARY_PATH": library} if library else {}, start_new_session=True, close_fds=True,
    )
    try:
        output, reason = _exchange(process, job, limits)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        process.wait()
    if reason:
        raise SandboxError(reason)
    try:
        answer = read_json(output)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        raise SandboxError(_ending(process.returncode, limits))
    return answer


def _exchange(process: subprocess.Popen[bytes], job: bytes, limits: Limits) -> tuple[bytes, str]:
    """Feeds the job and reads the answer, both bounded; gives the answer and why it was cut short, if it was."""
    assert process.stdin is not None and process.stdout is not None
    deadline = time.monotonic() + limits.seconds
    os.set_blocking(process.stdin.fileno(), False)
    output = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdin, selectors.EVENT_WRITE)
        selector.register(process.stdout, selectors.EVENT_READ)
        left = memoryview(job)
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return b"", f"the script ran longer than {limits.seconds:g} s"
            for key, _ in selector.select(remaining):
                if key.fileobj is process.stdin:
                    left = _feed(process, left)
                    if not left:
                        selector.unregister(process.stdin)
                        with contextlib.suppress(OSError):
                            process.stdin.close()
                    continue
                chunk = os.read(process.stdout.fileno(), 65_536)
                if not chunk:
                    return bytes(output), ""
                output += chunk
                if len(output) > limits.output:
                    return b"", f"the script's result is larger than {limits.output:,} bytes"


def _feed(process: subprocess.Popen[bytes], left: memoryview) -> memoryview:
    assert process.stdin is not None
    try:
        return left[os.write(process.stdin.fileno(), left[:65_536]):]
    except BrokenPipeError:
        return left[:0]


def _ending(code: int, limits: Limits) -> str:
    number = -code if code < 0 else code - 128 if code > 128 else 0
    if number == signal.SIGXCPU:
        return f"the script used more than {int(limits.seconds) + 1} s of processor time"
    if number == signal.SIGSEGV:
        return "the script's process crashed"
    return "the script ended without a result"


@functools.cache
def _isolation() -> Sequence[str]:
    """The command in front that gives the process its own network and process namespaces, where this is permitted."""
    program = shutil.which("unshare", path="/usr/bin:/bin:/usr/sbin:/sbin")
    if program is None:
        return ()
    command = (program, "--user", "--net", "--ipc", "--pid", "--fork", "--kill-child")
    try:
        done = subprocess.run([*command, "true"], stdin=subprocess.DEVNULL, capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return ()
    return command if done.returncode == 0 else ()
