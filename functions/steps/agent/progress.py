"""A model's answer as it is written, piece by piece as events."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from aslant import clock
from aslant.contracts import Json
from aslant.errors import StepError
from aslant.ports import Events
from aslant.step import StepRun

# Not the source of the installation's events: those are records' changes, in their order, and hold no texts of outputs.
SOURCE = "aslant.progress"
TYPE = "node_progress"

_PAUSE = 1.0       # seconds between two events
_MOST = 200        # events of one attempt; the rest of the answer is in the step's output only
_LONGEST = 10_000  # characters of an event


@dataclass(slots=True)
class Progress:
    """Collects text and publishes it at most once a second, up to the last space: a secret in it is then whole."""

    run: StepRun
    events: Callable[[], Events]
    waiting: str = ""
    parts: int = 0
    latest: float = field(default_factory=time.monotonic)

    def add(self, text: str) -> None:
        self.waiting += text
        if time.monotonic() - self.latest >= _PAUSE:
            end = max(self.waiting.rfind(" "), self.waiting.rfind("\n")) + 1
            self._publish(end)

    def flush(self) -> None:
        """Publishes what is left: an answer has ended."""
        self._publish(len(self.waiting))

    def _publish(self, end: int) -> None:
        text, self.waiting = self.run.redactor.text(self.waiting[:end]), self.waiting[end:]
        for start in range(0, len(text), _LONGEST):
            if self.parts == _MOST:
                return
            self.parts += 1
            detail = self._detail(text[start : start + _LONGEST])
            try:
                self.events().put(self.run.settings.event_bus, SOURCE, TYPE, detail)
            except StepError:
                return  # whoever watches misses a piece; the answer itself is not at stake
        self.latest = time.monotonic()

    def _detail(self, text: str) -> dict[str, Json]:
        """By the schema in `events/progress`."""
        run = self.run
        payload = {"step": run.step, "iteration": list(run.iteration), "type": run.type, "run": run.run,
                   "attempt": run.attempt + 1, "part": self.parts, "text": text}
        identifier = uuid.uuid5(uuid.NAMESPACE_URL, f"{SOURCE}:{run.idempotency_key}:{run.run}:{run.attempt}:{self.parts}")
        moment = datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"event_id": str(identifier), "event_type": TYPE, "tenant_id": run.tenant, "organization_id": run.tenant,
                "workflow_id": run.workflow, "execution_id": run.execution, "timestamp": moment, "payload": payload}
