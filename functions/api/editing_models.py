"""What the API takes and gives where definitions are made and changed: see `functions.api.models`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from functions.api.models import Body, Given, Json, Moment
from translator import editing

Id = Annotated[str, Field(min_length=1, max_length=500)]
Label = Annotated[str, Field(min_length=1, max_length=100)]


class Words(Body):
    """A workflow, or a change of one, in words."""

    description: Annotated[str, Field(min_length=1, max_length=20_000)]
    name: Annotated[str | None, Field(max_length=200)] = None
    tags: list[Label] = []
    dry_run: bool = False
    version_increment: Literal["major", "minor", "patch"] = "patch"


class _Operation(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class AddStep(_Operation):
    op: Literal["add_step"]
    step: Annotated[dict[str, Json], Field(description="a step in the canonical spelling, with `depends_on`")]

    def apply(self, data: dict[str, Any]) -> None:
        editing.add_step(data, self.step)


class RemoveStep(_Operation):
    """What waited for the step waits for what it waited for."""

    op: Literal["remove_step"]
    step: Id

    def apply(self, data: dict[str, Any]) -> None:
        editing.remove_step(data, self.step)


class UpdateStep(_Operation):
    op: Literal["update_step"]
    step: Id
    set: Annotated[dict[str, Json], Field(description="fields, merged (RFC 7396): null takes one out")]

    def apply(self, data: dict[str, Any]) -> None:
        editing.update_step(data, self.step, self.set)


class Connection(_Operation):
    """`to` waits for `from`, or does not any more."""

    op: Literal["add_connection", "remove_connection"]
    before: Annotated[Id, Field(alias="from")]
    after: Annotated[Id, Field(alias="to")]

    def apply(self, data: dict[str, Any]) -> None:
        (editing.connect if self.op == "add_connection" else editing.disconnect)(data, self.before, self.after)


class Fields(_Operation):
    """Fields of the definition beside its steps, merged (RFC 7396)."""

    op: Literal["set"]
    set: Annotated[dict[
        Literal["labels", "inputs", "outputs", "output_types", "variables", "settings", "notifications", "error_handlers",
                "triggers"], Json,
    ], Field(description="by their canonical names")]  # fmt: skip

    def apply(self, data: dict[str, Any]) -> None:
        editing.merge(data, {str(key): value for key, value in self.set.items()})


Operation = Annotated[AddStep | RemoveStep | UpdateStep | Connection | Fields, Field(discriminator="op")]


class Patch(Body):
    """Changes of a workflow, made in order, all or none."""

    operations: Annotated[list[Operation], Field(max_length=200)] = []
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    description: Annotated[str | None, Field(max_length=10_000)] = None
    tags: Annotated[list[Label] | None, Field(max_length=50)] = None
    version_increment: Literal["major", "minor", "patch"] = "patch"

    @property
    def changes_nothing(self) -> bool:
        """Whether the definition stays as it is."""
        return not self.operations and self.name is None and self.description is None


class Change(Given):
    kind: str
    path: list[str]
    step: str | None
    before: Json = None
    after: Json = None


class DiffDocument(Given):
    """What one version says differently from another, in the canonical spelling."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

    earlier: Annotated[str, Field(alias="from")]
    later: Annotated[str, Field(alias="to")]
    changes: list[Change]


class TemplateBody(Body):
    """A definition with places `<<name>>`, each filled by a parameter."""

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$")]
    name: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=10_000)] = ""
    category: Annotated[str, Field(max_length=100)] = ""
    parameters: Annotated[
        dict[Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]{0,99}$")], dict[str, Json]],
        Field(description="what fills the places, declared as a workflow's inputs are: type, default, required, enum …"),
    ] = {}
    definition: Annotated[str, Field(min_length=1, max_length=1_000_000, description="YAML or JSON text, in any dialect")]


class TemplateSummary(Given):
    id: str
    name: str
    description: str
    category: str
    parameters: dict[str, dict[str, Json]]
    owner: str
    created_at: Moment
    changed_at: Moment
    revision: int


class TemplateDocument(TemplateSummary):
    definition: str


class Instantiate(Body):
    """A workflow of a template."""

    id: Annotated[Id | None, Field(description="its id; that of the template's definition without")] = None
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    parameters: dict[str, Json] = {}
    tags: Annotated[list[Label], Field(max_length=50)] = []
    dry_run: bool = False


