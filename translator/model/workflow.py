"""The canonical workflow: what every dialect means, with its expressions parsed.

Everything is frozen. `Node` values are expression trees whose names are not yet resolved; `Value` is a JSON structure
in which texts have become nodes. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from translator.diagnostics import NOWHERE, Position
from translator.expressions.tree import Node
from translator.records import record

Value = Any  # null, bool, number, Node (for every text), list of Value, dict of text -> Value
Action = Literal["fail", "continue", "retry", "rollback", "compensate", "escalate"]

UNDO_LOOP = "rollback undo"  # the loop of a rollback over what it undoes; its items hold the step and the iteration


@record
class Retry:
    """`max_attempts` counts the first attempt; `on` lists machine error names, empty for every retryable error."""

    max_attempts: int = 3
    strategy: str = "exponential"
    delay: float = 1
    max_delay: float | None = None
    multiplier: float = 2
    jitter: bool = False
    on: tuple[str, ...] = ()
    at: Position = field(default=NOWHERE, compare=False)


@record
class OnFailure:
    action: Action
    max_retries: int | None = None
    then: Action | None = None
    approvers: tuple[str, ...] = ()
    timeout: float | None = None
    at: Position = field(default=NOWHERE, compare=False)


@record
class Edge:
    """`step` must be settled before the owner starts. Live always, by an outcome in `on`, or when `when` holds."""

    step: str
    on: tuple[str, ...] = ()
    when: Node | None = None
    at: Position = field(default=NOWHERE, compare=False)


@record
class Case:
    name: str
    when: Node
    at: Position = field(default=NOWHERE, compare=False)


@record
class Step:
    """One step; which of the structural fields count depends on `type`."""

    id: str
    type: str
    at: Position = field(default=NOWHERE, compare=False)
    name: str = ""
    description: str = ""
    config: Mapping[str, Value] = field(default_factory=dict)
    source: Any = field(default=None, compare=False, repr=False)  # the step as written: `position_of(source, path)`
    depends_on: tuple[Edge, ...] = ()
    when: Node | None = None
    output_key: str = ""
    retry: Retry | None = None
    timeout: float | None = None
    heartbeat: float | None = None
    on_failure: OnFailure | None = None
    compensation: Step | None = None
    undo_failed: bool | None = None
    cache: Mapping[str, Value] | None = None
    checkpoint: bool | None = None
    pure: bool | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    cases: tuple[Case, ...] = ()
    default: str = ""
    mode: Literal["first", "one", "all"] = "first"  # one: of edges' conditions that exclude each other
    branches: tuple[tuple[Step, ...], ...] = ()
    wait_for_all: bool = True
    max_parallel: int | None = None
    items: Value = None
    item_name: str = "item"
    index_name: str = "index"
    steps: tuple[Step, ...] = ()
    batch_size: int | None = None
    on_item_error: Literal["fail", "continue"] = "fail"
    seconds: Value = None
    until: Value = None
    workflow: str = ""
    input: Value = None
    wait_for_completion: bool = True

    @property
    def label(self) -> str:
        return self.name or self.id

    def inner(self) -> Iterator[tuple[Step, ...]]:
        """The step lists of the scopes directly inside of this step."""
        if self.type == "parallel":
            yield from self.branches
        elif self.type == "foreach":
            yield self.steps


@record
class ErrorHandler:
    errors: tuple[str, ...]
    on_failure: OnFailure
    notify: bool = False
    steps: tuple[str, ...] = ()
    at: Position = field(default=NOWHERE, compare=False)


@record
class Notification:
    on: tuple[str, ...]
    config: Mapping[str, Value]
    at: Position = field(default=NOWHERE, compare=False)


@record
class Settings:
    timeout: float | None = None
    max_parallel: int | None = None
    on_error: OnFailure | None = None
    retry: Retry | None = None
    checkpoint: Mapping[str, Any] | None = None
    execution: Literal["auto", "standard", "express"] = "auto"
    sla: float | None = None
    strategy: str = "auto"  # how a graph that is not series-parallel is laid out: `translator.graph.strategies.choice`
    durations: Mapping[str, float] = field(default_factory=dict)  # seconds that steps take, about
    other: Mapping[str, Any] = field(default_factory=dict)


@record
class Workflow:
    """`inputs` is None when the definition declares none: then any input is taken."""

    id: str
    name: str
    steps: tuple[Step, ...]
    version: str = "1.0.0"
    description: str = ""
    labels: Mapping[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, Mapping[str, Any]] | None = None
    inputs_at: Mapping[str, Position] = field(default_factory=dict, compare=False)
    outputs: Mapping[str, Value] | None = None
    outputs_at: Position = field(default=NOWHERE, compare=False)
    output_types: Mapping[str, Any] = field(default_factory=dict)
    variables: Mapping[str, Value] = field(default_factory=dict)
    settings: Settings = Settings()
    notifications: tuple[Notification, ...] = ()
    error_handlers: tuple[ErrorHandler, ...] = ()
    rollback: tuple[Step, ...] = ()
    triggers: tuple[Mapping[str, Any], ...] = ()
    finally_: tuple[Step, ...] = ()
    at: Position = field(default=NOWHERE, compare=False)
    source: Any = field(default=None, compare=False, repr=False)  # as written: `position_of(source, path)`

    def all_steps(self) -> Iterator[Step]:
        """Every step of the body and of `finally`, outer before inner."""
        stack = [*reversed(self.finally_), *reversed(self.steps)]
        while stack:
            step = stack.pop()
            yield step
            for inner in reversed([*step.inner()]):
                stack.extend(reversed(inner))
