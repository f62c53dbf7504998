"""Results of a Distributed Map's items, as Step Functions writes them, and the failure that ended it."""

from __future__ import annotations

import contextlib
import json

from aslant.configs.loop import LoopConfig
from aslant.contracts import Json, StepResult
from aslant.errors import NotFoundError, named
from aslant.keys import artifact
from aslant.ports import Artifacts
from aslant.step import StepRun, result


def loop(config: LoopConfig, run: StepRun, artifacts: Artifacts) -> StepResult:
    """Carries out one action for a loop. `collect` gives the items' results in their order, or raises what one failed with."""
    if config.action == "note":
        _note(config, run, artifacts)
        return result(None)
    if config.error is not None:
        raise _failure(config.error, run, artifacts)
    if not config.wanted or config.results is None:
        return result(None)
    manifest = json.loads(artifacts.get(run.tenant, config.results))
    rows: list[Json] = []
    for file in manifest["ResultFiles"]["SUCCEEDED"]:
        rows += map(_output, json.loads(artifacts.get(run.tenant, file["Key"])))
    return result([row.get("output") for row in sorted(rows, key=lambda row: row["index"])])


def _output(row: Json) -> Json:
    """What an item gave: the row itself, or a part of what is told of its execution."""
    if isinstance(row, dict) and "Output" in row and "index" not in row:
        row = row["Output"]
    return json.loads(row) if isinstance(row, str) else row


def _name(run: StepRun, loops: int) -> str:
    """The name under which the first failure of a loop's items is noted, in an iteration of the `loops` loops around it."""
    return f"loops/{run.step}{list(run.iteration[:loops])}-{run.run}"


def _note(config: LoopConfig, run: StepRun, artifacts: Artifacts) -> None:
    name = _name(run, len(run.iteration) - 1)
    try:
        artifacts.get(run.tenant, artifact(run.tenant, run.execution, name))
    except NotFoundError:  # the first failure counts; two at the same time are both first
        artifacts.put(run.tenant, run.execution, name, json.dumps(config.error).encode())


def _failure(error: Json, run: StepRun, artifacts: Artifacts) -> Exception:
    """The item's failure, as if it were the loop's own; the Map's where no item has noted one."""
    with contextlib.suppress(NotFoundError):
        error = json.loads(artifacts.get(run.tenant, artifact(run.tenant, run.execution, _name(run, len(run.iteration)))))
    found = named(str(error.get("error") or "States.TaskFailed"), str(error.get("message") or ""))
    found.of_step = True  # type: ignore[attr-defined]  # its message names the step inside of the loop
    return found
