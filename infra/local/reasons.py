"""What a run itself has to do with a failure: its retries, its simulated steps, its fast clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from aslant.error_names import NEVER_RETRIED, RETRYABLE, is_retried
from infra.local.progress import Progress, StepRun
from translator.expressions.tree import Attribute, Index, Literal, Name, Slot, walk
from translator.model.values import expressions_of
from translator.model.workflow import Step, Workflow

_HOLDERS = ("parallel", "foreach", "workflow")
_OF_VALUES = ("ExpressionError", "ValidationError", "SandboxError", "States.Runtime")


def hints(error: str, failed: StepRun | None, progress: Progress, workflow: Workflow, scale: float) -> tuple[str, ...]:
    """What to know about a failure with the machine name `error`; `failed` is the step that it came from."""
    step = progress.steps.get(failed.step) if failed is not None else None
    found: list[str] = []
    if failed is not None and step is not None:
        found += _unretried(error, failed, step, workflow)
        found += _simulated(error, step, progress)
    if error == "States.Timeout" and scale != 1 and (step is None or step.type == "workflow"):
        found.append(f"time ran {scale:g} times as fast, the work of the steps did not; a smaller --time-scale leaves"
            " them more time")
    return tuple(found)


def _unretried(error: str, failed: StepRun, step: Step, workflow: Workflow) -> Iterator[str]:
    retry = step.retry or (workflow.settings.retry if step.type not in _HOLDERS else None)
    if retry is None or not 0 < failed.attempts < retry.max_attempts or is_retried(error, error in RETRYABLE, retry.on):
        return
    if error in NEVER_RETRIED:
        yield f"{error} is never retried"
    else:
        yield f"{error} is not retried unless the retry lists it (`on: [{', '.join([*retry.on, error])}]`)"


def _simulated(error: str, step: Step, progress: Progress) -> Iterator[str]:
    simulated = dict.fromkeys(run.step for run in progress.ordered() if run.simulated)
    read = [name for name in simulated if name in _reads(step)]
    if read:
        yield f"it works on the result of {', '.join(read)}, which was simulated and is not what a real one would be"
    elif simulated and error in _OF_VALUES:
        yield f"the results of {', '.join(simulated)} were simulated; a value that came from there can be the reason"


def _reads(step: Step) -> set[str]:
    """Ids of the steps whose output a step reads."""
    return {name for expression in expressions_of(step) for node in walk(expression) if (name := _read(node))}


def _read(node: Any) -> str:
    match node:
        case Slot(kind="output", name=name) | Attribute(of=Name(name="steps"), name=name):
            return name
        case Index(of=Name(name="steps"), key=Literal(value=str(name))):
            return name
    return ""
