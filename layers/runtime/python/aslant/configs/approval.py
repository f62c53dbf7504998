"""Configuration of approval steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Flag, Name, Seconds, Text, TextOrTexts, known
from aslant.configs.notify import Channel

Count = Annotated[int, Field(ge=1, le=1000), MAYBE]


class Reminders(Config):
    """How often people who have not answered are asked again."""

    every: Seconds
    """Seconds between reminders."""
    count: Count = 3
    """How many at most."""


class ApprovalNotice(Config):
    """Where people are told that they are asked."""

    channel: Annotated[Channel, MAYBE] = "sns"
    """`sns`, `email`, `slack` or `webhook`."""
    to: TextOrTexts | None = None
    """Email addresses (the approvers' own when left out), or the Slack channel's name."""
    topic: Name | None = None
    """The ARN of an SNS topic; the installation's topic when left out."""
    url: TextOrTexts | None = None
    """The address of a webhook, or several."""
    subject: Name | None = None
    """The subject of an email or SNS message."""


class ApprovalConfig(Config):
    """A question to people; the workflow waits for the answer."""

    message: Text = "Approval is needed."
    """What people are asked."""
    approval_type: Annotated[Literal["approve_reject", "text_input", "multiple_choice"], LOWER] = "approve_reject"
    """What kind of answer it takes."""
    approvers: TextOrTexts | None = None
    """Who may answer: users, email addresses, or roles (`role:ops`); everybody when left out."""
    quorum: Count = 1
    """How many people have to agree; in a multiple choice, on the same option."""
    reject_quorum: Count = 1
    """How many people have to refuse."""
    allow_requester: Flag = False
    """Whether who started the execution may answer."""
    reminders: Annotated[Reminders, MAYBE] | None = None
    """When people are asked again."""
    notify: Annotated[Annotated[Channel, LOWER] | ApprovalNotice, MAYBE] | None = None
    """Where people are told; a channel, or its settings."""
    options: Annotated[list[Name], MAYBE] = Field(default_factory=list)
    """The answers of a multiple choice."""
    timeout: Seconds = 3600
    """Seconds to wait for an answer."""
    on_timeout: Annotated[Literal["reject", "approve", "cancel", "escalate"], LOWER] = "reject"
    """What an unanswered question becomes."""
    escalate_to: TextOrTexts | None = None
    """Who is asked next, with `on_timeout: escalate`."""
    auto_approve: Flag = False
    """Approve at once, without asking."""
    on_reject: Annotated[Literal["fail", "continue"], LOWER] = "fail"
    """Whether a no fails the step, or is an answer like any other."""
    data: Any = None
    """What people look at to decide."""

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if known(self.approval_type, self.options):
            if self.approval_type == "multiple_choice" and not self.options:
                raise PydanticCustomError("no_options", "multiple_choice needs `options`")
            if self.approval_type != "multiple_choice" and self.options:
                raise PydanticCustomError("no_options", "options belong to approval_type: multiple_choice")
        asked = self.approvers
        if known(asked, self.quorum) and isinstance(asked, list) and known(*asked):
            people = {name.casefold() for name in asked if not name.casefold().startswith("role:")}
            if len(people) == len(asked) and len(people) < self.quorum:
                raise PydanticCustomError("quorum", "a quorum of {quorum} needs as many `approvers`", {"quorum": self.quorum})
        if known(self.on_timeout) and self.on_timeout == "escalate" and self.escalate_to is None:
            raise PydanticCustomError("no_escalation", "on_timeout: escalate needs `escalate_to`")
        return self
