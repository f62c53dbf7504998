"""Configuration of email steps."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import Config, Text, TextOrTexts


class EmailConfig(Config):
    """One email."""

    to: TextOrTexts
    """Recipients."""
    cc: TextOrTexts | None = None
    """Recipients of a copy."""
    bcc: TextOrTexts | None = None
    """Recipients of a copy that the others do not see."""
    subject: Text = ""
    """The subject."""
    body: Text | None = None
    """The text; HTML when it starts with a tag."""
    html: Text | None = None
    """The HTML version."""
    attachments: TextOrTexts | None = None
    """Names of files to attach."""
    reply_to: TextOrTexts | None = None
    """Where answers go."""

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.body is None and self.html is None:
            raise PydanticCustomError("no_content", "an email needs a `body` or `html`")
        return self
