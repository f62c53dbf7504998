"""Installs a seccomp filter and becomes `sandbox_runner.py`. Started by `aslant.sandbox` as `python -I -S sandbox_seal.py`.

A program of its own, because it needs ctypes, which must never be loaded where a script runs. The filter stays with the
process: starting processes, sockets, tracing and mounting fail with EPERM from here on. Where the kernel does not take
it, the runner's other locks remain. Imports nothing of the product.
"""

import os
import sys
from pathlib import Path
from typing import Any


def seal() -> bool:
    """A seccomp filter: the listed calls fail with EPERM. Returns whether the kernel took it."""
    import ctypes
    import struct

    machine = os.uname().machine
    calls = {
        # fork vfork clone3 ptrace process_vm_readv/writev kill tkill tgkill socket socketpair connect
        # bind listen sendto sendmsg unshare setns mount umount2 chroot pivot_root bpf perf_event_open userfaultfd
        # io_uring_setup keyctl add_key memfd_create symlink symlinkat link linkat pidfd_open pidfd_getfd mknod mknodat
        # setsid setpgid rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal execveat init_module finit_module
        # delete_module kexec_load reboot open_by_handle_at open_tree move_mount fsopen fsmount
        "x86_64": (0xC000003E, 56, (57, 58, 435, 101, 310, 311, 62, 200, 234, 41, 53, 42, 49, 50, 44, 46, 272,
                   308, 165, 166, 161, 155, 321, 298, 323, 425, 250, 248, 319, 88, 266, 86, 265, 434, 438,
                   133, 259, 112, 109, 129, 297, 424, 322, 175, 313, 176, 246, 169, 304, 428, 429, 430, 432)),
        "aarch64": (0xC00000B7, 220, (435, 117, 270, 271, 129, 130, 131, 198, 199, 203, 200, 201, 206, 211, 97,
                    268, 40, 39, 51, 41, 280, 241, 282, 425, 219, 217, 279, 36, 37, 434, 438,
                    33, 157, 154, 138, 240, 424, 281, 105, 273, 106, 104, 142, 265, 428, 429, 430, 432)),
    }.get(machine)
    if calls is None:
        return False
    architecture, clone, numbers = calls
    refuse, allow = 0x00050001, 0x7FFF0000  # SECCOMP_RET_ERRNO | EPERM, SECCOMP_RET_ALLOW
    numbers = (*numbers, clone)
    count = len(numbers)
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06  # BPF instructions; jumps count from the next one
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, refuse), (load, 0, 0, 0)]
    program.append((at_least, count + 1, 0, 0x40000000))  # another ABI's numbers
    program += [(equal, count - index, 0, number) for index, number in enumerate(numbers)]
    program += [(give, 0, 0, allow), (give, 0, 0, refuse)]
    packed = b"".join(struct.pack("HBBI", *each) for each in program)
    buffer = ctypes.create_string_buffer(packed)

    class Filter(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]

    described = Filter(len(program), ctypes.cast(buffer, ctypes.c_void_p).value)
    library: Any = ctypes.CDLL(None, use_errno=True)
    if library.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        return False
    return bool(library.prctl(22, 2, ctypes.byref(described), 0, 0) == 0)  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def main() -> None:
    runner = Path(__file__).with_name("sandbox_runner.py")
    seal()
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-B", str(runner)])


main()
