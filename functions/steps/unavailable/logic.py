"""Step types that compile but cannot run yet."""

from __future__ import annotations

from typing import Any

from aslant.contracts import StepResult
from aslant.errors import StepTypeUnavailable
from aslant.step import StepRun, result


def call(config: dict[str, Any], run: StepRun) -> StepResult:
    """Raises StepTypeUnavailable that names the type; under simulation gives an output that says `simulated`."""
    if run.settings.simulate:
        return result({"simulated": True, "type": run.type, "config": config})
    raise StepTypeUnavailable(f"steps of the type {run.type} cannot run in this installation yet")
