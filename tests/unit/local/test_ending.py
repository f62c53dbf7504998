"""The end of a local cloud waits for threads in whatever state it meets them."""

from __future__ import annotations

import threading
import time

import pytest

from infra.local import cloud


def test_a_thread_that_never_starts_is_not_waited_for_longer_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = threading.Thread(target=lambda: None, name="aslant-state")
    monkeypatch.setattr(threading, "enumerate", lambda: [waiting])
    cloud._join("aslant-state", until=time.monotonic() + 0.02)
    assert waiting.ident is None


def test_a_thread_that_is_just_starting_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []

    def work() -> None:
        time.sleep(0.05)
        ended.append(1)

    late = threading.Thread(target=work, name="aslant-state")
    monkeypatch.setattr(threading, "enumerate", lambda: [late])
    starter = threading.Timer(0.05, late.start)
    starter.start()
    cloud._join("aslant-state", until=time.monotonic() + 10)
    starter.join()
    assert ended == [1]
