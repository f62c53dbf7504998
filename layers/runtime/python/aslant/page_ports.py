"""What scrape steps need from the outside: a reader of pages, and a browser. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class PageQuery:
    """What is wanted of a page: `found` are the elements (`css` or `xpath`, or the whole page), `parts` of each are
    text, html, attributes, links; `fields` are values within: name -> css, xpath, attribute, many."""

    css: str | None = None
    xpath: str | None = None
    parts: Sequence[str] = ("text",)
    fields: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)
    limit: int = 100


class PageReader(Protocol):
    def read(self, data: bytes, content_type: str, url: str, query: PageQuery, timeout: float) -> dict[str, Json]:
        """`title`, `elements` and `found` (how many there are) of a page.

        Raises ValidationError (the query), PayloadTooLarge or StepTimeout.
        """


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page to render. `wait_for` is a CSS selector; `settle` waits for what the page loads by itself."""

    url: str
    timeout: float
    user_agent: str
    max_bytes: int
    settle: bool = True
    wait_for: str | None = None
    screenshot: bool = False
    full_page: bool = False


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as the browser has it in the end; `screenshot` is a PNG."""

    status: int
    url: str
    html: str
    screenshot: bytes | None = None


class Browsing(Protocol):
    def render(self, request: PageRequest) -> RenderedPage:
        """A page of any status. Nothing is kept from one to the next.

        Raises AuthorizationError (a private address), NetworkError, StepTimeout, PayloadTooLarge or ValidationError.
        """


class Browser(Protocol):
    def open(self, timeout: float) -> AbstractContextManager[Browsing]:
        """A browser that runs, until the end of the block. Raises StepTypeUnavailable where there is none."""
