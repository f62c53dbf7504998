"""How a run ended, for people and as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from infra.cli.watch import duration
from infra.local.progress import StepRun
from infra.local.runner import RunError, RunResult
from translator.pipeline import Compilation
from translator.reporting import excerpt, place, visible

_HINTS = {
    "SkillNotFound": "register it with --skills MODULE, or run with --simulate",
    "StepTypeUnavailable": "run with --simulate to go on with a marked result",
    "SecretNotFound": "give it with --secret NAME=VALUE",
    "AuthenticationError": "the other side did not take the credentials",
    "AuthorizationError": "a private address is reached only when ASLANT_HTTP_ALLOW names it (host or CIDR block)",
    "ApprovalRejected": "`on_reject: continue` makes a no an answer like any other",
    "ApprovalExpired": "answer it with --approve STEP=…, or on a terminal",
    "States.Timeout": "a longer `timeout`, or --time-scale for waits, may help",
    "ExpressionError": "the expression met a value that it has no result for; look at what the steps before it gave",
    "States.QueryEvaluationError": "an expression met a value that it has no result for",
}
# What the engine says before it comes to the point: the state and the whole generated expression.
_ENGINE = re.compile(r"threw an error during evaluation\. (.+)\Z", re.DOTALL)
_LOOK = "`--json` shows every step with its attempts and errors; `aslant graph FILE` draws the way there"


def approval_steps(compilations: Sequence[Compilation]) -> list[str]:
    """Ids of all approval steps, in the order of the definitions."""
    return list(dict.fromkeys(
        step.id for compilation in compilations for step in compilation.workflow.all_steps() if step.type == "approval"
    ))


def as_text(result: RunResult, sources: Mapping[str, str]) -> str:
    """A closing line, and after a failure the step, the reason, its place and where to look next."""
    counts = f"{sum(run.status.settled for run in result.steps)} of {len(result.steps)} steps settled"
    lines = []
    if result.simulated:
        lines.append(f"simulated: {', '.join(map(visible, result.simulated))}")
    lines += [f"note: {visible(note)}" for note in result.notes]
    if result.error is not None:
        lines += _failure(result.error, sources)
    lines.append(f"{result.status.replace('_', ' ')} in {duration(result.seconds)} ({counts})")
    return "\n".join(lines) + "\n"


def _failure(error: RunError, sources: Mapping[str, str]) -> list[str]:
    step = error.step + "".join(f"[{index}]" for index in error.iteration)
    head = f"{place(error.position)}: " if error.position.file or error.step else ""
    subject = f"step {visible(step)}: " if step else ""
    lines = [f"{head}{subject}{visible(error.error)}"]
    message = error.message.removeprefix(f"step {step}: ")  # functions put it there for those who see nothing else
    if (found := _ENGINE.search(message)) is not None:
        message = found[1]
    lines += [f"  {visible(line)}" for line in message.splitlines()]
    lines += excerpt(error.position, sources).splitlines()
    lines.append(f"  hint: {_HINTS.get(error.error, _LOOK)}")
    return lines


def as_json(result: RunResult) -> str:
    """One document: status, output, error, steps, approvals, simulated, usage, notes and times."""
    document: dict[str, Any] = {
        "status": result.status,
        "output": result.output,
        "error": None if result.error is None else {
            "error": result.error.error, "message": result.error.message, "step": result.error.step or None,
            "iteration": list(result.error.iteration), "file": result.error.position.file,
            "line": result.error.position.line, "column": result.error.position.column,
        },
        "execution": result.execution,
        "started": result.started.isoformat(),
        "stopped": result.stopped.isoformat(),
        "duration": round(result.seconds, 3),
        "first_state_seconds": round(result.first_state, 3),
        "steps": [_step(run) for run in result.steps],
        "approvals": [decided.as_dict() for decided in result.approvals],
        "simulated": list(result.simulated),
        "usage": dict(result.usage),
        "notes": list(result.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def _step(run: StepRun) -> dict[str, Any]:
    seconds = None if run.started is None or run.ended is None else round((run.ended - run.started).total_seconds(), 3)
    return {
        "step": run.step, "name": run.name, "type": run.type, "iteration": list(run.iteration),
        "status": run.status.value, "started": run.started.isoformat() if run.started else None, "duration": seconds,
        "attempts": run.attempts, "error": run.error or None, "message": run.message or None,
        "simulated": run.simulated,
    }
