"""What the triggers of a definition take."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from aslant.configs.base import MAYBE, Config, Data, Flag, Name, Scalars, Text
from aslant.errors import ValidationError
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