class Part(_Operation):
    """A workflow that is called, by the id `step` (its own id without)."""

    workflow: Id
    step: Annotated[str | None, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,99}$")] = None
    input: dict[str, Json] = {}
    depends_on: Annotated[list[Id] | None, Field(description="the steps it waits for; the one before it without")] = None
    when: Annotated[str | None, Field(max_length=2000)] = None


class Compose(Body):
    """A workflow that calls others."""

    id: Id
    name: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    description: Annotated[str, Field(max_length=10_000)] = ""
    inputs: dict[str, dict[str, Json]] | None = None
    parts: Annotated[list[Part], Field(min_length=1, max_length=100)]
    tags: Annotated[list[Label], Field(max_length=50)] = []
    dry_run: bool = False


class Optimize(Body):
    """One of both: a workflow that is kept, or a definition."""

    workflow: Id | None = None
    version: Annotated[str | None, Field(max_length=100)] = None
    definition: Annotated[str | None, Field(min_length=1, max_length=1_000_000)] = None


class StrategyFigures(Given):
    """`makespan` in seconds; ranges are the least and the most of a way through without failures."""

    strategy: str
    makespan: float
    transitions: tuple[int, int]
    states: int
    lambda_calls: tuple[int, int]
    usd_per_1000: tuple[float, float]


class OptimizeDocument(Given):
    """`strategies` is empty where there is one way to run the graph. `best` has the shortest makespan, then the lowest cost."""

    workflow: str
    taken: list[str]
    best: str | None
    strategies: list[StrategyFigures]
    findings: list[str]


class ScheduleBody(Body):
    """Exactly one of `schedule`, `cron`, `every` and `at` says when."""

    workflow: Id
    schedule: str | None = None
    cron: str | None = None
    every: str | None = None
    at: str | None = None
    timezone: str | None = None
    input: dict[str, Json] | None = None
    overlap: Literal["allow", "skip", "queue", "cancel_running"] | None = None
    catch_up: Literal["none", "last"] | None = None
    window: Annotated[int | None, Field(ge=0, le=1440)] = None
    enabled: bool | None = None

    @property
    def config(self) -> dict[str, Json]:
        return self.model_dump(exclude={"workflow", "organization_id"}, exclude_none=True)


class TriggerBody(Body):
    workflow: Id
    type: Literal["schedule", "webhook", "event", "workflow"]
    config: dict[str, Json] = {}


class TriggerPatch(Body):
    """Fields of its `config`, merged (RFC 7396): null takes one out."""

    config: dict[str, Json]


class TriggerDocument(Given):
    """A trigger of the published version. Its id says the workflow, its type and its number among those of the type."""

    id: str
    workflow: str
    version: str
    type: str
    config: dict[str, Json]
    enabled: bool
    url: str | None = None
    next: list[Moment] = []


class TriggerPage(Given):
    items: list[TriggerDocument]
    next: str | None


class WebhookDocument(Given):
    id: str
    url: str
    secret: str
    header: str
    timestamp: bool


class ScheduleDocument(Given):
    id: str
    expression: str
    timezone: str
    overlap: str
    enabled: bool
    next: list[Moment]


class EventTriggerDocument(Given):
    """Detail types of events, or the endings of executions of `workflow`."""

    id: str
    events: list[str]
    source: str | None
    workflow: str | None
    filter: dict[str, Json]
    conditional: Annotated[bool, Field(description="whether a condition must hold besides")]


class TriggersDocument(Given):
    schedules: list[ScheduleDocument]
    webhooks: list[WebhookDocument]
    events: list[EventTriggerDocument]


class SkillDocument(Given):
    name: str
    version: str
    description: str
    owner: str
    status: str
    target: str
    code: str
    parameters: dict[str, Json] | None
    returns: dict[str, Json] | None
    pure: bool
    rate_limit: dict[str, Json] | None
    circuit_breaker: dict[str, Json] | None


class SkillPatch(Body):
    """Words and status of a version; what it takes, gives and calls stays."""

    version: Annotated[str | None, Field(max_length=30, description="the newest without")] = None
    description: Annotated[str | None, Field(max_length=10_000)] = None
    owner: Annotated[str | None, Field(max_length=200)] = None
    status: Literal["active", "inactive", "deprecated"] | None = None


class LogLine(Given):
    at: Moment
    level: Literal["INFO", "WARNING", "ERROR"]
    message: str
    step: str | None
    cursor: str


class LogPage(Given):
    """`over` says that there will be no more."""

    items: list[LogLine]
    next: str | None
    over: bool
