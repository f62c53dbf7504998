"""Configuration of email steps."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Data, Name, Text, TextOrTexts, known


class Attachment(Config):
    """A file of the bucket of artifacts. What a step stored there, such as a screenshot, can be given as it is."""

    artifact: Name
    """The key of the file, or its name among those of this execution."""
    name: Name | None = None
    """The name that the recipients see; the last part of the key when left out."""
    content_type: Name | None = None
    """What the file is, `application/pdf` for example; by its name when left out."""
    bytes: Annotated[int, MAYBE] | None = None
    """Its size, as the step that stored it gives it. Not used."""


class Smtp(Config):
    """The mail server to use instead of SES."""

    host: Name
    """The server's name or address."""
    port: Annotated[int, Field(ge=1, le=65_535), MAYBE] = 587
    """The server's port."""
    security: Annotated[Literal["starttls", "tls", "none"], LOWER] = "starttls"
    """`starttls` encrypts after the greeting (and fails where the server does not), `tls` from the start, `none` never."""
    username: Text = ""
    """Who logs in; nobody when left out."""
    password: Text = ""
    """The password, from `secrets`."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if known(self.username, self.password) and bool(self.username) != bool(self.password):
            raise PydanticCustomError("incomplete", "a login needs `username` and `password`")
        if known(self.username, self.security) and self.username and self.security == "none":
            raise PydanticCustomError("in_the_open", "a password is not sent without encryption; use starttls or tls")
        return self


File = Annotated[Name | Attachment, MAYBE]


class EmailConfig(Config):
    """One email."""

    to: TextOrTexts
    """Recipients: addresses, also as `Name <address>`."""
    cc: TextOrTexts | None = None
    """Recipients of a copy."""
    bcc: TextOrTexts | None = None
    """Recipients of a copy that the others do not see."""
    sender: Name | None = Field(default=None, alias="from")
    """Who it is from; the installation's sender when left out."""
    subject: Text = ""
    """The subject."""
    body: Text | None = None
    """The text; HTML when it starts with a tag."""
    html: Text | None = None
    """The HTML version."""
    template: Name | None = None
    """The name of a template that is stored in SES, instead of subject and body."""
    values: Data = Field(default_factory=dict)
    """What the template's placeholders stand for."""
    attachments: Annotated[Name | Attachment | list[File], MAYBE] | None = None
    """Files of the bucket of artifacts: keys, names among those of this execution, or what a step gave for one."""
    reply_to: TextOrTexts | None = None
    """Where answers go."""
    smtp: Annotated[Smtp, MAYBE] | None = None
    """A mail server to send by; SES when left out."""

    @model_validator(mode="after")
    def _has_content(self) -> Self:
        if self.template is None:
            if self.body is None and self.html is None:
                raise PydanticCustomError("no_content", "an email needs a `body` or `html`")
            if known(self.values) and self.values:
                raise PydanticCustomError("no_template", "`values` are for a `template`")
            return self
        given = [name for name, value in (("body", self.body), ("html", self.html), ("smtp", self.smtp)) if value is not None]
        if known(self.subject) and self.subject:
            given.insert(0, "subject")
        if given:
            raise PydanticCustomError("template_only", f"`template` and `{given[0]}` exclude each other")
        return self
