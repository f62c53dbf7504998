"""The shape of an `agents` definition: nodes that name an agent, joined by edges.

`metadata` may be left out when `name` stands at the top. Canonical keys are taken as well; a node's `input` and
`retry`, and `settings.execution`, have this dialect's meaning.
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from translator.dialects.canonical import schema as canonical
from translator.dialects.canonical.schema import EMPTY, Id, Seconds, Strict

Keys = str | list[str]
Holes = str  # a text that may hold `{state.x}`
Role = Literal["map", "reduce", "orchestrator", "worker", "synthesizer", "sequential", "conditional", "parallel"]


class Metadata(Strict):
    """Who the workflow is. Everything but id, name, description and version becomes a label."""

    id: str = ""
    name: str = ""
    description: str = ""
    version: Any = ""  # read by common.version
    created_by: Any = None
    created_at: Any = None
    updated_at: Any = None
    tags: list[str] = EMPTY


class Retry(canonical.Retry):
    """Attempts, the first one included; `backoff` says how the delay grows."""

    backoff: Literal["immediate", "fixed", "constant", "linear", "exponential", "fibonacci", "adaptive"] | None = None


class Branch(Strict):
    """A canonical branch with nodes in it."""

    name: str = ""
    steps: list[Node] = EMPTY


class Node(canonical.Step):
    """One node. `parameters` are the settings of its agent."""

    id: Id
    agent: Annotated[str, Field(min_length=1)]
    type: str | None = None  # type: ignore[assignment]
    pattern: Role | None = None
    role: Role | None = None
    parameters: dict[str, Any] = EMPTY
    input: Keys | None = None
    input_keys: Keys | None = None
    output: str = ""
    retry: Retry | None = None
    compensation: Node | None = None
    steps: list[Node] = EMPTY  # type: ignore[assignment]
    branches: list[Branch] = EMPTY  # type: ignore[assignment]


class Edge(Strict):
    """A connection; `condition` is an expression, an outcome of a router, or a label of it."""

    from_: Annotated[Id, Field(alias="from")]
    to: Id
    type: Literal["sequential", "conditional", "parallel", "map", "reduce", "map_reduce", "orchestrator_worker"] | None = None
    condition: str | bool | None = None
    on: list[str] = EMPTY
    when: str | None = None


class StateSchema(Strict):
    """JSON Schemas of what goes in and what comes out."""

    input: dict[str, Any] | None = None
    output: dict[str, Any] | None = None


class Checkpointing(Strict):
    """When the state of an execution is kept."""

    enabled: bool = True
    frequency: str = "every_node"


class ErrorHandling(Strict):
    """What a failed node leads to, and who hears of it."""

    on_failure: canonical.Action | Literal["stop"] | None = None
    notify_on_failure: bool = False
    notification_channel: str | None = None


class Monitoring(Strict):
    """What is measured, and the time an execution may take."""

    track_cost: bool | None = None
    track_duration: bool | None = None
    alert_on_sla_breach: bool | None = None
    sla_seconds: Seconds | None = None


class Execution(Strict):
    """Limits of an execution."""

    max_concurrent_nodes: Annotated[int | None, Field(ge=1, le=10_000)] = None
    timeout_seconds: Seconds | None = None


class Settings(canonical.Settings):
    """Settings of the whole workflow."""

    checkpointing: Checkpointing | None = None
    error_handling: ErrorHandling | None = None
    monitoring: Monitoring | None = None
    execution: Execution | Literal["auto", "standard", "express"] = "auto"  # type: ignore[assignment]


class Definition(canonical.Definition):
    """A whole definition."""

    dialect: str = "agents"  # type: ignore[assignment]
    metadata: Metadata = Metadata()
    pattern: Literal["sequential", "conditional", "map_reduce", "orchestrator_worker", "parallel"] | None = None
    version: Any = ""
    state_schema: StateSchema | None = None
    nodes: Annotated[list[Node], Field(min_length=1)]
    edges: list[Edge] = EMPTY
    settings: Settings = Settings()
    steps: Annotated[list[Any], Field(max_length=0)] = EMPTY
    rollback: list[Node] = EMPTY  # type: ignore[assignment]
    finally_: Annotated[list[Node], Field(alias="finally")] = EMPTY  # type: ignore[assignment]


class Router(Strict):
    """The settings of a router: an expression, and where each answer leads."""

    condition: Holes | bool
    if_true: Keys | None = None
    if_false: Keys | None = None
    default: Keys | None = None


class Scope(Strict):
    """The nodes inside of a loop."""

    nodes: list[Node]


class Branches(Strict):
    """The branches inside of a parallel node."""

    branches: list[Branch]
