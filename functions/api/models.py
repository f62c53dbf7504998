"""What the API takes and gives, as its OpenAPI description shows it. Moments are ISO 8601 in UTC, durations are seconds."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from aslant.executions.states import Status

Json = Any
Moment = str
Text = Annotated[str, Field(max_length=1000)]


class Body(BaseModel):
    """A request: what it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)

    organization_id: Annotated[
        str | None, Field(max_length=200, description="the tenant of the token, which counts; another one is refused")
    ] = None


class Given(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="forbid")


class Place(Given):
    """Where a definition is wrong: a line and a column of its text, counted from 1."""

    line: int
    column: int


class ProblemPart(Given):
    code: str = ""
    detail: str
    pointer: str | None = None   # JSON pointer into the request's body
    position: Place | None = None
    severity: str | None = None
    hint: str | None = None


class Problem(Given):
    """RFC 9457."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[ProblemPart] = []


class FailureDocument(Given):
    error: str
    message: str
    step: str | None
    iteration: list[int]


class ParentDocument(Given):
    execution: str
    step: str
    iteration: list[int]


class ExecutionDocument(Given):
    id: str
    workflow: str
    version: str
    status: Status
    run: int
    user: str
    started_at: Moment
    finished_at: Moment | None
    changed_at: Moment
    reason: str
    error: FailureDocument | None
    machine: str
    arn: str
    labels: dict[str, str]
    trigger: dict[str, Json]
    undone: list[str]
    not_undone: list[str]
    usage: dict[str, float]
    sla_due: Moment | None
    sla_breached: bool
    timeout_seconds: int | None
    priority: str | None
    webhook: Annotated[bool, Field(description="whether an address is told of its end")]
    parent: ParentDocument | None


class StepDocument(Given):
    step: str
    iteration: list[int]
    type: str
    status: str
    started_at: Moment | None
    finished_at: Moment | None
    duration: float | None
    attempts: int
    run: int
    error: FailureDocument | None
    native: bool
    outcome: str | None
    usage: dict[str, float]
    cost_usd: float
    executions: list[str]
    steps: list[StepDocument]


class RunDocument(Given):
    number: int
    why: str
    detail: str | None
    version: str
    by: str
    started_at: Moment
    ended_at: Moment | None
    status: str
    arn: str
    transitions: int


class CostDocument(Given):
    usd: float
    parts: dict[str, float]
    left_out: list[str]


class ChildDocument(Given):
    id: str
    step: str
    iteration: list[int]


class ExecutionView(ExecutionDocument):
    substate: str
    done: int
    total: int
    duration: float
    paused: float
    steps: list[StepDocument]
    runs: list[RunDocument]
    cost: CostDocument
    children: list[ChildDocument]
    input: Json = None
    output: Json = None


class ExecutionPage(Given):
    items: list[ExecutionDocument]
    next: str | None


class TransitionDocument(Given):
    revision: int
    before: str | None
    after: str
    at: Moment
    by: str
    reason: str
    run: int


class CheckpointDocument(Given):
    number: int
    at: Moment
    reason: str
    by: str
    run: int
    label: str
    steps: list[str]
    sha256: str


class PlanStep(Given):
    step: str
    type: str
    action: str
    why: str
    repeats: bool
    discards: bool = False


class PlanDocument(Given):
    what: str
    version: str
    steps: list[PlanStep]


class ApprovalDocument(Given):
    id: str
    execution: str
    workflow: str
    step: str
    iteration: list[int]
    status: str
    type: str
    message: Json
    options: list[Json]
    data: Json
    approvers: list[str]
    quorum: int
    requested_at: Moment
    expires_at: Moment
    decisions: list[dict[str, Json]]


class ApprovalPage(Given):
    items: list[ApprovalDocument]
    next: str | None


class Decided(Given):
    """What a person said, or what that decided. `missing` is how many more have to."""

    approved: bool
    by: str
    at: Json = None
    comment: str = ""
    answer: Json = None
    missing: int | None = None
    choice: Json = None


class Options(Given):
    """Fields of a start, for who writes them apart; those beside count more."""

    model_config = ConfigDict(strict=True)

    asynchronous: Annotated[bool | None, Field(alias="async")] = None
    webhook_url: Annotated[str | None, Field(max_length=2000, pattern="^https?://")] = None
    timeout_seconds: Annotated[int | None, Field(ge=1, le=31_536_000)] = None
    priority: Literal["low", "normal", "high"] | None = None


class Start(Body):
    """What an execution starts with."""

    input: dict[str, Json] = {}
    version: Annotated[str, Field(max_length=100)] | None = None
    context: dict[str, Json] = {}
    labels: dict[str, Annotated[str, Field(max_length=200)]] = {}
    timeout_seconds: Annotated[
        int | None, Field(ge=1, le=31_536_000, description="it ends as timed_out then, if its workflow's own limit is longer")
    ] = None
    priority: Annotated[Literal["low", "normal", "high"] | None, Field(description="who finds a place when much runs")] = None
    webhook_url: Annotated[
        str | None, Field(max_length=2000, pattern="^https?://", description="called at the end, signed by completion_webhook")
    ] = None
    asynchronous: Annotated[bool, Field(alias="async", description="false waits for the end, up to 25 seconds")] = True
    options: Options | None = None

    def said(self, name: str) -> Json:
        """A field, or what `options` says in its place."""
        beside = getattr(self.options, name, None)
        return getattr(self, name) if name in self.model_fields_set or beside is None else beside


class Rollback(Body):
    target_version: Annotated[str | None, Field(max_length=100, description="the one before without")] = None


class Reason(Body):
    reason: Text = ""


class Cancel(Reason):
    compensate: Annotated[bool, Field(description="undo what has completed")] = False


class Again(Body):
    version: Annotated[str, Field(max_length=100)] | None = None
    dry_run: Annotated[bool, Field(description="only tell what would run again")] = False


class Rerun(Again):
    step: Annotated[str, Field(max_length=200)]


class Label(Body):
    label: Annotated[str, Field(max_length=200)] = ""


class Answer(Body):
    comment: Text = ""
    answer: Json = None


class FindingDocument(Given):
    code: str
    severity: str
    message: str
    line: int
    column: int
    hint: str = ""


VersionStatus = Annotated[
    Literal["draft", "published", "superseded", "archived"],
    Field(description="draft: never published; superseded: published before, and another one is now"),
]


class VersionDocument(Given):
    workflow: str
    version: str
    status: VersionStatus
    created_at: Moment
    created_by: str
    dialect: str
    sha256: str


class WorkflowDocument(Given):
    id: str
    name: str
    description: str
    status: str
    latest: str
    published: str | None
    tags: list[str]
    owner: str
    created_at: Moment
    changed_at: Moment
    revision: int


class PublishedDocument(WorkflowDocument):
    findings: list[FindingDocument] = []
    """About the skills that it calls; errors among such refuse to publish."""


class WorkflowPage(Given):
    items: list[WorkflowDocument]
    next: str | None


class WorkflowView(WorkflowDocument):
    definition: str
    dialect: str
    findings: list[FindingDocument] = []


class Health(Given):
    status: str
    checks: dict[str, str] = {}


class Hooked(Given):
    """The execution that a call of a webhook stands for; the same call again gives the same."""

    execution: str


class AuditDocument(Given):
    """`before` and `after` are SHA-256 of the record that the path names; `detail` is the kind of what was refused."""

    id: str
    at: Moment
    user: str
    roles: list[str]
    action: str
    about: dict[str, str]
    status: int | None
    before: str | None
    after: str | None
    detail: str | None


class AuditPage(Given):
    items: list[AuditDocument]
    next: str | None


class EventItem(Given):
    """An event as it was on the bus (`events/schemas`)."""

    cursor: str
    event: dict[str, Json]


class EventPage(Given):
    """`over` says that there will be no more; else ask again with `after=` the cursor in `next`."""

    items: list[EventItem]
    next: str | None
    over: bool


class ErrorCount(Given):
    error: str
    count: int


class Figures(Given):
    """Durations come from buckets: the median and the 95th percentile are right to about an eighth."""

    counts: dict[str, int]
    total: int
    success_rate: float | None
    mean_seconds: float | None
    median_seconds: float | None
    p95_seconds: float | None
    cost_usd: float
    attempts: int
    errors: list[ErrorCount]


class WorkflowExecutionPage(ExecutionPage):
    """`figures` are those of the last seven days, on the first page."""

    figures: Figures | None = None


class DayDocument(Figures):
    day: str


class MetricsDocument(Figures):
    first: str
    last: str
    days: list[DayDocument]


class StepMetricsDocument(Figures):
    step: str
