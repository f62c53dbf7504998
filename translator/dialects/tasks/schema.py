"""The shape of a `tasks` definition: a list of tasks, each with a `type` mapping, ordered by `depends_on`.

Canonical keys are taken as well; `type`, `config` and `timeout` have this dialect's meaning.
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from translator.dialects.canonical import schema as canonical
from translator.dialects.canonical.schema import EMPTY, Id, Seconds, Strict

Milliseconds = Annotated[int | float, Field(ge=0, le=99_999_999_000)]
Duration = Annotated[int | float | str | dict[str, int], Field(description="seconds, `15m`, or ISO 8601 `PT15M`")]
Holes = str  # a text that may hold `${expression}`


class TaskConfig(Strict):
    """What surrounds the running of a task."""

    on_failure: Literal["Fail", "Continue", "Retry", "Rollback"] | None = None
    collect_output: bool = True
    stream_output: bool = False
    checkpoint: bool | None = None


class RetryPolicy(Strict):
    """Attempts with growing delays. `max_attempts` counts the first one."""

    max_attempts: Annotated[int, Field(ge=1, le=100)] = 3
    initial_delay_ms: Milliseconds = 1000
    max_delay_ms: Milliseconds = 30_000
    backoff_multiplier: Annotated[int | float, Field(ge=1, le=100)] = 2
    retryable_errors: list[str] = EMPTY


class Branch(Strict):
    """A canonical branch with tasks in it."""

    name: str = ""
    steps: list[Task] = EMPTY


class Task(canonical.Step):
    """One task."""

    id: Id
    type: Annotated[str | dict[str, Any] | None, Field(description="mapping with a `type` of its own")] = None  # type: ignore[assignment]
    task_type: str | dict[str, Any] | None = None  # the same as `type`
    config: TaskConfig = TaskConfig()  # type: ignore[assignment]
    retry_policy: RetryPolicy | None = None
    condition: Annotated[Holes | bool | None, Field(description="expression; false skips this task alone")] = None
    timeout: Duration | None = None  # type: ignore[assignment]
    compensation: Task | None = None
    steps: list[Task] = EMPTY  # type: ignore[assignment]
    branches: list[Branch] = EMPTY  # type: ignore[assignment]


class NotificationConfig(Strict):
    """Who hears about the end of an execution: email addresses and a webhook."""

    on_completion: list[str] = EMPTY
    on_failure: list[str] = EMPTY
    webhook_url: str | None = None


class WorkflowConfig(Strict):
    """Settings of the whole workflow."""

    max_parallel_tasks: Annotated[int | None, Field(ge=1, le=10_000)] = None
    timeout_seconds: Seconds | None = None
    checkpoint_interval_seconds: Seconds | None = None
    enable_rollback: bool = True
    notification_config: NotificationConfig | None = None


class Definition(canonical.Definition):
    """A whole definition."""

    dialect: str = "tasks"  # type: ignore[assignment]
    version: Any = ""  # read by common.version
    metadata: dict[str, Any] = EMPTY
    config: WorkflowConfig = WorkflowConfig()
    tasks: list[Task]
    steps: Annotated[list[Any], Field(max_length=0)] = EMPTY
    rollback: list[Task] = EMPTY  # type: ignore[assignment]
    finally_: Annotated[list[Task], Field(alias="finally")] = EMPTY  # type: ignore[assignment]


class Open(BaseModel):
    """A type of task: settings that are not listed here are those of the canonical type, and are checked with it."""

    model_config = ConfigDict(extra="allow", strict=True)


class Command(Open):
    """Runs a program without a shell."""

    command: Holes
    args: list[Any] | Holes = EMPTY
    env: dict[str, Any] | Holes = EMPTY


class Http(Open):
    """Calls an HTTP endpoint; a text as `body` is sent as it is."""

    method: Holes = "GET"
    url: Holes
    headers: dict[str, Any] | Holes = EMPTY
    body: Any = None


class Query(Open):
    """Asks a database; `parameters` are bound, never pasted in."""

    query_type: Holes | None = None
    query: Holes
    parameters: dict[str, Any] | list[Any] | Holes = EMPTY


class Deploy(Open):
    """Applies a manifest."""

    manifest: Any
    namespace: Holes | None = None
    dry_run: bool | Holes = False


class Scale(Open):
    """Sets a number of replicas."""

    resource: Holes
    replicas: int | Holes


class Approval(Open):
    """Waits for people."""

    approvers: list[str] | Holes = EMPTY
    timeout_seconds: Seconds | None = None
    auto_approve: bool | Holes = False


class Conditional(Strict):
    """Decides which tasks are entered."""

    condition: Holes | bool
    true_branch: list[Id] = EMPTY
    false_branch: list[Id] = EMPTY


class Loop(Strict):
    """Runs a task for each item, one after another unless `parallel`."""

    items: Holes | list[Any]
    task_template: dict[str, Any] | None = None
    steps: list[dict[str, Any]] = EMPTY  # in place of a template: several tasks for each item
    parallel: bool = False
    item_name: str = "item"
    index_name: str = "index"
    max_parallel: Annotated[int | None, Field(ge=1, le=10_000)] = None
    batch_size: Annotated[int | None, Field(ge=1, le=10_000)] = None
    on_item_error: Literal["fail", "continue"] = "fail"


class Subworkflow(Strict):
    """Runs another workflow and waits for it."""

    workflow_id: str
    inputs: dict[str, Any] | Holes = EMPTY
    wait_for_completion: bool = True


class Plugin(Strict):
    """Calls a registered skill; `config` are its arguments."""

    plugin_name: str
    config: dict[str, Any] | Holes = EMPTY


# Each type of task: the canonical step type, and the shape of its settings.
KINDS: dict[str, tuple[str, type[BaseModel]]] = {
    "Command": ("command", Command),
    "Http": ("http", Http),
    "Query": ("query", Query),
    "Deploy": ("deploy", Deploy),
    "Scale": ("scale", Scale),
    "Approval": ("approval", Approval),
    "Conditional": ("choice", Conditional),
    "Loop": ("foreach", Loop),
    "Subworkflow": ("workflow", Subworkflow),
    "Plugin": ("skill", Plugin),
}


class Scope(Strict):
    """The tasks inside of a loop."""

    tasks: list[Task]
