"""Configuration of http steps."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, UNKNOWN, UPPER, Config, Flag, Name, Scalar, Scalars, Seconds, Text

Method = Annotated[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], UPPER]
QueryValue = Annotated[Scalar | list[Scalar], MAYBE]
_STATUS = re.compile(r"[1-5](xx|[0-9]{2}(-[1-5][0-9]{2})?)\Z")


def _status(value: Any) -> int | str:
    text = str(value).lower()
    if isinstance(value, int | str) and not isinstance(value, bool) and _STATUS.match(text):
        return value if isinstance(value, int) else text
    raise PydanticCustomError("status", "must be a status such as 200, 2xx or 200-204")


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _success() -> list[int | str]:
    return ["2xx"]


Status = Annotated[int | str, PlainValidator(_status), MAYBE]


class Auth(Config):
    """Who the request is from. Values come from `secrets`."""

    type: Annotated[Literal["bearer", "basic", "api_key"], LOWER]
    """`bearer` sends `token`, `basic` sends `username` and `password`, `api_key` sends `key` in a header or the query."""
    token: Text = ""
    """The token of `bearer`."""
    username: Text = ""
    """The user of `basic`."""
    password: Text = ""
    """The password of `basic`."""
    key: Text = ""
    """The key of `api_key`."""
    name: Name = "X-API-Key"
    """The header or query parameter that carries the key."""
    location: Annotated[Literal["header", "query"], MAYBE] = "header"
    """Where the key goes."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {"bearer": ("token",), "basic": ("username",), "api_key": ("key",)}
        for field in needed.get(self.type, ()):
            if getattr(self, field) == "":
                raise PydanticCustomError("incomplete", f"{self.type} needs `{field}`")
        return self


class HttpConfig(Config):
    """One HTTP request."""

    url: Name
    """The address, http or https."""
    method: Method = "GET"
    """The HTTP method."""
    headers: Scalars = Field(default_factory=dict)
    """Request headers. Except for Accept, Accept-Language, Content-Type and User-Agent, they stay with the first host."""
    query: Annotated[dict[str, QueryValue], MAYBE] = Field(default_factory=dict)
    """Parameters that are added to the address; a list repeats the parameter, null leaves it out."""
    body: Any = None
    """The body: a text is sent as it is, everything else as JSON."""
    json_body: Any = Field(default=None, alias="json")
    """The body as JSON, a text too."""
    form: Annotated[dict[str, QueryValue], MAYBE] | None = None
    """The body as an HTML form (application/x-www-form-urlencoded)."""
    auth: Annotated[Auth, MAYBE] | None = None
    """Credentials of the request."""
    timeout: Seconds = 30
    """Seconds for the whole request, redirects and reading included."""
    expected_status: Annotated[list[Status], BeforeValidator(_listed), MAYBE] = Field(default_factory=_success)
    """The statuses that are a success: 200, `2xx`, `200-204`, or a list of such."""
    max_response_bytes: Annotated[int, Field(ge=0, le=50_000_000), MAYBE] = 5_000_000
    """Bytes of the response, after decompression, that are read before the step fails."""
    follow_redirects: Flag = True
    """Whether redirects are followed (10 at most)."""

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        given = [name for name, value in (("body", self.body), ("json", self.json_body), ("form", self.form))
                 if value is not None]
        if len(given) > 1:
            raise PydanticCustomError("one_body", f"{' and '.join(given)} exclude each other")
        if self.method is not UNKNOWN and self.method == "HEAD" and given:
            raise PydanticCustomError("one_body", f"a HEAD request has no {given[0]}")
        return self
