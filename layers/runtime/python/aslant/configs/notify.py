"""Configuration of notify steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from aslant.configs.base import LOWER, MAYBE, Config, Data, Name, Scalars, Seconds, Text, TextOrTexts

Channel = Annotated[Literal["sns", "slack", "webhook", "email", "event"], LOWER]


class NotifyConfig(Config):
    """A message to people or programs, over one or several channels."""

    channel: Annotated[Channel | list[Channel], MAYBE] = "sns"
    """Where the message goes: `sns`, `slack`, `webhook`, `email`, `event`, or a list of these."""
    to: TextOrTexts | None = None
    """Email addresses, or the Slack channel's name."""
    topic: Name | None = None
    """The ARN of an SNS topic; the installation's topic when left out."""
    url: TextOrTexts | None = None
    """The address of a webhook, or several."""
    subject: Text = ""
    """The subject of an email or SNS message."""
    message: Any = ""
    """The message: a text, or data that is sent as JSON."""
    data: Data = Field(default_factory=dict)
    """Data that goes along with a webhook or an event."""
    headers: Scalars = Field(default_factory=dict)
    """More headers of a webhook."""
    event_type: Name = "workflow_notification"
    """The detail type of an event."""
    source: Name = "aslant.workflow"
    """The source of an event."""
    timeout: Seconds = 30
    """Seconds for each webhook."""
