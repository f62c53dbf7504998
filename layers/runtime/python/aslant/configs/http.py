"""Configuration of http steps."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PlainValidator, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, UNKNOWN, UPPER, Config, Flag, Name, Scalar, Scalars, Seconds, Text, known

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


Status = Annotated[int | str, PlainValidator(_status, json_schema_input_type=int | str), MAYBE]
Statuses = Annotated[list[Status], BeforeValidator(_listed, json_schema_input_type=Status | list[Status]), MAYBE]


class Auth(Config):
    """Who the request is from. Values come from `secrets`."""

    type: Annotated[Literal["bearer", "basic", "api_key", "sigv4"], LOWER]
    """`bearer` sends `token`, `basic` sends `username` and `password`, `api_key` sends `key` in a header or the query,
    `sigv4` signs the request as AWS does (Signature Version 4), with keys of the tenant's own."""
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
    access_key: Text = ""
    """The access key id of `sigv4`."""
    secret_key: Text = ""
    """The secret access key of `sigv4`."""
    session_token: Text = ""
    """The session token that belongs to temporary keys of `sigv4`."""
    region: Text = ""
    """The AWS region that `sigv4` signs for."""
    service: Text = ""
    """The AWS service that `sigv4` signs for, as its ARNs name it (`execute-api`, `s3`, `es` …)."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        needed = {"bearer": ("token",), "basic": ("username",), "api_key": ("key",),
                  "sigv4": ("access_key", "secret_key", "region", "service")}
        for field in needed.get(self.type, ()):
            if getattr(self, field) == "":
                raise PydanticCustomError("incomplete", f"{self.type} needs `{field}`")
        return self


class Tls(Config):
    """Certificates, as texts in PEM form; they stay with the first host. The key comes from `secrets`."""

    certificate: Text = ""
    """The client's certificate, and those of its authority after it (mutual TLS)."""
    key: Text = ""
    """The key that belongs to the certificate."""
    password: Text = ""
    """The password of the key, if it has one."""
    ca: Text = ""
    """Certificates of authorities that are trusted besides the public ones."""

    @model_validator(mode="after")
    def _complete(self) -> Self:
        if known(self.certificate, self.key) and bool(self.certificate) != bool(self.key):
            raise PydanticCustomError("incomplete", "a client's certificate needs `certificate` and `key`")
        return self


class Pagination(Config):
    """A list that comes in pages. The output's `body` is then the list of all items."""

    type: Annotated[Literal["link", "next", "cursor", "page", "offset"], LOWER]
    """What leads to the next page: `link` the header Link (rel=next), `next` an address in the body, `cursor` a value in
    the body that is sent back, `page` a number that counts up, `offset` the number of items so far."""
    items: Name | None = None
    """Where the page's items are in its body (`data.items`); the body itself when left out."""
    next: Name | None = None
    """Where the next address or the cursor is in the body (`meta.next`); null, false or nothing there ends the list."""
    parameter: Name | None = None
    """The parameter of the cursor, page or offset; called like the type when left out."""
    location: Annotated[Literal["query", "body"], LOWER] = "query"
    """Whether parameters stand in the address, or in a JSON body."""
    start: Annotated[int, Field(ge=0), MAYBE] | None = None
    """The first page's number or offset: 1 and 0 when left out."""
    size: Annotated[int, Field(ge=1, le=10_000), MAYBE] | None = None
    """Items of a page. A page with fewer is then the last one; else the first empty page ends the list."""
    size_parameter: Name = "limit"
    """The parameter that says `size`."""
    max_pages: Annotated[int, Field(ge=1, le=1000), MAYBE] = 100
    """Pages that are read at most; `more` in the output says that there were others."""
    max_items: Annotated[int, Field(ge=1, le=100_000), MAYBE] = 10_000
    """Items that are kept at most; `more` says it too."""

    @model_validator(mode="after")
    def _says_where(self) -> Self:
        if self.type in ("next", "cursor") and self.next is None:
            raise PydanticCustomError("incomplete", f"pages by {self.type} need `next`: where it is in the body")
        return self


class HttpConfig(Config):
    """One HTTP request, or one for each page of a list."""

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
    expected_status: Statuses = Field(default_factory=_success)
    """The statuses that are a success: 200, `2xx`, `200-204`, or a list of such."""
    max_response_bytes: Annotated[int, Field(ge=0, le=50_000_000), MAYBE] = 5_000_000
    """Bytes of the response (of all pages), after decompression, that are read before the step fails."""
    follow_redirects: Flag = True
    """Whether redirects are followed (10 at most)."""
    pagination: Annotated[Pagination, MAYBE] | None = None
    """Reads all pages of a list."""
    tls: Annotated[Tls, MAYBE] | None = None
    """Certificates of the client and of authorities."""

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        given = [name for name, value in (("body", self.body), ("json", self.json_body), ("form", self.form))
                 if value is not None]
        if len(given) > 1:
            raise PydanticCustomError("one_body", f"{' and '.join(given)} exclude each other")
        if self.method is not UNKNOWN and self.method == "HEAD" and given:
            raise PydanticCustomError("one_body", f"a HEAD request has no {given[0]}")
        pages = self.pagination
        if pages is not None and known(pages, self.json_body, self.body) and pages.location == "body":
            data = self.json_body if self.json_body is not None else self.body
            if pages.type not in ("cursor", "page", "offset") or not isinstance(data, dict | None) or self.form is not None:
                raise PydanticCustomError("no_place", "parameters of pages in the body need a `json` body with keys")
        return self
