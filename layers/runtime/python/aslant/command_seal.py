"""Locks itself in and becomes a command. Its text is given to `python -I -S -B -c` by `aslant.commands`.

Reads {"program", "name", "args", "env", "folder", "limits", "readable", "user"} as JSON from the pipe whose number is its
first argument, and writes why it could not start to the one whose number is the second. Its locks last for all that the
command starts: another user where this one is root; namespaces of its own where they are permitted; limits of the kernel;
Landlock where the kernel has it (files: its own folder to write, programs and libraries to read; no tracing of, and no
signals to, processes outside); and a seccomp filter (no sockets, no tracing, no namespaces, no mounts, no leaving of the
process group), without which nothing starts. Imports nothing of the product.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
from typing import Any

_LIBRARY: Any = ctypes.CDLL(None, use_errno=True)
_READ, _WRITE_OWN, _FILE = 0b1101, 0x7FBE, 0x4007  # Landlock: read and execute; all but execute; what a file can have
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# By machine: its audit number, clone, clone3, and then the calls that fail with EPERM:
# socket connect bind listen accept accept4 ptrace process_vm_readv/writev unshare setns mount umount2 chroot pivot_root bpf
# perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register keyctl add_key request_key pidfd_getfd mknodat
# setsid setpgid init_module finit_module delete_module kexec_load kexec_file_load reboot open_by_handle_at open_tree
# move_mount fsopen fsconfig fsmount fspick mount_setattr swapon swapoff quotactl acct; x86_64 also mknod
_CALLS = {
    "x86_64": (0xC000003E, 56, 435, (
        41, 42, 49, 50, 43, 288, 101, 310, 311, 272, 308, 165, 166, 161, 155, 321,
        298, 323, 425, 426, 427, 250, 248, 249, 438, 259,
        112, 109, 175, 313, 176, 246, 320, 169, 304, 428,
        429, 430, 431, 432, 433, 442, 167, 168, 179, 163, 133)),
    "aarch64": (0xC00000B7, 220, 435, (
        198, 203, 200, 201, 202, 242, 117, 270, 271, 97, 268, 40, 39, 51, 41, 280,
        241, 282, 425, 426, 427, 219, 217, 218, 438, 33,
        157, 154, 105, 273, 106, 104, 294, 142, 265, 428,
        429, 430, 431, 432, 433, 442, 224, 225, 60, 89)),
}
# kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal: refused where nothing else keeps signals inside.
_SIGNALS = {"x86_64": (62, 200, 234, 129, 297, 424), "aarch64": (129, 130, 131, 138, 240, 424)}
_NAMESPACES = 0x7E020000  # CLONE_NEW*


class Refused(Exception):
    """A lock that does not close; its text is the reason."""


def limit(limits: dict[str, int]) -> None:
    """Limits of the kernel, the hard ones too."""
    for name, value in limits.items():
        kind = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def landlock(folder: str, readable: list[str]) -> int:
    """Restricts files, tracing and signals. The version of the kernel's Landlock, 0 where it has none."""
    call = _LIBRARY.syscall
    version = int(call(444, None, 0, 1))
    if version < 1:
        return 0
    handled = (1 << (13 + (version >= 2) + (version >= 3))) - 1
    attributes = struct.pack("QQQ", handled, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    rules = int(call(444, attributes, 24 if version >= 6 else 16 if version >= 4 else 8, 0))
    if rules < 0:
        raise Refused("the kernel does not take the rules for files")
    trees = [(folder, _WRITE_OWN), *((each, _READ) for each in readable), *((each, _FILE & ~1) for each in _DEVICES)]
    for path, rights in trees:
        try:
            opened = os.open(path, getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
        except OSError:
            continue
        rights &= handled & (-1 if os.path.isdir(path) else _FILE)
        if call(445, rules, 1, struct.pack("=Qi", rights, opened), 0) != 0:
            raise Refused("the kernel does not take a rule for files")
        os.close(opened)
    if call(446, rules, 0) != 0:
        raise Refused("the kernel does not restrict files")
    os.close(rules)
    return version


def seccomp(signals_inside: bool) -> None:
    """The filter of system calls."""
    machine = os.uname().machine
    if machine not in _CALLS:
        raise Refused(f"there is no filter of system calls for {machine}")
    architecture, clone, clone3, refused = _CALLS[machine]
    numbers = [*refused, *(() if signals_inside else _SIGNALS[machine])]
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    # (instruction, label if true, label if false, number); without a label it goes on with the next one.
    listing: list[tuple[int, str, str, int]] = [
        (load, "", "", 4), (equal, "", "refuse", architecture), (load, "", "", 0),
        (at_least, "refuse", "", 0x40000000),  # another ABI's numbers
        *((equal, "refuse", "", number) for number in numbers),
        (equal, "unknown", "", clone3),  # its flags are in memory; the C library then uses clone
        (equal, "", "allow", clone), (load, "", "", 16), (any_bit, "refuse", "allow", _NAMESPACES),
    ]
    ends = {"allow": 0x7FFF0000, "refuse": 0x00050001, "unknown": 0x00050026}  # ALLOW, EPERM, ENOSYS
    at = {label: len(listing) + index for index, label in enumerate(ends)}
    packed = b"".join(
        struct.pack("HBBI", code, *(at[label] - index - 1 if label else 0 for label in (yes, no)), number)
        for index, (code, yes, no, number) in enumerate(listing)
    ) + b"".join(struct.pack("HBBI", give, 0, 0, value) for value in ends.values())
    buffer = ctypes.create_string_buffer(packed)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    described = Filter(len(packed) // 8, ctypes.cast(buffer, ctypes.c_void_p).value)
    if _LIBRARY.prctl(22, 2, ctypes.byref(described), 0, 0) != 0:  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
        raise Refused("the kernel does not take the filter of system calls")


def become(user: int | None) -> None:
    """Gives up root, for good, and everything that it may."""
    if user is not None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def alone() -> bool:
    """Goes on in a new process, with namespaces of its own for network, processes and messages, where this is permitted.

    The process that was there stays to end as the new one ends.
    """
    if _LIBRARY.unshare(0x78000000) != 0:  # CLONE_NEWUSER, NEWNET, NEWPID, NEWIPC
        return False
    child = os.fork()
    if child == 0:
        _LIBRARY.prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
        return True
    for number in (0, 1, 2, int(sys.argv[2])):
        os.close(number)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if os.WTERMSIG(status) != signal.SIGKILL:
            signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.waitstatus_to_exitcode(status) & 255)


def main() -> None:
    told, report = int(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(report, False)
    with os.fdopen(told, "rb") as pipe:
        job = json.loads(pipe.read())
    try:
        os.umask(0o077)
        become(job["user"])
        apart = alone()
        limit(job["limits"])
        if _LIBRARY.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
            raise Refused("the kernel does not give up privileges")
        version = landlock(job["folder"], job["readable"])
        seccomp(signals_inside=apart or version >= 6)
        arguments = [each.encode("utf-8", "surrogateescape") for each in (job["name"], *job["args"])]
        environment = {key.encode(): value.encode("utf-8", "surrogateescape") for key, value in job["env"].items()}
        os.execve(job["program"], arguments, environment)
    except (OSError, ValueError, Refused) as error:
        os.write(report, (error.strerror or "" if isinstance(error, OSError) else str(error)).encode()[:1000] or b"it failed")
    os._exit(126)


if __name__ == "__main__":
    main()
