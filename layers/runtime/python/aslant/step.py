"""The wrapper around every step's logic: payload in, secrets, checked configuration, logic, checked result out.

    @step("http", HttpConfig)
    def handler(config: HttpConfig, run: StepRun) -> StepResult: ...

turns a function into a Lambda handler. The result is recorded: a step that completed is not run again, whoever calls, but
gives what it gave. A failure leaves as an exception whose class name is the error name in the state
machine and whose text starts with the step, `step review[2]: …`, without the value of any secret.
"""

from __future__ import annotations

import functools
import hashlib
import math
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from aslant import bootstrap, claims, observability, secrets
from aslant.configs.base import Config
from aslant.configs.check import parse
from aslant.configs.guard import Guard
from aslant.contracts import CLAIM_THRESHOLD, MAX_PAYLOAD, ClaimRules, Json, RetryPlan, StepInvocation, StepResult
from aslant.error_names import is_retried
from aslant.errors import PayloadTooLarge, StepError, StepInProgress, StepTimeout, ValidationError, named
from aslant.executions.records import Failure, StepRecord
from aslant.kept import Kept
from aslant.leases import Lease
from aslant.ports import StepKey
from aslant.settings import Settings
from aslant.values import exact, size

ConfigT = TypeVar("ConfigT", bound=Config)
N = TypeVar("N", int, float)
Handler = Callable[[Any, Any], StepResult]

_RESERVE = 0.5       # seconds before the function's own end in which an error can still be reported
_AROUND = 64         # bytes of JSON around a result's parts
# Bytes of the result of a loop's first iteration; the one at index i has 1/(i+1) of it, so that a thousand have 180 KB in all.
_SHARED = 24 * 1024
_LEAST_SHARE = 256   # below, a claim is as long as what it stands for
_LONGEST = 900.0     # seconds; no Lambda function runs longer
_RECORDING = 30.0    # seconds after an attempt's end in which its result is still tried to be recorded
_REPORT = 0.2        # seconds before the function's own end in which the last try to record a result must be over
_MAX_CAUSE = 30_000  # characters; Step Functions cuts a cause at 32,768
# What a step whose turn has not come leaves under: every state that calls Lambda tries this name again, at no byte more.
WAITS = "Lambda.TooManyRequestsException"
_MAX_MESSAGE = 4_000  # characters of a message in a record


