"""Configuration of scrape steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, UNKNOWN, Config, Flag, Name, Seconds, TextOrTexts, known

MOST_PAGES = 100
Part = Annotated[Literal["text", "html", "attributes", "links"], LOWER]


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) or value is UNKNOWN else [value]


def _css(value: Any) -> Any:
    """A text alone is a CSS selector."""
    return {"selector": value} if isinstance(value, str) else value


def _text_only() -> list[Any]:
    return ["text"]


class Piece(Config):
    """One value within an element."""

    selector: Name | None = None
    """The CSS selector of where it is; the element itself when left out."""
    xpath: Name | None = None
    """The XPath expression of where it is."""
    attribute: Name | None = None
    """The attribute that holds it; the text when left out."""
    many: Flag = False
    """Whether all that are found make a list; the first one when left out."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.selector is not None and self.xpath is not None:
            raise PydanticCustomError("one_way", "`selector` and `xpath` exclude each other")
        return self


PieceOrSelector = Annotated[Piece, BeforeValidator(_css, json_schema_input_type=str | Piece), MAYBE]
Parts = Annotated[list[Part], Field(min_length=1), BeforeValidator(_listed, json_schema_input_type=Part | list[Part]), MAYBE]


class ScrapeConfig(Config):
    """Reads parts of web pages."""

    urls: TextOrTexts | None = None
    """The pages, 100 at most."""
    url: Name | None = None
    """One page."""
    selector: Name | None = None
    """The CSS selector of what is wanted; the whole page when left out."""
    xpath: Name | None = None
    """The XPath expression of what is wanted, instead of a selector."""
    extract: Parts = Field(default_factory=_text_only)
    """What is taken of each element: `text`, `html`, `attributes`, `links` (addresses with their text), or several."""
    fields: Annotated[dict[str, PieceOrSelector], MAYBE] = Field(default_factory=dict)
    """Values within each element by a name of your own; a text is a CSS selector."""
    wait_for_load: Flag = False
    """Render the page in a browser and wait for dynamic content."""
    wait_for: Name | None = None
    """The CSS selector of an element that the browser waits for."""
    screenshot: Flag = False
    """Keep a picture of each page."""
    full_page: Flag = False
    """Whether the picture shows the whole page instead of its first 1280x800 points."""
    timeout: Seconds = 30
    """Seconds for each page."""
    limit: Annotated[int, Field(ge=1, le=10_000), MAYBE] = 100
    """The most elements that are returned, of all pages together."""
    concurrency: Annotated[int, Field(ge=1, le=8), MAYBE] = 4
    """How many pages are read at the same time; a browser reads one after another."""
    delay: Annotated[float, Field(ge=0, le=300, allow_inf_nan=False), MAYBE] = 1.0
    """Seconds between two requests to the same host; more when its robots.txt asks for more."""
    robots: Flag = True
    """Whether robots.txt is honoured."""
    user_agent: Annotated[str, Field(pattern="^[ -~]{1,200}$"), MAYBE] = "aslant"
    """Who asks: the User-Agent (ASCII), which robots.txt may speak of."""
    max_page_bytes: Annotated[int, Field(ge=1, le=20_000_000), MAYBE] = 5_000_000
    """Bytes of one page that are read before it fails; in a browser four times as many, with all that belongs to it."""
    skip_failed: Flag = False
    """Whether a page that fails is told in the output, instead of failing the step. It fails when all pages do."""

    @property
    def rendered(self) -> bool:
        """Whether a browser is needed."""
        return self.wait_for_load or self.screenshot or self.wait_for is not None

    @model_validator(mode="after")
    def _some_page(self) -> Self:
        if (self.url is None) == (self.urls is None):
            raise PydanticCustomError("one_page", "a scrape needs either `url` or `urls`")
        if self.selector is not None and self.xpath is not None:
            raise PydanticCustomError("one_way", "`selector` and `xpath` exclude each other")
        if known(self.urls) and isinstance(self.urls, list) and len(self.urls) > MOST_PAGES:
            raise PydanticCustomError("many_pages", f"a scrape reads {MOST_PAGES} pages at most; use a loop")
        return self
