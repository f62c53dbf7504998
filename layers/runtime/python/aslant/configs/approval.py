"""Configuration of approval steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Flag, Name, Seconds, Text, TextOrTexts, known


class ApprovalConfig(Config):
    """A question to people; the workflow waits for the answer."""

    message: Text = "Approval is needed."
    """What people are asked."""
    approval_type: Annotated[Literal["approve_reject", "text_input", "multiple_choice"], LOWER] = "approve_reject"
    """What kind of answer it takes."""
    approvers: TextOrTexts | None = None
    """Who may answer: users, email addresses, or roles; everybody when left out."""
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
        if known(self.on_timeout) and self.on_timeout == "escalate" and self.escalate_to is None:
            raise PydanticCustomError("no_escalation", "on_timeout: escalate needs `escalate_to`")
        return self
