"""A real browser: Chromium shows a page, measures what it shows, and takes a picture of it."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds for one page
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars",
)


def chromium(page: Path, *options: str) -> str:
    """Runs Chromium on a file with a profile of its own, and gives what it writes to standard output."""
    program = shutil.which("chromium")
    assert program is not None, "chromium is missing; tests/services/install.sh installs it"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *_FLAGS, f"--user-data-dir={profile}", *options, page.as_uri()],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, encoding="utf-8",
            start_new_session=True,
        )
        try:
            text, _ = process.communicate(timeout=PATIENCE)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # the browser with its renderers
                process.communicate()
    assert process.returncode == 0, f"chromium ended with {process.returncode}"
    return text


def measured(page: Path) -> Any:
    """The JSON that a page's script leaves in the element `#measured`."""
    found = re.search(r'<pre id="measured">(.*?)</pre>', chromium(page, "--dump-dom"), re.DOTALL)
    assert found is not None, "the page's script did not finish"
    return json.loads(html.unescape(found[1]))


@dataclass(frozen=True)
class Picture:
    """A decoded PNG: `rows` of bytes, `channels` of them for a pixel."""

    width: int
    height: int
    channels: int
    rows: list[bytes]

    def pixel(self, x: float, y: float) -> str:
        """A pixel's colour as `#rrggbb`."""
        at = int(x) * self.channels
        return "#" + self.rows[int(y)][at:at + 3].hex()

    def colours(self) -> Counter[str]:
        """How many pixels have each colour."""
        step = self.channels
        found: Counter[bytes] = Counter()
        for row in self.rows:
            found.update(row[at:at + 3] for at in range(0, len(row), step))
        return Counter({f"#{colour.hex()}": count for colour, count in found.items()})


def screenshot(page: Path, target: Path, width: int, height: int) -> Picture:
    chromium(page, f"--window-size={width},{height}", f"--screenshot={target}")
    return decode(target.read_bytes())


def decode(data: bytes) -> Picture:
    """Decodes a PNG of 8 bits without interlace, which is what Chromium writes (PNG specification, clauses 5, 9, 11)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed, header = 8, bytearray(), b""
    while at < len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        body = data[at + 8:at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length)[0] == zlib.crc32(kind + body)
        header = body if kind == b"IHDR" else header
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    width, height, bits, colour, _, _, interlace = struct.unpack(">IIBBBBB", header)
    assert (bits, interlace) == (8, 0) and colour in (2, 6)
    channels = 3 if colour == 2 else 4
    raw, stride, rows = zlib.decompress(bytes(packed)), width * channels, [bytes(width * channels)]
    assert len(raw) == height * (stride + 1)
    for start in range(0, len(raw), stride + 1):
        rows.append(_unfiltered(raw[start], raw[start + 1:start + 1 + stride], rows[-1], channels))
    return Picture(width, height, channels, rows[1:])


def _unfiltered(kind: int, line: bytes, above: bytes, channels: int) -> bytes:
    if kind == 0:
        return line
    if kind == 2:
        return bytes((value + up) & 255 for value, up in zip(line, above, strict=True))
    row = bytearray(channels) + bytearray(line)  # with a pixel of zeros to the left
    corner = bytes(channels) + above
    for at in range(channels, len(row)):
        left, up = row[at - channels], corner[at]
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            diagonal = corner[at - channels]
            guess = _nearest(left, up, diagonal)
        row[at] = (row[at] + guess) & 255
    return bytes(row[channels:])


def _nearest(left: int, up: int, diagonal: int) -> int:
    """Paeth's predictor: the one nearest to left + up - diagonal; on a tie, in this order."""
    to_left, to_up, to_diagonal = abs(up - diagonal), abs(left - diagonal), abs(left + up - 2 * diagonal)
    if to_left <= to_up and to_left <= to_diagonal:
        return left
    return up if to_up <= to_diagonal else diagonal