@dataclass(slots=True)
class StepRun:
    """Who is running. `execution` is an id, or an ARN when the machine was started by hand; `deadline` is monotonic.
    `entered` is in epoch seconds.

    `run` is the number of the execution's run, `attempt` counts the retries in it: 0 on the first attempt. `since` is the run
    for which what the step did before was set aside (it was undone, or is to be done again); 0 for none. `usage` are
    measures that count although the attempt fails; a step that returns a result puts them into that.
    """

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
    entered: float | None = None
    run: int = 1
    since: int = 0
    user: str = ""
    guard: Guard = field(default_factory=Guard)
    redactor: secrets.Redactor = field(default_factory=secrets.Redactor)
    usage: dict[str, float] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """`step`, or `step[2][0]` inside of loops."""
        return _label(self.step, self.iteration)

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this step in this iteration of this execution, in later runs too, and for nothing else.

        Where the step is meant to act again, because it was undone, restored or run again by name, it is another one.
        """
        again = (f"since {self.since}",) if self.since else ()
        text = "\x00".join((self.tenant, self.execution, self.step, *map(str, self.iteration), *again))
        return str(uuid.UUID(bytes=hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16], version=5))

    def remaining(self, limit: float | None = None) -> float:
        """Seconds left for this attempt, at most `limit`; never less than a millisecond."""
        left = self.deadline - time.monotonic()
        return max(0.001, left if limit is None else min(left, limit))


def step(step_type: str, model: type[ConfigT], *, with_secrets: bool = True, records: bool = True, with_claims: bool = True
) -> Callable[
    [Callable[[ConfigT, StepRun], StepResult]], Handler
]:
    """Makes a Lambda handler of a function `(config, run) -> StepResult`.

    `with_secrets=False` leaves the places of secrets as they are, for a step that hands its configuration on.
    `with_claims=False` leaves stored values as they are, for what only passes them on.
    `records=False` is for a step that does not end with this call, such as one that waits for an answer.
    """

    def decorate(logic: Callable[[ConfigT, StepRun], StepResult]) -> Handler:
        @functools.wraps(logic)
        def handler(event: Any, context: Any) -> StepResult:
            observability.listen()
            run: StepRun | None = None
            record: _Record | None = None
            raw: Any = None
            try:
                run = read_run(step_type, event, context)
                record = _Record(run, context, time.monotonic())
                known = record.begin(event) if records else None
                if known is not None:
                    return _fitting(known, event, run)
                refuse_further(run, event.get("retry"))
                stored = bootstrap.claims(run.settings, run.tenant)
                raw = stored.resolve(event["config"]) if with_claims else event["config"]
                places = stored.resolve(event.get("secrets") or {})
                kept = Kept.of(event.get("cache"), raw, places, run)
                found = kept.read() if kept is not None else None
                if found is not None:
                    done: StepResult = {"output": found[0], "usage": {"cached": 1}}
                else:
                    if with_secrets and places:
                        raw = secrets.resolve(raw, places, run.tenant, bootstrap.secrets(run.settings), run.redactor)
                    done = checked(logic(parse(model, raw), run), run)
                given = _fitting(done, event, run)  # before it is recorded: what cannot be passed on has failed
                counts = record.complete(done)
                if kept is not None and found is None:
                    kept.write(counts["output"])
                return given if counts is done else _fitting(counts, event, run)
            except (Exception, SystemExit) as error:  # whatever it is, it must leave without secrets
                failure = _failure(error, event, run)
                if record is not None:
                    record.fail(error)
            finally:
                del raw  # a tool that shows the variables of a traceback's frames must not find secrets
            # Raised out here so that no traceback carries the values that the logic worked on.
            raise failure

        return handler

    return decorate


class _Settled(Exception):
    """A failure of an earlier run that the workflow went on after: it is found again, not repeated."""

    def __init__(self, failure: Failure | None) -> None:
        self.failure = failure or Failure("States.TaskFailed", "failed in an earlier run")
        super().__init__(self.failure.message)


@dataclass(slots=True)
class _Record:
    """What is written down of one invocation. Without `begin` only the log knows of it."""

    run: StepRun
    context: Any
    started: float  # monotonic
    lease: Lease | None = None
    began: StepRecord | None = None

    def begin(self, event: StepInvocation) -> StepResult | None:
        """What the step has given already, if it has. Raises _Settled for a failure that stays, StepInProgress."""
        run = self.run
        if not run.execution:
            raise ValidationError("the payload does not say which execution it belongs to")
        part = _part(run.type, event)
        key = StepKey(run.tenant, run.execution, f"{part} {run.step}" if part else run.step, run.iteration)
        limit = run.remaining()
        longest = limit + _RECORDING
        if hasattr(self.context, "get_remaining_time_in_millis"):
            longest = min(longest, self.context.get_remaining_time_in_millis() / 1000 - _REPORT)
        began = None if run.entered is None else round(1e6 * run.entered)
        self.lease = Lease(bootstrap.steps(run.settings), key, run.type, run.run, run.workflow, limit, longest, began)
        record = self.lease.begin()
        if record.settled:
            raise _Settled(record.error)
        if record.status == "completed":
            self._log("recorded")
            return {"output": record.output}
        self.began = record
        run.since = record.since
        if "attempt" not in event:
            run.attempt = record.attempts - 1
        return None

    def complete(self, done: StepResult) -> StepResult:
        """Records the result; gives the one that counts. Raises StepInProgress when it cannot be recorded."""
        usage = self._usage(done.get("usage"))
        if self.lease is not None and self.began is not None:
            began, self.began = self.began, None  # from here on a failure is one of recording, not of the step
            record = self.lease.finish(began, done["output"], usage)
            if record.settled:
                raise _Settled(record.error)
            if record.owner != self.lease.owner:
                done = {"output": record.output}
        self._log("completed", usage=usage)
        return done

    def fail(self, error: BaseException) -> None:
        """Records that the attempt failed, unless it had not begun."""
        failure = Failure(_name(error), self.run.redactor.text(_message(error))[:_MAX_MESSAGE], self.run.step,
            self.run.iteration)
        usage = self._usage(self.run.usage)
        if self.lease is not None and self.began is not None:
            self.lease.fail(self.began, failure, usage)
        outcome = "in_progress" if isinstance(error, StepInProgress) else "failed"
        self._log(outcome, failure.error, failure.message, usage)

    def _usage(self, own: Mapping[str, Any] | None) -> dict[str, float]:
        """The measures of all attempts: the step's own, the time that Lambda bills, its memory, and retries."""
        before = self.began.usage if self.began is not None else {}
        found = dict(before)
        measures = {"billed_ms": math.ceil(1000 * (time.monotonic() - self.started)), **(own or {})}
        for name, value in measures.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
                found[name] = before.get(name, 0) + value
        memory = getattr(self.context, "memory_limit_in_mb", None)
        if memory is not None:
            found["memory_mb"] = float(memory)
        if self.began is not None and self.began.total_attempts > 1:
            found["retries"] = self.began.total_attempts - 1
        return found

    def _log(self, outcome: str, error: str = "", message: str = "", usage: Mapping[str, float] | None = None) -> None:
        run = self.run
        ids = observability.step_ids(
            tenant=run.tenant, workflow=run.workflow, execution=run.execution, run=run.run, step=run.step, type=run.type,
            iteration=run.iteration, attempt=run.attempt,
        )
        observability.step_ended(
            ids, outcome=outcome, duration_ms=1000 * (time.monotonic() - self.started), retries=run.attempt, error=error,
            message=message, usage=usage,
        )


