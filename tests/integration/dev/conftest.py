"""Folders with a running `aslant dev`, ended by their process ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.dev.running import Dev, Line


@pytest.fixture
def dev(tmp_path: Path) -> Iterator[Callable[..., Dev]]:
    """Starts one in the test's folder."""
    started: list[Dev] = []

    def start(*argv: str) -> Dev:
        started.append(Dev(tmp_path, *argv))
        return started[-1]

    yield start
    for one in started:
        one.kill()


@pytest.fixture
def line(tmp_path: Path, capsys: Any, monkeypatch: Any) -> Line:
    return Line(tmp_path, capsys, monkeypatch)
