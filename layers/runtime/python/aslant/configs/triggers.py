"""What the triggers of a definition take."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from aslant.configs.base import MAYBE, Config, Data, Flag, Name, Scalars, Text, TextOrTexts
from aslant.errors import ValidationError
from aslant.event_patterns import check_pattern
from aslant.schedules import Schedule, read, zone

Overlap = Literal["allow", "skip", "queue", "cancel_running"]


class ScheduleTrigger(Config):
    """Starts an execution at certain times; exactly one of `schedule`, `cron`, `every` and `at` says when."""

    schedule: Name = ""
    """In words ("daily at 9am", "every monday at 14:00"), or any of the other forms."""
    cron: Name = ""
    """Five fields, or AWS's six."""
    every: Name = ""
    """"15 minutes", "1 hour", "7 days"."""
    at: Name = ""
    """Once: 2026-12-24T18:00:00."""
    timezone: Text = "UTC"
    """An IANA name."""
    input: Data = Field(default_factory=dict)
    overlap: Overlap = "allow"
    """What happens when an execution that it started before still goes on."""
    catch_up: Literal["none", "last"] = "none"
    """What happens after a time in which nothing could be started: nothing, or one start for the last moment of it."""
    window: Annotated[int, Field(ge=0, le=1440), MAYBE] = 0
    """Minutes within which it may start, so that not everything starts at once."""
    enabled: Flag = True

    @field_validator("timezone")
    @classmethod
    def _known(cls, name: str) -> str:
        try:
            zone(name)
        except ValidationError as error:
            raise ValueError(str(error)) from None
        return name

    @model_validator(mode="after")
    def _one(self) -> ScheduleTrigger:
        given = [name for name in ("schedule", "cron", "every", "at") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError('needs one of schedule, cron, every and at: `schedule: "daily at 9am"`')
        return self

    def read(self) -> Schedule:
        """When it starts executions. Raises ValidationError for a text that says no time."""
        if self.every:
            return read(f"rate({self.every.removeprefix('every ')})", self.timezone)
        if self.at:
            return read(f"at({self.at})", self.timezone)
        return read(self.cron or self.schedule, self.timezone)


class WebhookTrigger(Config):
    """Starts an execution when somebody posts to its address with the right signature."""

    path: Text = ""
    """A name for people; the address is made when the workflow is published."""
    secret: Name = ""
    """The name of the secret that signs: HMAC-SHA256 over `<timestamp>.<body>`, or the body alone without timestamps."""
    header: Name = "X-Signature-256"
    """The header with `sha256=<hexadecimal signature>`."""
    timestamp: Flag = True
    """Whether X-Timestamp (epoch seconds) must come with it and be signed."""
    window: Annotated[float, Field(ge=1, le=86_400), MAYBE] = 300
    """Seconds that a timestamp may lie off."""
    input: Data = Field(default_factory=dict)
    """The input, under what the body gives."""
    fields: Scalars = Field(default_factory=dict)
    """Inputs by where they are in the body (`order.id`); without, the body as a whole is the input."""
    enabled: Flag = True


class EventTrigger(Config):
    """Starts an execution for each event on the bus that matches. Names and patterns are case-sensitive."""

    event: TextOrTexts
    """The event's detail type, or several; `*` stands for any text: `order.*`."""
    source: Text = ""
    """The event's source, `*` as above; any without it."""
    filter: Data = Field(default_factory=dict)
    """A pattern of EventBridge over the event's detail: `{total: [{numeric: [">", 100]}]}`."""
    where: Text = ""
    """A condition over the detail: `event.total > 100`. What cannot be compared does not hold."""
    input: Data = Field(default_factory=dict)
    """The input, under what the event gives."""
    fields: Scalars = Field(default_factory=dict)
    """Inputs by where they are in the detail (`order.id`); without, the detail as a whole is the input."""
    enabled: Flag = True

    @field_validator("filter")
    @classmethod
    def _pattern(cls, pattern: dict[str, Any]) -> dict[str, Any]:
        return check_pattern(pattern)


Ending = Literal["completed", "failed", "cancelled", "timed_out", "rolled_back"]


class WorkflowTrigger(Config):
    """Starts an execution when one of another workflow ends."""

    workflow: Name
    """The id of that workflow."""
    status: Ending | list[Ending] = "completed"
    """How it ends: one status or several."""
    where: Text = ""
    """A condition over `event`, which has `status`, `execution`, `output` and `error`: `event.output.total > 100`."""
    input: Data = Field(default_factory=dict)
    """The input, under what the other one's output gives."""
    fields: Scalars = Field(default_factory=dict)
    """Inputs by where they are (`output.order.id`, `execution`); without, its output as a whole is the input."""
    enabled: Flag = True
