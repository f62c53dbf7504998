"""Runs a program in a process that has no network, no credentials, no environment of ours and no files but its own.

The program's name must be on the installation's list. It gets a folder of its own, which is removed at the end; the process
and all that it started are killed then, whatever happens. `command_seal` is what locks it in.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from aslant.command_ports import CommandEnd, CommandRequest, Line
from aslant.errors import AuthorizationError, NotFoundError, SandboxError, StepTimeout, ValidationError

_SEAL = Path(__file__).with_name("command_seal.py")
_PATH = "/opt/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_READABLE = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc", "/var/lang")
_NOBODY = 65_534       # who a command runs as where we are root: nobody's files
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}(?:/[A-Za-z0-9_][A-Za-z0-9_. -]{0,99}){0,7}\Z")
_RESERVED = re.compile(r"(?:LD_.*|PATH|HOME|TMPDIR|GCONV_PATH|BASH_ENV|ENV|SHELLOPTS|IFS)\Z")
_MOST_INPUT = 1_000_000  # bytes of arguments and variables together, of files, and of standard input
_WATCH = 0.25          # seconds between two looks at memory and files
_TAIL = 4_096          # bytes at the end of an output that is longer than what is kept
_LONGEST_LINE = 8_192  # bytes of one line of the log


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one command. Sizes are bytes: `memory` of each process and of all together, `disk` of all files (one has
    at most half of it)."""

    memory: int = 512 * 1024 * 1024
    disk: int = 100 * 1024 * 1024
    processes: int = 64
    files: int = 256


@dataclass(frozen=True, slots=True)
class SealedCommands:
    """`allowed` are the programs that may run: `name`, looked up where programs are, or `name=/path/of/it`."""

    allowed: Sequence[str] = ()
    limits: Limits = Limits()

    def permits(self, name: str) -> bool:
        return name in _names(self.allowed)

    def run(self, request: CommandRequest, line: Line) -> CommandEnd:
        program = self._program(request.command)
        _check(request)
        folder = os.path.realpath(tempfile.mkdtemp(prefix="aslant-command-"))
        try:
            here = _prepare(folder, request)
            return _Run(program, request, self.limits, folder, here, line).end()
        finally:
            _remove(folder)

    def _program(self, name: str) -> str:
        listed = _names(self.allowed)
        if name not in listed:
            raise AuthorizationError(f"this installation does not run {name[:100]!r}; ASLANT_COMMANDS lists what it runs")
        path = listed[name] or shutil.which(name, path=_PATH)
        if path is None or not os.path.isfile(path) or not os.path.isabs(path):
            raise NotFoundError(f"the command {name} is not installed here")
        return path


def _names(allowed: Sequence[str]) -> dict[str, str]:
    """Paths by name, empty where the program is looked up. A name is no path: a definition cannot choose another file."""
    pairs = (each.partition("=") for each in allowed)
    return {name: path for name, _, path in pairs if name and "/" not in name}


def _check(request: CommandRequest) -> None:
    for name in request.env:
        if not _VARIABLE.match(name) or _RESERVED.match(name):
            raise ValidationError(f"the variable {name[:100]!r} cannot be given to a command")
    if any("\0" in each for each in (*request.args, *request.env.values())):
        raise ValidationError("a command's arguments and variables hold no null characters")
    for name in (*request.files, *([] if request.cwd is None else [request.cwd])):
        if not _FILE.match(name):
            raise ValidationError(f"{name[:100]!r} is no name within the command's folder")
    given = sum(len(each.encode("utf-8", "surrogatepass")) for each in (*request.args, *request.env.values()))
    if max(given, len(request.stdin), sum(map(len, request.files.values()))) > _MOST_INPUT:
        raise ValidationError(f"a command takes at most {_MOST_INPUT:,} bytes of arguments, of files, and of standard input")


