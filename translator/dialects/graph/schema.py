"""The shape of a `graph` definition: nodes with a type and properties, joined by connections that carry data.

Nodes, connections and settings may also stand under `workflow_data`. Canonical keys are taken as well; a node's and
the settings' `retry` have this dialect's meaning (milliseconds, `max_retries`).
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from translator.dialects.canonical import schema as canonical
from translator.dialects.canonical.schema import EMPTY, Id, Strict

Milliseconds = Annotated[int | float, Field(ge=0, le=99_999_999_000)]
Output = str | bool


class Retry(Strict):
    """How a failed node is repeated. `max_retries` counts what comes after the first attempt."""

    strategy: Literal["immediate", "fixed", "linear", "exponential", "fibonacci", "adaptive"] = "exponential"
    max_retries: Annotated[int | None, Field(ge=0, le=99)] = None
    max_attempts: Annotated[int | None, Field(ge=1, le=100)] = None
    delay: Annotated[Milliseconds | None, Field(description="milliseconds before the first retry")] = None
    max_delay: Milliseconds | None = None
    multiplier: Annotated[int | float | None, Field(ge=1, le=100)] = None
    jitter: bool | None = None
    on: list[str] = EMPTY


class Branch(Strict):
    """A canonical branch with nodes in it."""

    name: str = ""
    steps: list[Node] = EMPTY


class Node(canonical.Step):
    """One node. `properties` are the settings of its type."""

    id: Id
    type: Annotated[str, Field(min_length=1)]
    position: Annotated[dict[str, int | float] | list[int | float] | None, Field(description="x and y")] = None
    properties: dict[str, Any] = EMPTY
    retry: Retry | None = None  # type: ignore[assignment]
    compensation: Node | None = None
    steps: list[Node] = EMPTY  # type: ignore[assignment]
    branches: list[Branch] = EMPTY  # type: ignore[assignment]


class Connection(Strict):
    """Data goes from `source` to `target`, by the named output and input."""

    source: Id
    target: Id
    source_output: Annotated[Output, Field(alias="sourceOutput")] = "main"
    target_input: Annotated[str, Field(alias="targetInput")] = "main"
    when: Annotated[str | None, Field(description="expression; the connection is live when it is true")] = None


class CircuitBreaker(Strict):
    """When calls are stopped after failures, and tried again."""

    failure_threshold: Annotated[int, Field(ge=1, le=1000)] = 5
    recovery_timeout: Milliseconds = 60_000
    success_threshold: Annotated[int, Field(ge=1, le=100)] = 3


class Settings(canonical.Settings):
    """Settings of the whole workflow; `timeout` is in seconds."""

    retry: Retry | None = None  # type: ignore[assignment]
    circuit_breaker: CircuitBreaker | None = None  # type: ignore[assignment]
    continue_on_error: bool | None = None
    max_execution_time: Annotated[Milliseconds | None, Field(description="milliseconds until people are told")] = None
    data_flow: Annotated[bool, Field(description="false: a node gets only what its texts refer to")] = True


class Data(Strict):
    """The stored form of a graph."""

    nodes: Annotated[list[Node], Field(min_length=1)]
    connections: list[Connection] = EMPTY
    settings: Settings = Settings()


class Definition(canonical.Definition):
    """A whole definition."""

    dialect: str = "graph"  # type: ignore[assignment]
    id: str | int = ""  # type: ignore[assignment]
    version: Any = ""
    organization_id: str | int | None = None
    user_id: str | int | None = None
    workflow_data: Data | None = None
    nodes: list[Node] = EMPTY
    connections: list[Connection] = EMPTY
    settings: Settings = Settings()
    steps: Annotated[list[Any], Field(max_length=0)] = EMPTY
    rollback: list[Node] = EMPTY  # type: ignore[assignment]
    finally_: Annotated[list[Node], Field(alias="finally")] = EMPTY  # type: ignore[assignment]


class Scope(Strict):
    """The nodes inside of a loop."""

    nodes: list[Node]
    connections: list[Connection] = EMPTY


class Branches(Strict):
    """The branches inside of a parallel node."""

    branches: list[Branch]