def _part(step_type: str, event: StepInvocation) -> str:
    """What the call does for its step; empty for the step itself.

    Expressions that are evaluated for a step are not the step: they are told apart by what they are.
    """
    part = event.get("part")
    if part is None and isinstance(event["config"], dict) and list(event["config"]) == ["evaluate"]:
        evaluate = event["config"]["evaluate"]
        trees = repr(evaluate.get("expressions")) if isinstance(evaluate, dict) else ""
        part = "evaluate:" + hashlib.sha256(trees.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return str(part or "")


def refuse_further(run: StepRun, plan: RetryPlan | None) -> None:
    """Raises StepTimeout for an attempt beyond the plan's: attempts that time out are counted by a rule of their own."""
    most = None if plan is None else plan.get("most", plan["max_attempts"])
    if most is not None and run.attempt >= most:
        raise StepTimeout(f"no attempt is left ({most} at most)")


def read_run(step_type: str, event: Any, context: Any) -> StepRun:
    """The invocation's facts. Raises ValidationError for a payload that is none."""
    if not isinstance(event, dict) or not isinstance(event.get("step"), str) or "config" not in event:
        raise ValidationError(f"this is not the payload of a {step_type} step: it needs `step` and `config`")
    info = event.get("execution") or {}
    if isinstance(info, str):
        info = {"id": info}
    if not isinstance(info, dict):
        raise ValidationError("`execution` of the payload is neither an ARN nor an object")
    limit = _LONGEST
    if event.get("timeout") is not None:
        limit = min(limit, _number(event, "timeout", float))
    if context is not None and hasattr(context, "get_remaining_time_in_millis"):
        left = context.get_remaining_time_in_millis() / 1000
        limit = min(limit, left - min(_RESERVE, left / 10))
    iteration = event.get("iteration") or ()
    if not isinstance(iteration, list | tuple) or not all(_is_index(index) for index in iteration):
        raise ValidationError("`iteration` of the payload is no list of indexes")
    plan = event.get("retry")
    if plan is not None and not _is_plan(plan):
        raise ValidationError("`retry` of the payload is no plan of retries")
    return StepRun(
        step=event["step"],
        type=str(event.get("type") or step_type),
        execution=str(info.get("id") or ""),
        tenant=str(info.get("tenant") or "default"),
        workflow=str(info.get("workflow") or ""),
        user=str(info.get("user") or ""),
        iteration=tuple(int(index) for index in iteration),
        attempt=_number(event, "attempt", int),
        deadline=time.monotonic() + limit,
        token=event.get("token"),
        entered=_moment(event.get("entered")),
        settings=Settings.read(),
        run=_number(info, "run", int) or 1,
        guard=parse(Guard, event.get("guard") or {}),
    )


def _number(given: Mapping[str, Any], name: str, kind: Callable[[Any], N]) -> N:
    """A number that is not below 0; 0 when it is not given."""
    value = given.get(name)
    if value is None:
        return kind(0)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e15:
        raise ValidationError(f"`{name}` of the payload is no number of the kind that belongs there")
    return kind(value)


def _moment(text: Any) -> float | None:
    """Epoch seconds of a moment in ISO 8601."""
    try:
        return None if text is None else datetime.fromisoformat(text).timestamp()
    except (TypeError, ValueError):
        raise ValidationError("`entered` of the payload is no moment") from None


def _is_index(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9 and value == int(value)


def _is_plan(plan: Any) -> bool:
    if not isinstance(plan, dict) or not isinstance(plan.get("delays"), list) or not isinstance(plan.get("on"), list):
        return False
    numbers = [plan.get("max_attempts"), plan.get("most", 1), *plan["delays"]]
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in numbers)


def checked(result: StepResult, run: StepRun) -> StepResult:
    """The result without secrets, its integers exact. Raises PayloadTooLarge for more than can be stored, ValidationError for
    no JSON.
    """
    try:
        clean: StepResult = exact(run.redactor.json(result))
        length = size(clean)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(f"the result is not JSON: {error}") from None
    if length > claims.LARGEST:
        raise PayloadTooLarge(f"the result has {length:,} bytes of JSON; {claims.LARGEST:,} are the most")
    return clean


def _fitting(result: StepResult, event: StepInvocation, run: StepRun) -> StepResult:
    """The result as the state machine takes it: what is large is stored, and a claim stands in its place."""
    given = event.get("claims") or {}
    rules: ClaimRules = {"open": [""], "over": given * 1024} if isinstance(given, int) else given
    over = rules.get("over", CLAIM_THRESHOLD)
    if rules.get("shared"):
        over = min(over, max(_LEAST_SHARE, _SHARED // math.prod(index + 1 for index in run.iteration)))
    room = MAX_PAYLOAD - _AROUND - size(result.get("usage") or {}) - size(result.get("artifacts") or [])
    stored = bootstrap.claims(run.settings, run.tenant)
    output = stored.fit(
        result["output"], run.execution, over=over, keep=rules.get("keep", ()), open=rules.get("open", ()), most=room
    )
    return {**result, "output": output}


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


def _failure(error: BaseException, event: StepInvocation | Any, run: StepRun | None) -> Exception:
    """The exception that leaves the handler: the right name, the step in front, no secrets, no chain."""
    message = _message(error)
    if run is not None and getattr(error, "of_step", None) is None:  # which says it already
        message = f"step {run.label}: {run.redactor.text(message)}"
    message = message[:_MAX_CAUSE]
    name: str | None = None
    plan = event.get("retry") if isinstance(event, dict) else None
    # A failure that stays is not retried; who waits for another attempt is retried by the machine's own rule.
    if run is not None and plan and isinstance(error, Exception) and not isinstance(error, _Settled | StepInProgress):
        name = retry_name(error, run.attempt, plan)
        if name is not None:
            message = f"{message} ({type(error).__name__})"
    retry_after = getattr(error, "retry_after", None)
    ours = type(error).__module__ == StepError.__module__ and not isinstance(error, StepInProgress)
    if name is None and isinstance(error, StepError) and ours:
        clean = type(error).__new__(type(error))
        StepError.__init__(clean, message, retry_after=retry_after)
        return clean
    return named(name or _name(error), message, retry_after=retry_after)


def _name(error: BaseException) -> str:
    """The error's name in the state machine."""
    if isinstance(error, StepInProgress):
        return WAITS
    if isinstance(error, _Settled):
        return error.failure.error
    return "Runtime.ExitError" if isinstance(error, SystemExit) else type(error).__name__


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the step's code ended its process with {error.code}"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a class of somebody else's, which fails at this
        return f"{_name(error)}, whose text cannot be read"
    if isinstance(error, KeyError):
        return f"missing key {text}"
    return text or _name(error)


def _label(name: str, iteration: tuple[int, ...]) -> str:
    return name + "".join(f"[{index}]" for index in iteration)


def result(output: Json, **usage: float) -> StepResult:
    """A step's result; `usage` are its measures (tokens_in, tokens_out, calls)."""
    return {"output": output, "usage": usage} if usage else {"output": output}