def _prepare(folder: str, request: CommandRequest) -> str:
    """Puts the files into the folder; gives the working directory."""
    here = os.path.join(folder, request.cwd or "")
    os.makedirs(here, exist_ok=True)
    for name, data in request.files.items():
        path = Path(here, name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        except OSError:
            raise ValidationError(f"the file {name} cannot be made: another one is in its way") from None
    if os.geteuid() == 0:
        for base, folders, files in os.walk(folder):
            for each in (base, *(os.path.join(base, name) for name in (*folders, *files))):
                os.chown(each, _NOBODY, _NOBODY, follow_symlinks=False)
    return here


def _remove(folder: str) -> None:
    """The command may have taken its own rights on folders away."""
    for base, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(base, name)
            if not os.path.islink(path):
                with contextlib.suppress(OSError):
                    os.chmod(path, 0o700)
    shutil.rmtree(folder, ignore_errors=True)


class _Output:
    """One stream: its start is kept, also its end, and its lines are told as they come."""

    def __init__(self, name: str, limit: int, line: Line) -> None:
        self.name, self.limit, self.line = name, limit, line
        self.size = 0
        self._kept = bytearray()
        self._tail = b""
        self._rest = bytearray()

    def add(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._kept += chunk[: self.limit - len(self._kept)]
        self._tail = (self._tail + chunk)[-_TAIL:]
        self._rest += chunk
        *lines, last = self._rest.split(b"\n")
        for each in lines:
            self._tell(each)
        self._rest = bytearray(last)
        if len(self._rest) > 2 * _LONGEST_LINE:
            self._tell(self._rest)
            self._rest.clear()

    def close(self) -> None:
        if self._rest:
            self._tell(self._rest)

    def _tell(self, line: bytes | bytearray) -> None:
        self.line(self.name, bytes(line).rstrip(b"\r").decode("utf-8", "replace"))

    @property
    def kept(self) -> bytes:
        return bytes(self._kept)

    @property
    def tail(self) -> bytes:
        return self._tail


class _Run:
    def __init__(
        self, program: str, request: CommandRequest, limits: Limits, folder: str, here: str, line: Line
    ) -> None:
        self.request, self.limits, self.folder = request, limits, folder
        self.deadline = time.monotonic() + request.timeout
        self.outputs = {name: _Output(name, request.max_output, line) for name in ("stdout", "stderr")}
        self.job = json.dumps({
            "program": program, "name": request.command, "args": list(request.args), "folder": folder,
            "user": _NOBODY if os.geteuid() == 0 else None,
            "env": {"PATH": _PATH, "HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", **request.env},
            "readable": [*_READABLE, os.path.dirname(os.path.realpath(program))],
            "limits": {"CPU": int(request.timeout) + 1, "DATA": limits.memory, "FSIZE": limits.disk // 2, "CORE": 0,
                "NOFILE": limits.files, "NPROC": limits.processes, "STACK": 8 * 1024 * 1024},
        }).encode()
        self.here = here

    def end(self) -> CommandEnd:
        if os.geteuid() != 0:
            _hide()
        told, tell = os.pipe()
        report, reported = os.pipe()
        library = os.environ.get("LD_LIBRARY_PATH")  # the loader of some Python builds (Lambda's is one) needs it
        try:
            process = subprocess.Popen(
                [os.path.realpath(sys.executable), "-I", "-S", "-B", "-c", _SEAL.read_text(), str(told), str(reported)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.here,
                env={"LD_LIBRARY_PATH": library} if library else {}, start_new_session=True, pass_fds=(told, reported),
            )
        except BaseException:
            for number in (told, tell, report, reported):
                os.close(number)
            raise
        os.close(told)
        os.close(reported)
        reason: Exception | None = None
        try:
            reason = self._exchange(process, tell)
        finally:
            _kill(process.pid)
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError):
                    if stream is not None:
                        stream.close()
            process.wait()
            with os.fdopen(report, "rb") as pipe:
                os.set_blocking(pipe.fileno(), False)
                failed = pipe.read() or b""
        if failed:
            raise SandboxError(f"the command {self.request.command} could not be started: {failed.decode('utf-8', 'replace')}")
        if reason is not None:
            raise reason
        return self._ended(process.returncode)

    def _ended(self, code: int) -> CommandEnd:
        number = -code if code < 0 else 0
        if number == signal.SIGXCPU:
            raise StepTimeout(f"the command {self.request.command} used up its processor time")
        if number == signal.SIGXFSZ:
            raise SandboxError(f"the command {self.request.command} wrote a file of more than {self.limits.disk // 2:,} bytes")
        out, err = self.outputs["stdout"], self.outputs["stderr"]
        return CommandEnd(
            128 + number if number else code, out.kept, err.kept, out.size > len(out.kept), err.size > len(err.kept),
            err.tail or out.tail,
        )

    def _exchange(self, process: subprocess.Popen[bytes], tell: int) -> Exception | None:
        """Feeds and reads until the command ends; why it was cut short, if it was."""
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        left: dict[int, memoryview] = {tell: memoryview(self.job), process.stdin.fileno(): memoryview(self.request.stdin)}
        closing: dict[int, Callable[[], None]] = {tell: lambda: os.close(tell), process.stdin.fileno(): process.stdin.close}
        reading = {process.stdout.fileno(): self.outputs["stdout"], process.stderr.fileno(): self.outputs["stderr"]}
        watched = time.monotonic()
        with selectors.DefaultSelector() as selector:
            for number in left:
                os.set_blocking(number, False)
                selector.register(number, selectors.EVENT_WRITE)
            for number in reading:
                os.set_blocking(number, False)
                selector.register(number, selectors.EVENT_READ)
            try:
                while True:
                    now = time.monotonic()
                    if now >= self.deadline:
                        return StepTimeout(f"the command {self.request.command} ran longer than {self.request.timeout:g} s")
                    if now >= watched:
                        watched = now + _WATCH
                        excess = self._excess(process.pid)
                        if excess:
                            return SandboxError(f"the command {self.request.command} {excess}")
                    # Asked before the pipes are looked at, so that all that it wrote is read.
                    over = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
                    if over:
                        _kill(process.pid)  # what it left running may hold the pipes open
                    ready = selector.select(0 if over else min(self.deadline - now, _WATCH if reading else 0.02))
                    for key, _ in ready:
                        number = key.fd
                        if number in reading:
                            chunk = os.read(number, 65_536)
                            if chunk:
                                reading[number].add(chunk)
                            else:
                                selector.unregister(number)
                                del reading[number]
                            continue
                        left[number] = _feed(number, left[number])
                        if not left[number]:
                            selector.unregister(number)
                            closing.pop(number)()
                    if over and not any(key.fd in reading for key, _ in ready):
                        return None
            finally:
                for close in closing.values():
                    with contextlib.suppress(OSError):
                        close()
                for output in self.outputs.values():
                    output.close()

    def _excess(self, group: int) -> str:
        """What the command and its children use too much of; empty when nothing."""
        if _used_disk(self.folder, self.limits.disk) > self.limits.disk:
            return f"wrote more than {self.limits.disk:,} bytes"
        if _used_memory(group) > self.limits.memory:
            return f"used more than {self.limits.memory:,} bytes of memory"
        return ""


def _feed(number: int, left: memoryview) -> memoryview:
    try:
        return left[os.write(number, left[:65_536]):] if left else left
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]


def _kill(group: int) -> None:
    """Kills a process and its group, which no member can leave. It has not been waited for, so the number is still its."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(group, signal.SIGKILL)


def _used_disk(folder: str, most: int) -> int:
    """Bytes of all files in a folder; each counts one block at least."""
    total = 0
    for base, folders, files in os.walk(folder):
        for name in (*folders, *files):
            with contextlib.suppress(OSError):
                found = os.lstat(os.path.join(base, name))
                total += max(4096, found.st_blocks * 512 if stat.S_ISREG(found.st_mode) else 0)
        if total > most:
            break
    return total


def _used_memory(group: int) -> int:
    """Bytes of memory of the processes of a group; 0 where the system does not say."""
    page, total = os.sysconf("SC_PAGE_SIZE"), 0
    for entry in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if entry.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                fields = Path("/proc", entry, "stat").read_text(errors="replace").rpartition(")")[2].split()
                if int(fields[2]) == group:
                    total += int(fields[21]) * page
    return total


def _hide() -> None:
    """Makes the files of this process in /proc (its environment, its memory) unreadable to others of the same user."""
    import ctypes

    ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE
