"""Reads HTML and XML in a process of its own: what strangers wrote, in a parser of C code and with expressions of anybody's,
never works where credentials are, and ends at its time limit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from aslant.contracts import Json
from aslant.errors import NetworkError, PayloadTooLarge, StepTimeout, ValidationError
from aslant.page_ports import PageQuery
from aslant.values import read_json

_PROGRAM = Path(__file__).with_name("page_program.py")
MOST_TEXT = 8_000_000      # characters that are taken of one page
_MEMORY = 1024 * 1024 * 1024
_STARTING = 5.0            # seconds of processor time that starting may take, beside the time limit


class SeparateReader:
    def read(self, data: bytes, content_type: str, url: str, query: PageQuery, timeout: float) -> dict[str, Json]:
        job = {"content_type": content_type, "url": url, "query": asdict(query), "most": MOST_TEXT,
               "path": [each for each in sys.path if each], "memory": _MEMORY, "cpu": int(timeout + _STARTING)}
        library = os.environ.get("LD_LIBRARY_PATH")  # the loader of Lambda's Python needs it
        head = json.dumps(job).encode()
        with tempfile.TemporaryDirectory(prefix="aslant-page-", ignore_cleanup_errors=True) as folder:
            try:
                done = subprocess.run(
                    [sys.executable, "-I", "-S", "-B", str(_PROGRAM)], input=head + b"\n" + data, capture_output=True,
                    timeout=timeout, cwd=folder, env={"LD_LIBRARY_PATH": library} if library else {}, check=False,
                    start_new_session=True,
                )
            except subprocess.TimeoutExpired:
                raise StepTimeout(f"reading the page took longer than {timeout:.3g} s") from None
        try:
            answer = read_json(done.stdout.decode("utf-8", "replace"))
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise NetworkError("the page could not be read: it broke the parser, or is too large for it")
        if "too_large" in answer:
            raise PayloadTooLarge(f"more than {MOST_TEXT:,} characters are wanted of the page")
        if "error" in answer:
            raise ValidationError(str(answer["error"]))
        return answer
