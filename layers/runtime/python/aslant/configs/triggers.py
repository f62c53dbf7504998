"""What the triggers of a definition take."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator, model_validator

from aslant.configs.base import Config, Data, Flag, Name, Text
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
