"""How a run ended, for people and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from aslant.executions.view import counted
from infra.cli.watch import duration, reason, settled_of, to_the_point
from infra.local.progress import Child, Status, StepRun, nested
from infra.local.runner import RunError, RunResult
from translator.asl.escalations import escalated_id
from translator.model.workflow import Step, Workflow
from translator.passes.policies import reactions
from translator.pipeline import Compilation
from translator.reporting import excerpt, place, visible

_HINTS = {
    "SkillNotFound": "register it with --skills MODULE, or run with --simulate",
    "StepTypeUnavailable": "run with --simulate to go on with a marked result",
    "SecretNotFound": "give it with --secret NAME=VALUE",
    "AuthenticationError": "the other side did not take the credentials",
    "AuthorizationError": "what is private is opened by ASLANT_HTTP_ALLOW, ASLANT_DATABASE_ALLOW and ASLANT_COMMANDS",
    "ApprovalRejected": "`on_reject: continue` makes a no an answer like any other",
    "ApprovalExpired": "answer it with --approve STEP=…, or on a terminal",
    "States.Timeout": "a longer `timeout` may help",
    "ExpressionError": "the expression met a value that it has no result for; look at what the steps before it gave",
    "States.QueryEvaluationError": "an expression met a value that it has no result for",
}
SHOWN_FAILURES = 10  # that did not end the run
_LOOK = "`--json` shows every step with its attempts and errors; `aslant graph FILE` draws the way there"


def approval_steps(compilations: Sequence[Compilation]) -> list[str]:
    """Ids of all steps that people are asked about, also only when they fail, in the order of the definitions."""
    return list(dict.fromkeys(
        name for compilation in compilations for step in compilation.workflow.all_steps()
        for name in _asked(step, compilation.workflow)
    ))


def _asked(step: Step, workflow: Workflow) -> Iterator[str]:
    if step.type == "approval":
        yield step.id
    if any(one.action == "escalate" for one in reactions(step, workflow)):
        yield escalated_id(step.id)


def as_text(result: RunResult, sources: Mapping[str, str]) -> str:
    """A closing line, and after a failure the step, the reason, its place and where to look next."""
    done, total = counted(run.status for run in result.steps if run.type != "rollback")
    counts = settled_of(done, total)
    lines = []
    if result.simulated:
        lines.append(f"simulated: {', '.join(map(visible, result.simulated))}")
    lines += [f"note: {visible(note)}" for note in result.notes]
    lines += _handled(result)
    if result.error is not None:
        lines += _failure(result.error, sources)
    lines.append(f"{_ending(result)} in {duration(result.seconds)} ({counts})")
    return "\n".join(lines) + "\n"


def _ending(result: RunResult) -> str:
    """The status in words; after a rollback with what was undone and what could not be."""
    done, left = undone(result)
    said = [*([f"undone {', '.join(map(visible, done))}"] if done else ()),
        *([f"could not undo {', '.join(map(visible, left))}"] if left else ())]
    status = result.record.replace("_", " ")
    if not said:
        return status
    return f"{status}; {', '.join(reversed(said))}" if left else f"{status}: {said[0]}"


def undone(result: RunResult) -> tuple[list[str], list[str]]:
    """Labels of steps that a rollback has undone, and of those that it could not, with rollback steps that failed."""
    made = result.rollback
    return ([], []) if made is None else ([*made.undone], [*made.not_undone, *made.failed])


def _handled(result: RunResult) -> list[str]:
    """A line for each failure that the run went on after, or that is not the one that ended it."""
    error = result.error
    ended = (*error.path, error.label) if error is not None else ()
    failed = [
        run for run in nested(result.steps)
        if run.status is Status.FAILED and (*run.path, run.label) != ended and not _in_child(run)
    ]
    lines = [f"failed {visible(run.place)}: {reason(run)}" for run in failed[:SHOWN_FAILURES]]
    return [*lines, f"… and {len(failed) - SHOWN_FAILURES} more"] if len(failed) > SHOWN_FAILURES else lines


def _in_child(run: StepRun) -> bool:
    """Whether a step of a sub-workflow says more about a failure than the step that called it."""
    if run.type == "rollback":  # the steps say why, and the last line says what
        return any(inner.status is Status.FAILED for child in run.children for inner in child.steps)
    return bool(run.children) and any(inner.status is Status.FAILED and inner.message in run.message
        for inner in run.children[-1].steps)


def _failure(error: RunError, sources: Mapping[str, str]) -> list[str]:
    head = f"{place(error.position)}: " if error.position.file or error.step else ""
    subject = f"step {visible(error.place)}: " if error.step else ""
    lines = [f"{head}{subject}{visible(error.error)}"]
    message = to_the_point(error.message, error.label)
    lines += [f"  {visible(line)}" for line in message.splitlines()]
    lines += excerpt(error.position, sources).splitlines()
    lines += [f"  hint: {visible(hint)}" for hint in error.hints or (_HINTS.get(error.error, _LOOK),)]
    return lines


def as_json(result: RunResult) -> str:
    """One document: status, output, error, steps, undone, not_undone, approvals, simulated, usage, notes and times.

    A step that calls a workflow has `children`: its executions, one an attempt, each with its own `steps`. So has the
    `rollback` that comes last where something was undone.
    """
    done, left = undone(result)
    document: dict[str, Any] = {
        "status": result.record,
        "output": result.output,
        "error": None if result.error is None else {
            "error": result.error.error, "message": result.error.message, "step": result.error.step or None,
            "iteration": list(result.error.iteration), "workflow": result.error.workflow or None,
            "path": list(result.error.path), "file": result.error.position.file,
            "line": result.error.position.line, "column": result.error.position.column, "hints": list(result.error.hints),
        },
        "execution": result.execution,
        "started": result.started.isoformat(),
        "stopped": result.stopped.isoformat(),
        "duration": round(result.seconds, 3),
        "first_state_seconds": round(result.first_state, 3),
        "steps": [_step(run) for run in result.steps],
        "undone": done,
        "not_undone": left,
        "approvals": [decided.as_dict() for decided in result.approvals],
        "simulated": list(result.simulated),
        "usage": dict(result.usage),
        "notes": list(result.notes),
    }
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def _step(run: StepRun) -> dict[str, Any]:
    children = {"children": [_child(child) for child in run.children]} if run.type in ("workflow", "rollback") else {}
    return {
        "step": run.step, "name": run.name, "type": run.type, "iteration": list(run.iteration),
        "status": run.status.value, **_times(run), "attempts": run.attempts, "error": run.error or None,
        "message": run.message or None, "simulated": run.simulated, **children,
    }


def _child(child: Child) -> dict[str, Any]:
    return {
        "execution": child.execution, "workflow": child.workflow, "attempt": child.attempt, "status": child.status.value,
        **_times(child), "simulated": child.progress is None, "steps": [_step(run) for run in child.steps],
    }


def _times(one: StepRun | Child) -> dict[str, Any]:
    took = None if one.started is None or one.ended is None else round((one.ended - one.started).total_seconds(), 3)
    return {"started": one.started.isoformat() if one.started else None, "duration": took}
