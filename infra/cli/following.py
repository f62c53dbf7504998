"""Following an execution until it ends: a tree that is drawn again and again on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any

from aslant.errors import NotFoundError
from aslant.executions.view import ExecutionView, StepView
from infra.cli import pictures
from infra.cli.errors import FINE, RUN_FAILED
from infra.cli.output import colours, console, live
from infra.cli.target import TENANT, Target
from infra.cli.watch import duration
from translator.reporting import visible

PAUSE = 0.4  # seconds between looks
_LIVE_STEPS = 8  # inside of one parallel or loop that the live tree shows


def children(target: Target) -> pictures.Child:
    """Looks up executions inside of executions."""

    def find(id: str) -> ExecutionView | None:
        try:
            return target.views.view(TENANT, id)
        except NotFoundError:  # it is just starting
            return None

    return find


def follow(target: Target, id: str, *, quiet: bool = False) -> ExecutionView:
    """Shows what happens on standard error until the execution has ended; how it stands then."""
    shower = _Nothing() if quiet else _Tree(target) if live(sys.stderr) else _Lines(target)
    shown = False
    try:
        while True:
            view = target.views.view(TENANT, id)
            if pictures.is_over(view) and not shown:  # there is nothing to follow
                return view
            shower.show(view)
            shown = True
            if pictures.is_over(view):
                return view
            time.sleep(PAUSE)
    finally:
        shower.stop()


def code(view: ExecutionView) -> int:
    """The exit code for how an execution ended."""
    return FINE if view.execution.status == "completed" else RUN_FAILED


class _Nothing:
    def show(self, view: ExecutionView) -> None:
        """Called at each look."""

    def stop(self) -> None:
        """Called once."""


class _Tree(_Nothing):
    def __init__(self, target: Target) -> None:
        self._child = children(target)
        self._live: Any = None

    def show(self, view: ExecutionView) -> None:
        from rich.live import Live
        from rich.text import Text

        lines = [*pictures.heading(view), *pictures.tree(view, self._child, shown=_LIVE_STEPS)]
        parts = [Text.assemble(*line, "\n") for line in lines]
        if not colours(sys.stderr):
            parts = [Text(part.plain) for part in parts]
        drawn = Text().join(parts)
        drawn.rstrip()
        if self._live is None:
            self._live = Live(drawn, console=console(sys.stderr), auto_refresh=False, transient=False)
            self._live.start()
        self._live.update(drawn, refresh=True)

    def stop(self) -> None:
        if self._live is not None:
            self._live.stop()


class _Lines(_Nothing):
    def __init__(self, target: Target) -> None:
        self._child = children(target)
        self._seen: dict[str, tuple[str, int]] = {}
        self._status = ""
        self._latest = 0.0

    def show(self, view: ExecutionView) -> None:
        status = view.execution.status.replace("_", " ")
        if status != self._status:
            self._write(view, f"{status:<17} {visible(view.execution.workflow)} {view.execution.id}")
            self._status = status
        self._steps(view, view, "")

    def _steps(self, view: ExecutionView, whole: ExecutionView, outer: str) -> None:
        for step in view.walk():
            label = f"{outer}{step.label}"
            now = (step.status, step.run)
            if step.status != "not_started" and self._seen.get(label) != now:
                self._write(whole, f"{step.status.replace('_', ' '):<17} {visible(label)}{_about(step)}")
                self._seen[label] = now
            for id in step.executions[-1:]:
                inner = self._child(id)
                if inner is not None:
                    self._steps(inner, whole, f"{label}/")

    def _write(self, view: ExecutionView, text: str) -> None:
        # The end may have been a moment before a look that told of other things.
        since = self._latest = max(self._latest, view.duration / 1000)
        sys.stderr.write(f"{int(since // 60):>3}:{since % 60:04.1f}  {text}\n")
        sys.stderr.flush()


def _about(step: StepView) -> str:
    parts = []
    if step.status in ("completed", "failed") and step.duration is not None:
        parts.append(duration(step.duration / 1000))
    if step.attempts > 1:
        parts.append(f"{step.attempts} attempts")
    if step.error is not None:
        parts.append(pictures.because(step.error, step.label))
    return f" ({', '.join(parts)})" if parts else ""
