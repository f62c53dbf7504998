"""The shape of a `stages` definition: `workflow:` with stages that run one after another.

Times are seconds, or texts with a unit (`30s`, `PT15M`). Canonical keys are taken as well, in the workflow and in
steps.
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from translator.dialects.canonical import schema as canonical
from translator.dialects.canonical.schema import EMPTY, Dependency, Id, Seconds, Strict

Failure = Literal["abort", "fail", "stop", "continue", "skip", "retry", "rollback", "compensate", "escalate"]
TypeName = Literal[
    "string", "str", "text", "number", "float", "double", "integer", "int", "boolean", "bool", "array", "list",
    "object", "dict", "map", "any",
]
Backoff = Literal["immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive"]


class OnFailure(Strict):
    action: Failure
    max_retries: Annotated[int | None, Field(ge=0, le=100)] = None
    then: Failure | None = None
    approvers: str | list[str] = EMPTY
    timeout: Annotated[Seconds | None, Field(description="seconds to wait for an answer to an escalation")] = None


class Retry(canonical.Retry):
    """`max_attempts` counts the first attempt, `backoff` names the strategy."""

    backoff: Backoff | None = None


class Metadata(Strict):
    """What surrounds the workflow: who wrote it, and the defaults of its steps."""

    author: str | None = None
    tags: list[str] = EMPTY
    timeout: Annotated[Seconds | None, Field(description="of the whole execution")] = None
    retry_policy: Annotated[Retry | None, Field(description="of steps without a `retry` of their own")] = None
    priority: str | None = None
    labels: dict[str, Any] = EMPTY


class Parameter(canonical.Input):
    """A declared input."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    type: TypeName = "any"  # type: ignore[assignment]


class Context(Strict):
    preserve: bool | None = None
    merge_strategy: Literal["deep", "shallow", "replace", "override"] | None = None


class Caching(Strict):
    """When a result may be used again."""

    enabled: bool = True
    key: Any = None
    key_pattern: Annotated[Any, Field(description="the same as `key`")] = None
    ttl: Seconds | None = None
    invalidation_rules: list[Any] | dict[str, Any] | None = None


class Compensation(canonical.Step):
    """A step that undoes another; its id follows from that step's when it has none."""

    id: Id = "-"
    type: str = "skill"
    skill: str = ""
    parameters: Any = None
    timeout: Seconds | None = None
    retry: Retry | None = None
    on_failure: Failure | OnFailure | None = None  # type: ignore[assignment]
    compensation: None = None
    steps: list[Step] = EMPTY  # type: ignore[assignment]
    branches: list[Branch] = EMPTY  # type: ignore[assignment]


class Branch(Strict):
    name: str = ""
    steps: list[Step] = EMPTY


class Step(canonical.Step):
    """One step of a stage. `skill`, `workflow` or `decision` says what it does; `parameters` are its settings."""

    type: Annotated[str, Field(description="skill when the step has a `skill`, and so on")] = ""
    skill: str = ""
    decision: Annotated[
        str | bool | dict[str, Any] | None, Field(description="a condition, or one with branches")] = None
    parameters: Any = None
    depends_on: Id | Dependency | list[Id | Dependency] | None = None  # type: ignore[assignment]
    retry: Retry | None = None
    on_failure: Failure | OnFailure | None = None  # type: ignore[assignment]
    compensation: str | Compensation | None = None  # type: ignore[assignment]
    compensation_on_failure: str | Compensation | None = None
    caching: Caching | bool | None = None
    has_side_effects: bool | None = None
    branches: list[Branch] = EMPTY  # type: ignore[assignment]
    steps: list[Step] = EMPTY  # type: ignore[assignment]


class Stage(Strict):
    """Steps that run one after another, or side by side with `parallel`."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    description: str = ""
    parallel: bool = False
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None
    when: str | bool | None = None
    steps: list[Step]


class ErrorHandler(Strict):
    """What a failure with `error` leads to; `*` stands for every error."""

    error: Annotated[str | list[str] | None, Field(description="name of an error, or several")] = None
    errors: list[str] | None = None
    action: Failure
    notify: bool = False
    steps: list[str] = EMPTY
    max_retries: Annotated[int | None, Field(ge=0, le=100)] = None
    then: Failure | None = None
    approvers: str | list[str] = EMPTY
    timeout: Annotated[Seconds | None, Field(description="seconds to wait for an answer to an escalation")] = None


class Rollback(Strict):
    steps: list[Step] = EMPTY


class Workflow(canonical.Definition):
    """What stands under `workflow:`."""

    version: str | int | float = ""  # type: ignore[assignment]
    metadata: Metadata | None = None
    parameters: list[Parameter] = EMPTY
    context: Context | None = None
    stages: list[Stage]
    steps: None = None  # type: ignore[assignment]
    error_handlers: list[ErrorHandler] = EMPTY  # type: ignore[assignment]
    rollback: Rollback | list[Step] | None = None  # type: ignore[assignment]
    finally_: Annotated[list[Step], Field(alias="finally")] = EMPTY  # type: ignore[assignment]


class Definition(Strict):
    """A whole definition."""

    workflow: Workflow
