"""The shape of a `steps` definition: a list of steps with `type` and `config`, run in order unless `depends_on` says
otherwise.

Times of this dialect's own keys (`timeout`, `initial_delay`, `retry_delay`) are milliseconds, or texts with a unit
(`30s`). Canonical keys are taken as well, with their meaning there.
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from translator.dialects.canonical import schema as canonical
from translator.dialects.canonical.schema import EMPTY, Dependency, Id, Seconds, Strict

Milliseconds = Annotated[int | float, Field(ge=0, le=99_999_999_000)] | Annotated[str, Field(max_length=60)]
Failure = Literal["fail", "abort", "stop", "continue", "skip", "retry", "rollback", "compensate", "escalate"]
Strategy = Literal["immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive"]


class OnFailure(Strict):
    action: Failure
    max_retries: Annotated[int | None, Field(ge=0, le=100)] = None
    then: Failure | None = None
    approvers: str | list[str] = EMPTY
    timeout: Annotated[Seconds | None, Field(description="seconds to wait for an answer to an escalation")] = None


class Retry(canonical.Retry):
    """`max_attempts` counts the first attempt; `initial_delay` is in milliseconds, `backoff` names the strategy."""

    backoff: Strategy | None = None
    initial_delay: Milliseconds | None = None


class Branch(Strict):
    name: str = ""
    steps: list[Step] = EMPTY


class Step(canonical.Step):
    """One step. Without `depends_on` it waits for everything before it in the list."""

    depends_on: Id | Dependency | list[Id | Dependency] | None = None  # type: ignore[assignment]
    timeout: Annotated[Milliseconds | None, Field(description="milliseconds for each attempt")] = None
    retry: Retry | None = None
    on_failure: Failure | OnFailure | None = None  # type: ignore[assignment]
    compensation: Step | None = None
    branches: list[Branch] = EMPTY  # type: ignore[assignment]
    steps: list[Step] = EMPTY  # type: ignore[assignment]


class SubStep(Step):
    """A step inside of a parallel one; its id follows from its place when it has none."""

    id: Id = "-"


class ParallelConfig(Strict):
    """The `config` of a parallel step. Each of `steps` runs beside the others."""

    steps: list[SubStep] = EMPTY
    branches: list[Branch] = EMPTY
    wait_for_all: bool = True
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None


class ForeachConfig(Strict):
    """The `config` of a loop."""

    items: str | list[Any] | None = None
    item_name: str = "item"
    index_name: str = "index"
    steps: list[Step] = EMPTY
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None
    batch_size: Annotated[int | None, Field(ge=1, le=10_000)] = None
    on_item_error: Literal["fail", "continue"] = "fail"


class DelayConfig(Strict):
    """The `config` of a delay: one of these."""

    duration_ms: int | float | str | None = None
    duration: Annotated[int | float | str | None, Field(description="milliseconds, or a text such as `30s`")] = None
    seconds: int | float | str | None = None
    until: Annotated[str | None, Field(description="an ISO 8601 instant")] = None


class WorkflowConfig(Strict):
    """The `config` of a step that runs another workflow."""

    workflow: str = ""
    workflow_id: Annotated[str, Field(description="the same as `workflow`")] = ""
    input: Any = None
    wait_for_completion: bool = True


class ErrorHandling(Strict):
    """What a failed step leads to, and how steps without a `retry` of their own are retried."""

    on_error: Failure | None = None
    max_retries: Annotated[int | None, Field(ge=0, le=99)] = None
    retry_delay: Annotated[Milliseconds | None, Field(description="milliseconds before each retry")] = None


class Definition(canonical.Definition):
    """A whole definition."""

    version: str | int | float = ""  # type: ignore[assignment]
    error_handling: ErrorHandling | None = None
    rollback: list[Step] = EMPTY  # type: ignore[assignment]
    steps: list[Step]  # type: ignore[assignment]
    finally_: Annotated[list[Step], Field(alias="finally")] = EMPTY  # type: ignore[assignment]
