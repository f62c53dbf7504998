"""Ctrl-C, and requests to end from outside: the first stops what runs in order, the second ends the process at once."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType
from typing import Any

_PATIENCE = 0.3  # seconds in which a second signal is the first one's echo: `timeout` sends to the group as well
_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated (the terminal was closed)"}


class Interrupted(KeyboardInterrupt):
    """A signal asked to end. `code` is the exit code that shells know, `word` says it to people."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.code = 128 + number
        self.word = _WORDS[signal.Signals(number).name]


class Signals:
    """Handles signals between `watch` and `release`, in the main thread; elsewhere it does nothing."""

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._hook = sys.unraisablehook
        self._first: float | None = None

    def watch(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        for name in _WORDS:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and `&` set it
                self._before[number] = signal.signal(number, self._handle)

    def release(self, *, ending: bool) -> None:
        """Give the signals back; in a process that is `ending` anyway, the next one ends it at once."""
        if ending:
            self._first = self._first or -_PATIENCE
            return
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self._before:
            sys.unraisablehook = self._hook
        self._before = {}

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if self._first is None:
            self._first = now
            raise Interrupted(number)
        if now - self._first >= _PATIENCE:
            with contextlib.suppress(OSError):
                os.write(2, b"aslant: ended at once\n")
            leave(128 + number)

    def _unraisable(self, args: Any) -> None:
        """An interrupt that hit a destructor or the like is lost: send it again, from outside of that."""
        if not isinstance(args.exc_value, Interrupted):
            self._hook(args)
            return
        self._first = None
        again = threading.Timer(0.01, os.kill, (os.getpid(), args.exc_value.number))
        again.daemon = True
        again.start()


def leave(code: int) -> None:
    """End the process without waiting for threads that hang, and take the programs along that skills started."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            stream.flush()
    for children in Path("/proc/self/task").glob("*/children"):  # nothing where there is no /proc
        with contextlib.suppress(OSError):
            for child in children.read_text(encoding="ascii").split():
                os.kill(int(child), signal.SIGTERM)
    os._exit(code)
