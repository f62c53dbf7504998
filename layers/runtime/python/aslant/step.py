"""The wrapper around every step's logic: payload in, secrets, checked configuration, logic, checked result out.

    @step("http", HttpConfig)
    def handler(config: HttpConfig, run: StepRun) -> StepResult: ...

turns a function into a Lambda handler. A failure leaves as an exception whose class name is the error name in the state
machine and whose text starts with the step, `step review[2]: …`, without the value of any secret.
"""

from __future__ import annotations

import functools
import hashlib
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from aslant import bootstrap, secrets
from aslant.configs.base import Config
from aslant.configs.check import parse
from aslant.contracts import MAX_PAYLOAD, Json, RetryPlan, StepInvocation, StepResult
from aslant.error_names import is_retried
from aslant.errors import PayloadTooLarge, StepError, StepTimeout, ValidationError, named
from aslant.settings import Settings
from aslant.values import exact, size

ConfigT = TypeVar("ConfigT", bound=Config)
Handler = Callable[[Any, Any], StepResult]

_RESERVE = 0.5       # seconds before the function's own end in which an error can still be reported
_LONGEST = 900.0     # seconds; no Lambda function runs longer
_MAX_CAUSE = 30_000  # characters; Step Functions cuts a cause at 32,768


@dataclass(slots=True)
class StepRun:
    """Who is running. `execution` is an id, or an ARN when the machine was started by hand; `deadline` is monotonic."""

    step: str
    type: str
    execution: str
    tenant: str
    workflow: str
    iteration: tuple[int, ...]
    attempt: int
    deadline: float
    token: str | None
    settings: Settings
    redactor: secrets.Redactor = field(default_factory=secrets.Redactor)

    @property
    def label(self) -> str:
        """`step`, or `step[2][0]` inside of loops."""
        return _label(self.step, self.iteration)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this step in this iteration of this execution, and for nothing else."""
        text = "\x00".join((self.tenant, self.execution, self.step, *map(str, self.iteration)))
        return str(uuid.UUID(bytes=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16], version=5))

    def remaining(self, limit: float | None = None) -> float:
        """Seconds left for this attempt, at most `limit`; never less than a millisecond."""
        left = self.deadline - time.monotonic()
        return max(0.001, left if limit is None else min(left, limit))


def step(step_type: str, model: type[ConfigT], *, with_secrets: bool = True) -> Callable[
    [Callable[[ConfigT, StepRun], StepResult]], Handler
]:
    """Makes a Lambda handler of a function `(config, run) -> StepResult`.

    `with_secrets=False` leaves the places of secrets as they are, for a step that hands its configuration on.
    """

    def decorate(logic: Callable[[ConfigT, StepRun], StepResult]) -> Handler:
        @functools.wraps(logic)
        def handler(event: Any, context: Any) -> StepResult:
            run: StepRun | None = None
            try:
                run = read_run(step_type, event, context)
                refuse_further(run, event.get("retry"))
                raw = event["config"]
                if with_secrets and event.get("secrets"):
                    raw = secrets.resolve(raw, event["secrets"], run.tenant, bootstrap.secrets(run.settings), run.redactor)
                return checked(logic(parse(model, raw), run), run)
            except Exception as error:  # noqa: BLE001 - whatever it is, it must leave without secrets
                failure = _failure(error, event, run)
            # Raised out here so that no traceback carries the values that the logic worked on.
            raise failure

        return handler

    return decorate


def refuse_further(run: StepRun, plan: RetryPlan | None) -> None:
    """Raises StepTimeout for an attempt beyond the plan's: attempts that time out are counted by a rule of their own."""
    if plan is not None and run.attempt >= plan["max_attempts"]:
        raise StepTimeout(f"none of {plan['max_attempts']} attempts is left")


def read_run(step_type: str, event: Any, context: Any) -> StepRun:
    """The invocation's facts. Raises ValidationError for a payload that is none."""
    if not isinstance(event, dict) or not isinstance(event.get("step"), str) or "config" not in event:
        raise ValidationError(f"this is not the payload of a {step_type} step: it needs `step` and `config`")
    info = event.get("execution") or {}
    if isinstance(info, str):
        info = {"id": info}
    limit = _LONGEST
    if event.get("timeout") is not None:
        limit = min(limit, float(event["timeout"]))
    if context is not None and hasattr(context, "get_remaining_time_in_millis"):
        left = context.get_remaining_time_in_millis() / 1000
        limit = min(limit, left - min(_RESERVE, left / 10))
    return StepRun(
        step=event["step"],
        type=str(event.get("type") or step_type),
        execution=str(info.get("id") or ""),
        tenant=str(info.get("tenant") or "default"),
        workflow=str(info.get("workflow") or ""),
        iteration=tuple(int(index) for index in event.get("iteration") or ()),
        attempt=int(event.get("attempt") or 0),
        deadline=time.monotonic() + limit,
        token=event.get("token"),
        settings=Settings.read(),
    )


def checked(result: StepResult, run: StepRun) -> StepResult:
    """The result without secrets, its integers exact. Raises PayloadTooLarge beyond what a state may pass on,
    ValidationError for no JSON.
    """
    try:
        clean: StepResult = exact(run.redactor.json(result))
        length = size(clean)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"the result is not JSON: {error}") from None
    if length > MAX_PAYLOAD:
        raise PayloadTooLarge(f"the result has {length:,} bytes of JSON; a state passes on {MAX_PAYLOAD:,} at most")
    return clean


def retry_name(error: Exception, attempt: int, plan: RetryPlan) -> str | None:
    """The name `Retry.<n>` for an error that the plan retries after `attempt` retries so far; None when it does not."""
    delays = plan["delays"]
    if attempt + 1 >= plan["max_attempts"] or not delays:
        return None
    if not is_retried(type(error).__name__, getattr(error, "retryable", False) is True, plan["on"]):
        return None
    number = min(attempt + 1, len(delays))
    asked = getattr(error, "retry_after", None)
    if plan.get("adaptive") and asked is not None:
        fitting = [(delay, index) for index, delay in enumerate(delays, 1) if delay >= asked]
        number = min(fitting)[1] if fitting else max((delay, index) for index, delay in enumerate(delays, 1))[1]
    return f"Retry.{number}"


def _failure(error: Exception, event: StepInvocation | Any, run: StepRun | None) -> Exception:
    """The exception that leaves the handler: the right name, the step in front, no secrets, no chain."""
    message = str(error) or type(error).__name__
    if isinstance(error, KeyError):
        message = f"missing key {message}"
    if run is not None:
        message = f"step {run.label}: {run.redactor.text(message)}"
    message = message[:_MAX_CAUSE]
    name: str | None = None
    plan = event.get("retry") if isinstance(event, dict) else None
    if run is not None and plan:
        name = retry_name(error, run.attempt, plan)
        if name is not None:
            message = f"{message} ({type(error).__name__})"
    retry_after = getattr(error, "retry_after", None)
    if name is None and isinstance(error, StepError) and type(error).__module__ == StepError.__module__:
        clean = type(error).__new__(type(error))
        StepError.__init__(clean, message, retry_after=retry_after)
        return clean
    return named(name or type(error).__name__, message, retry_after=retry_after)


def _label(name: str, iteration: tuple[int, ...]) -> str:
    return name + "".join(f"[{index}]" for index in iteration)


def result(output: Json, **usage: float) -> StepResult:
    """A step's result; `usage` are its measures (tokens_in, tokens_out, calls)."""
    return {"output": output, "usage": usage} if usage else {"output": output}
