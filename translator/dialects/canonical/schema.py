"""The canonical spelling: what every dialect is rewritten to, and a dialect of its own.

These models check shape and types only. Texts in fields marked *template* may hold `{{ expression }}`; fields marked
*expression* are expressions without delimiters. All times are seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Seconds = (
    Annotated[int | float, Field(ge=0, le=99_999_999)]
    | Annotated[str, Field(max_length=60, description="`30s`, `1h30m` or `PT15M`")]
)
Id = Annotated[str, Field(min_length=1, max_length=200)]
Action = Literal["fail", "continue", "retry", "rollback", "compensate", "escalate"]
Template = Any
# Of lists and mappings that may be left out. Models only check, so nobody reads it; of [] pydantic would make a copy each time.
EMPTY: Any = ()


class Strict(BaseModel):
    """Unknown keys and silent conversions are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Retry(Strict):
    """How a failed attempt is repeated. `max_attempts` counts the first one too."""

    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    strategy: Literal["immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive"] = "exponential"
    delay: Annotated[Seconds, Field(description="seconds before the first retry")] = 1
    max_delay: Seconds | None = None
    multiplier: Annotated[int | float, Field(ge=1, le=100)] = 2
    jitter: bool = False
    on: Annotated[list[str], Field(description="error names to retry; empty: every retryable error")] = EMPTY


class OnFailure(Strict):
    """What a failure that is still there after all retries leads to."""

    action: Action
    max_retries: Annotated[int | None, Field(ge=0, le=100)] = None  # with action retry: that many more attempts
    then: Action | None = None  # with action retry: what decides when those failed too; with escalate: what no answer means
    approvers: str | list[str] = EMPTY  # with action escalate: who is asked
    timeout: Seconds | None = None  # with action escalate: seconds to wait for the answer


class Dependency(Strict):
    """An edge. Without `on` and `when` it is always live once its step is settled."""

    step: Id
    on: Annotated[list[str], Field(description="outcomes of the choice `step` that make the edge live")] = EMPTY
    when: Annotated[str | None, Field(description="expression; the edge is live when it is true")] = None


class Case(Strict):
    """An outcome of a choice: `name` is what edges refer to by `on`."""

    name: Id
    when: str  # expression


class Branch(Strict):
    name: str = ""
    steps: list[Step] = EMPTY


class Cache(Strict):
    ttl: Seconds = 3600
    key: Template = None


class Step(Strict):
    """One step. `depends_on` alone orders steps: a step without it starts at once."""

    id: Id
    name: str = ""
    description: str = ""
    type: str
    config: Annotated[dict[str, Any], Field(description="template: the settings of the step's type")] = EMPTY
    depends_on: list[Id | Dependency] = EMPTY
    when: Annotated[str | bool | None, Field(description="expression; false skips this step alone")] = None
    output_key: str = ""
    retry: Retry | None = None
    timeout: Annotated[Seconds | None, Field(description="seconds for each attempt")] = None
    heartbeat: Seconds | None = None
    on_failure: Action | OnFailure | None = None
    compensation: Step | None = None
    undo_failed: Annotated[bool | None, Field(description="true: its compensation also runs when it failed")] = None
    cache: Cache | bool | None = None
    checkpoint: bool | None = None
    pure: Annotated[bool | None, Field(description="true: the step has no side effect")] = None
    labels: dict[str, Any] = EMPTY
    # choice
    cases: list[Case] = EMPTY
    default: Annotated[str, Field(description="name of the outcome when no case is true")] = ""
    mode: Literal["first", "all"] = "first"
    # parallel
    branches: list[Branch] = EMPTY
    wait_for_all: bool = True
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None  # parallel and foreach
    # foreach
    items: Annotated[str | list[Any] | None, Field(description="template: the list to go through")] = None
    item_name: str = "item"
    index_name: str = "index"
    steps: list[Step] = EMPTY
    batch_size: Annotated[int | None, Field(ge=1, le=10_000)] = None
    on_item_error: Literal["fail", "continue"] = "fail"
    # wait
    seconds: Annotated[int | float | str | None, Field(description="template: how long to wait")] = None
    until: Annotated[str | None, Field(description="template: an ISO 8601 instant to wait for")] = None
    # workflow
    workflow: str = ""
    input: Template = None
    wait_for_completion: bool = True


