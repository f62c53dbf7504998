"""Every definition that ships with the product runs to its end with simulated skills and answered approvals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aslant.inputs import prepare
from infra.cli.files import read
from infra.cli.siblings import compile_with_siblings
from infra.local.approvals import Decision, Request
from infra.local.progress import Status
from infra.local.runner import run

EXAMPLES = sorted((Path(__file__).parents[3] / "infra/workflows").glob("*.yaml"))
_SAMPLES: dict[str, Any] = {
    "string": "sample", "integer": 3, "number": 1.5, "boolean": True, "array": ["one", "two"], "object": {}, "any": "sample",
}
# Inputs whose declaration says less than the definition needs.
INPUTS: dict[str, dict[str, Any]] = {
    "steps-refunds": {"customer": "c-17", "items": [{"price": 12.5, "count": 2}, {"price": 3, "count": 1}]},
}


def sample(row: Mapping[str, Any]) -> Any:
    """A value that an input's declaration takes."""
    if row.get("enum"):
        return row["enum"][0]
    kind = row.get("type", "any")
    value = _SAMPLES[kind]
    if kind in ("integer", "number"):
        value = max(value, row.get("minimum") or value)
        value = min(value, row.get("maximum") or value)
    if kind == "array" and isinstance(row.get("items"), Mapping):
        return [sample(row["items"])] * 2
    if kind == "object":
        return {key: sample(inner) for key, inner in (row.get("properties") or {}).items()}
    return value


def agree(request: Request) -> Decision:
    if request.kind == "multiple_choice":
        return Decision("answer", request.options[0])
    return Decision("answer", "fine") if request.kind == "text_input" else Decision("approve")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_to_its_end(path: Path) -> None:
    compilations = compile_with_siblings([read(str(path))])
    workflow = compilations[0].workflow
    needed = INPUTS.get(path.stem) or {
        name: sample(row) for name, row in (workflow.inputs or {}).items() if row.get("required") and "default" not in row
    }
    given, problems = prepare(workflow.inputs, needed)
    assert problems == []
    result = run(compilations, given, simulate=True, approver=agree, time_scale=1000, timeout=60)
    assert result.status == "completed", result.error
    assert {run.status for run in result.steps} <= {Status.COMPLETED, Status.SKIPPED, Status.FAILED}
    assert any(run.status is Status.COMPLETED for run in result.steps)
