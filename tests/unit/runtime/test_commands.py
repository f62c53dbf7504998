"""Commands: what they give, what they cannot do, and how they end. Real processes, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from aslant import commands
from aslant.command_ports import CommandRequest
from aslant.commands import Limits, SealedCommands
from aslant.errors import AuthorizationError, NotFoundError, SandboxError, StepTimeout, ValidationError

PYTHON = shutil.which("python3", path=os.defpath) or sys.executable  # one that everybody may read
SECRET = "COMMANDS_TEST_SECRET"


@pytest.fixture
def told():
    return []


@pytest.fixture
def run(told):
    """`run("sh", "-c", …)` -> how it ended; its lines are in `told`."""
    def go(name, *args, limits=None, **more):
        port = SealedCommands(("sh", "cat", "wc", f"python={PYTHON}", "absent", "ghost=/nowhere/ghost"), Limits(**(limits or {})))
        return port.run(CommandRequest(name, args, **{"timeout": 30, **more}), lambda stream, line: told.append((stream, line)))

    return go


@pytest.fixture
def script(run):
    """Runs a Python program as a command: its exit code, what it printed, what it wrote to stderr."""
    def go(text, **more):
        end = run("python", "-I", "-S", "-c", text, **more)
        return end.exit_code, end.stdout.decode().strip(), end.stderr.decode()

    return go


def test_arguments_input_variables_and_files(run, told):
    end = run("sh", "-c", 'echo "$1|$X"; cat - notes/a.txt; echo oops >&2; exit 3', "sh", "$(id) ; `id` 'x'", env={"X": "a  b"},
              stdin=b"typed\n", files={"notes/a.txt": b"written"})
    assert end.exit_code == 3
    assert end.stdout == b"$(id) ; `id` 'x'|a  b\ntyped\nwritten"
    assert end.stderr == end.tail == b"oops\n"
    assert sorted(told) == [("stderr", "oops"), ("stdout", "$(id) ; `id` 'x'|a  b"), ("stdout", "typed"), ("stdout", "written")]


def test_a_shell_stands_nowhere_in_between(run):
    assert run("cat", "-", "; echo no", stdin=b"x").exit_code == 1


def test_the_environment_is_its_own(run, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("LD_PRELOAD_X", SECRET)
    names = {line.split(b"=")[0] for line in run("sh", "-c", "env", env={"MINE": "1"}).stdout.splitlines()}
    assert names - {b"PWD", b"_", b"SHLVL", b"OLDPWD"} == {b"PATH", b"HOME", b"TMPDIR", b"LANG", b"MINE"}


def test_the_folder_is_its_own_and_goes(run):
    end = run("sh", "-c", "pwd; mkdir -p d/e && echo x >d/e/f && chmod 0 d/e d; touch $HOME/y && ls $HOME", cwd="inside/here")
    folder, *names = end.stdout.decode().split()
    assert end.exit_code == 0 and folder.endswith("/inside/here") and names == ["inside", "y"]
    assert not os.path.exists(folder.removesuffix("/inside/here"))


def test_only_listed_programs(run):
    for name in ("ls", "/bin/sh", "../sh", "sh;ls", ""):
        with pytest.raises(AuthorizationError, match="ASLANT_COMMANDS"):
            run(name)
    for name in ("absent", "ghost"):
        with pytest.raises(NotFoundError, match="not installed"):
            run(name)
    assert SealedCommands(("sh",)).permits("sh") and not SealedCommands(("/bin/sh",)).permits("/bin/sh")


@pytest.mark.parametrize("more", [
    {"env": {"LD_PRELOAD": "x"}}, {"env": {"PATH": "/tmp"}}, {"env": {"BASH_ENV": "x"}}, {"env": {"a b": "x"}}, {"env": {"A": "\0"}},
    {"env": {"": "x"}}, {"env": {"A=B": "x"}}, {"cwd": ".."}, {"cwd": "/tmp"}, {"cwd": "a/../.."}, {"files": {"../x": b""}},
    {"files": {"/etc/x": b""}}, {"files": {"a": b"", "a/b": b""}}, {"files": {".ssh/x": b""}}, {"files": {"x": b"1" * 1_000_001}},
    {"stdin": b"1" * 1_000_001}, {"env": {"A": "x" * 1_000_001}},
])
def test_what_a_command_cannot_be_given(run, more):
    with pytest.raises(ValidationError):
        run("cat", **more)


def test_null_characters_in_arguments(run):
    with pytest.raises(ValidationError, match="null"):
        run("cat", "a\0b")


def test_outputs_are_bounded_and_their_end_is_known(run, told):
    end = run("sh", "-c", "i=0; while [ $i -lt 5000 ]; do echo line $i; i=$((i+1)); done >&2; printf '\\377ok'", max_output=100)
    assert len(end.stderr) == 100 and end.stderr_cut and end.tail.endswith(b"line 4999\n") and len(end.tail) == 4096
    assert end.stdout == b"\xffok" and not end.stdout_cut
    assert len(told) == 5001 and ("stdout", "\ufffdok") in told


def test_a_line_without_end_is_told_in_pieces(run, told):
    run("python", "-c", "print('x' * 100_000)")
    assert max(len(line) for _, line in told) <= 100_000 and sum(len(line) for _, line in told) == 100_000


def test_time_is_bounded_and_nothing_stays(run, script):
    mark = f"{os.getpid()}{time.monotonic_ns() % 1000}"
    with pytest.raises(StepTimeout, match="longer than 1 s"):
        run("sh", "-c", f"sleep 3600.{mark} & sleep 3600.{mark}", timeout=1)
    started = time.monotonic()
    assert run("sh", "-c", f"sleep 3600.{mark} & echo done").stdout == b"done\n"  # it holds the pipe open
    assert time.monotonic() - started < 20
    with pytest.raises(StepTimeout):
        run("sh", "-c", "while :; do :; done", timeout=1)
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert f"3600.{mark}" not in listed


def test_exit_by_a_signal_reads_as_in_a_shell(run):
    assert run("sh", "-c", "kill -TERM $$; sleep 5").exit_code in (0, 143)  # the first process of a namespace ignores it
    assert run("sh", "-c", "sh -c 'kill -KILL $$'").exit_code == 137


def test_memory_is_bounded(script, run):
    assert "MemoryError" in script("bytearray(10**9)")[2]
    many = "import os,time\nfor i in range(6):\n  if os.fork() == 0:\n    x = bytearray(10**8); time.sleep(20); os._exit(0)\ntime.sleep(20)"
    with pytest.raises(SandboxError, match="of memory"):
        script(many, limits={"memory": 200_000_000})


def test_disk_is_bounded(script, run):
    with pytest.raises(SandboxError, match="wrote more than"):
        script("import time\nfor i in range(100_000):\n  open(str(i), 'w').write('x' * 4096)\ntime.sleep(20)", limits={"disk": 4_000_000})
    code, _, said = script("open('x', 'wb').write(bytes(5_000_000))", limits={"disk": 4_000_000})
    assert code == 1 and "File too large" in said


def test_processes_are_bounded(script):
    text = "import os,time\nn = 0\ntry:\n  while n < 500:\n    if os.fork() == 0:\n      time.sleep(20); os._exit(0)\n    n += 1\nexcept OSError: pass\nprint(n)"
    code, made, _ = script(text, limits={"processes": 20})
    assert code == 0 and 0 < int(made) <= 20


ATTEMPTS = {
    "a socket": "import socket; socket.socket()",
    "a local socket": "import socket; socket.socket(socket.AF_UNIX)",
    "a session of its own": "import os\nif os.getpid() != 1: os.setsid()\nelse: raise PermissionError",
    "a group of its own": "import os\nif os.fork() == 0:\n  try: os.setpgid(0, 0)\n  except PermissionError: os._exit(7)\n  os._exit(0)\nassert os.waitstatus_to_exitcode(os.wait()[1]) == 7; raise PermissionError",
    "namespaces": "import ctypes\nif ctypes.CDLL(None).unshare(0x10000000) != 0: raise PermissionError",
    "tracing": "import ctypes\nif ctypes.CDLL(None).ptrace(16, PARENT, 0, 0) != 0: raise PermissionError",
    "the environment of who started it": "open('/proc/PARENT/environ').read()",
    "the memory of who started it": "open('/proc/PARENT/mem', 'rb').read(1)",
    "a signal to who started it": "import os; os.kill(PARENT, 0)",
    "passwords": "open('/etc/shadow').read()",
    "the home of root": "import os; os.listdir('/root')",
    "the folder of all temporary files": "import os; os.listdir('/tmp'); open('/tmp/x-by-a-command', 'w')",
    "a file elsewhere": "open('/var/tmp/x-by-a-command', 'w')",
    "a file of ours": "open('OURS').read()",
    "devices": "import os; os.mknod('d', 0o600 | 0o020000, 0x0103)",
    "becoming root": "import os; os.setuid(0)",
    "a program of its own": "import os; open('x', 'w').write('#!/bin/sh\\n'); os.chmod('x', 0o700); os.execv('./x', ['x'])",
    "shared memory": "open('/dev/shm/x-by-a-command', 'w')",
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_ways_out(script, attempt, tmp_path):
    ours = tmp_path / "ours"
    ours.write_text(SECRET)
    text = ATTEMPTS[attempt].replace("PARENT", str(os.getpid())).replace("OURS", str(ours))
    caught = f"try:\n{''.join(f'  {line}{chr(10)}' for line in text.splitlines())}except OSError:\n  print('refused')"
    assert script(caught)[1].splitlines()[-1:] == ["refused"]


def test_descriptors_of_ours_are_closed(script, tmp_path):
    with open(tmp_path / "open", "w") as file:
        os.set_inheritable(file.fileno(), True)
        text = "import os\nfor n in range(3, 200):\n  try: os.fstat(n); print(n)\n  except OSError: pass"
        assert script(text)[1] == ""


def test_without_a_filter_of_system_calls_nothing_starts(run, monkeypatch, tmp_path):
    text = commands._SEAL.read_text().replace("os.uname().machine", "'vax'")
    broken = tmp_path / "seal.py"
    broken.write_text(text)
    monkeypatch.setattr(commands, "_SEAL", Path(broken))
    with pytest.raises(SandboxError, match="could not be started: there is no filter"):
        run("cat")


@pytest.mark.parametrize("lacking", ["apart = alone()", "version = landlock(job[\"folder\"], job[\"readable\"])"])
def test_the_locks_hold_without_one_another(run, monkeypatch, tmp_path, lacking):
    name = lacking.partition(" ")[0]
    text = commands._SEAL.read_text()
    assert lacking in text
    broken = tmp_path / "seal.py"
    broken.write_text(text.replace(lacking, f"{name} = 0"))
    monkeypatch.setattr(commands, "_SEAL", Path(broken))
    probe = ("import os, socket, subprocess\nprint(subprocess.run(['echo', 'works'], capture_output=True, text=True).stdout)\n"
             "for path in (f'/proc/{PARENT}/environ', f'/proc/{PARENT}/mem'):\n  try: open(path); print('read', path)\n  except OSError: pass\n"
             "try: socket.socket(); print('socket')\nexcept OSError: pass\ntry: os.kill(PARENT, 0); print('signal')\nexcept OSError: pass")
    end = run("python", "-c", probe.replace("{PARENT}", str(os.getpid())).replace("PARENT", str(os.getpid())))
    assert end.stdout.split() == [b"works"], end


def test_nothing_is_left_behind(run):
    before = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("aslant-command-")}
    run("sh", "-c", "touch a b c")
    with pytest.raises(ValidationError):
        run("sh", files={"a": b"", "a/b": b""})
    left = {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("aslant-command-")} - before
    assert not [name for name in left if os.stat(os.path.join(tempfile.gettempdir(), name)).st_mtime < time.time() - 60]