class Input(Strict):
    """A declared input, in the words of JSON Schema."""

    type: Literal["string", "number", "integer", "boolean", "array", "object", "any"] = "any"
    required: bool = False
    default: Any = None
    description: str = ""
    enum: list[Any] | None = None
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    pattern: str | None = None
    format: str | None = None
    items: dict[str, Any] | None = None
    properties: dict[str, Any] | None = None


class Checkpoint(Strict):
    policy: Literal["none", "every_node", "every_n", "on_failure", "interval", "manual", "durable"] = "every_node"
    every: Annotated[int | None, Field(ge=1)] = None
    interval: Seconds | None = None


class RateLimit(Strict):
    """How often each endpoint and each skill may be called: `calls` in every `per` seconds."""

    calls: Annotated[int, Field(ge=1, le=1_000_000)]
    per: Annotated[int, Field(ge=1, le=86_400)] = 60


class CircuitBreaker(Strict):
    """When calls of an endpoint or a skill stop after failures, and are tried again. Times are seconds."""

    failure_threshold: Annotated[int, Field(ge=1, le=1000)] = 5
    recovery_timeout: Annotated[int | float, Field(ge=1, le=86_400)] = 60
    success_threshold: Annotated[int, Field(ge=1, le=100)] = 3


class Settings(Strict):
    rate_limit: RateLimit | None = None
    circuit_breaker: CircuitBreaker | None = None
    timeout: Seconds | None = None
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None
    on_error: Action | OnFailure | None = None
    retry: Retry | None = None
    checkpoint: Checkpoint | None = None
    execution: Literal["auto", "standard", "express"] = "auto"
    strategy: Annotated[
        Literal["auto", "levels", "barriers", "chains", "exact", "hinted"],
        Field(description="how steps wait for each other where their order is not series-parallel"),
    ] = "auto"
    durations: Annotated[
        dict[str, Annotated[int | float, Field(ge=0, le=99_999_999)]],
        Field(description="about how many seconds steps take, by their ids: `auto` takes barriers where they cost no time"),
    ] = EMPTY
    sla: Seconds | None = None
    alert_on_sla_breach: bool | None = None
    track_cost: bool | None = None
    track_duration: bool | None = None
    concurrency: Annotated[int | None, Field(ge=1)] = None
    overlap: Literal["skip", "queue", "allow", "cancel_running"] | None = None
    priority: str | None = None


class Notification(Strict):
    """A message at the end of an execution. It can never make the execution fail."""

    on: list[Literal["completed", "failed"]]
    config: dict[str, Any]  # the settings of a notify step


class ErrorHandler(Strict):
    """What a failure with one of `errors` leads to, for steps without an `on_failure` of their own."""

    errors: list[str]  # names; "*" stands for every error
    action: Action
    max_retries: Annotated[int | None, Field(ge=0, le=100)] = None
    then: Action | None = None
    approvers: str | list[str] = EMPTY
    timeout: Seconds | None = None
    notify: bool = False
    steps: list[str] = EMPTY  # ids of rollback steps


class Trigger(Strict):
    type: Literal["manual", "schedule", "webhook", "event", "workflow"]
    config: dict[str, Any] = EMPTY


class Definition(Strict):
    """A whole definition."""

    dialect: Literal["canonical"] = "canonical"
    id: str = ""
    name: str = ""
    version: str = ""
    description: str = ""
    labels: dict[str, Any] = EMPTY
    inputs: Annotated[dict[str, Input] | None, Field(description="missing: any input is taken")] = None
    outputs: Annotated[dict[str, Any] | None, Field(description="template: the output of an execution")] = None
    output_types: dict[str, Any] = EMPTY
    variables: Annotated[dict[str, Any], Field(description="template: evaluated when an execution starts")] = EMPTY
    settings: Settings = Settings()
    notifications: list[Notification] = EMPTY
    error_handlers: list[ErrorHandler] = EMPTY
    rollback: list[Step] = EMPTY
    triggers: list[Trigger] = EMPTY
    steps: list[Step]
    finally_: Annotated[list[Step], Field(alias="finally")] = EMPTY
