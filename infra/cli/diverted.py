"""Keeps standard output for the result: what skills print there goes to standard error, without known secrets."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO

from aslant.secrets import Redactor

_LONGEST = 1_000_000  # bytes of a line that are kept back until its end
_LAST = 2.0  # seconds for what was printed last; a child process may hold the pipe open for longer


@contextmanager
def diverted(secrets: Iterable[str]) -> Iterator[TextIO]:
    """Inside, `print` and what other programs write to standard output appear on standard error, line by line.

    Gives the stream for what really belongs on standard output.
    """
    redactor = Redactor()
    for value in secrets:
        redactor.know(value)
    before = sys.stdout
    before.flush()
    reading, writing = os.pipe()
    reader = threading.Thread(target=_forward, args=(reading, redactor), daemon=True, name="aslant-printed")
    number = _descriptor(before)
    result: TextIO = before
    if number is not None:  # programs that a skill starts know the number only
        result = open(os.dup(number), "w", encoding=before.encoding, errors="backslashreplace")  # noqa: SIM115
        os.dup2(writing, number)
    sys.stdout = open(writing, "w", encoding="utf-8", errors="backslashreplace", buffering=1)  # noqa: SIM115
    reader.start()
    try:
        yield result
        result.flush()
    finally:
        printed, sys.stdout = sys.stdout, before
        with contextlib.suppress(OSError, ValueError):
            printed.close()
        if number is not None:
            os.dup2(result.fileno(), number)
            with contextlib.suppress(OSError, ValueError):  # a reader that is gone was told of already
                result.close()
        reader.join(_LAST)


def _descriptor(stream: TextIO) -> int | None:
    try:
        number = stream.fileno()
    except (OSError, ValueError, AttributeError, io.UnsupportedOperation):
        return None
    return number if number == 1 else None


def _forward(reading: int, redactor: Redactor) -> None:
    with open(reading, "rb", buffering=0) as pipe:
        rest = b""
        while chunk := pipe.read(65_536):
            *lines, rest = (rest + chunk).split(b"\n")
            if len(rest) > _LONGEST:
                lines, rest = [*lines, rest], b""
            _tell(lines, redactor)
        _tell([rest] if rest else [], redactor)


def _tell(lines: list[bytes], redactor: Redactor) -> None:
    for line in lines:
        with contextlib.suppress(OSError, ValueError):  # without a standard error there is nobody to tell
            sys.stderr.write(redactor.text(line.decode("utf-8", "backslashreplace")) + "\n")
            sys.stderr.flush()
