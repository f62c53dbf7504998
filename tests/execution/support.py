"""Runs a definition on the local cloud and tells what came of it. Skills count their calls."""

from __future__ import annotations

import textwrap
import threading
import time
from collections.abc import Mapping
from typing import Any

from aslant import skills
from infra.local.runner import RunResult, run
from translator.asl.limits import MAX_BYTES
from translator.pipeline import Compilation, Source, compile_sources


class NoisyError(Exception):
    """A failure with a class of its own."""


class Skills:
    """What steps of `type: skill` can call in tests, and when they were called."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.calls: list[tuple[str, Any]] = []
        self.running = 0
        self.most = 0
        self.spans: dict[str, tuple[float, float]] = {}

    def register(self) -> None:
        for name in ("echo", "fail", "fail_if", "sleep", "flaky"):
            skills.register(name, getattr(self, name))

    def count(self, name: str) -> int:
        return sum(1 for called, _ in self.calls if called == name)

    def echo(self, value: Any = None, name: str = "echo") -> Any:
        self.calls.append((name, value))
        return value

    def fail(self, name: str = "fail", message: str = "as asked") -> Any:
        self.calls.append((name, message))
        raise NoisyError(message)

    def fail_if(self, n: Any, bad: Any) -> Any:
        self.calls.append(("fail_if", n))
        if n == bad:
            raise NoisyError(f"{n} is bad")
        return n

    def flaky(self, name: str, times: int) -> Any:
        """Fails the first `times` calls of that name."""
        self.calls.append((name, time.monotonic()))
        if self.count(name) <= times:
            raise NoisyError(f"call {self.count(name)}")
        return self.count(name)

    def sleep(self, seconds: float, name: str = "sleep", value: Any = None) -> Any:
        """Really sleeps."""
        started = time.monotonic()
        with self.lock:
            self.calls.append((name, seconds))
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(seconds)
        with self.lock:
            self.running -= 1
            self.spans[name] = (started, time.monotonic())
        return value if value is not None else seconds


def compile_text(*texts: str, limit: int = MAX_BYTES) -> list[Compilation]:
    sources = []
    for number, text in enumerate(texts):
        body = textwrap.dedent(text)
        if not body.startswith("{") and "dialect:" not in body.split("steps:")[0]:
            body = "dialect: canonical\n" + body
        sources.append(Source(body, f"test{number}.yaml"))
    return compile_sources(sources, limit=limit)


def run_text(*texts: str, input: Mapping[str, Any] | None = None, time_scale: float = 60, **more: Any) -> RunResult:
    """Compile the definitions together and run the first."""
    return run(compile_text(*texts), input or {}, time_scale=time_scale, timeout=60, **more)


def status_of(result: RunResult, step: str) -> str:
    return next(one.status for one in result.steps if one.step == step)
