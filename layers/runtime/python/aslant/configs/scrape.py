"""Configuration of scrape steps."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import MAYBE, Config, Flag, Name, Seconds, TextOrTexts


class ScrapeConfig(Config):
    """Reads parts of web pages."""

    urls: TextOrTexts | None = None
    """The pages."""
    url: Name | None = None
    """One page."""
    selector: Name | None = None
    """The CSS selector of what is wanted; the whole page when left out."""
    wait_for_load: Flag = False
    """Render the page in a browser and wait for dynamic content."""
    screenshot: Flag = False
    """Keep a picture of each page."""
    timeout: Seconds = 30
    """Seconds for each page."""
    limit: Annotated[int, Field(ge=1, le=10_000), MAYBE] = 100
    """The most elements that are returned."""

    @model_validator(mode="after")
    def _some_page(self) -> Self:
        if (self.url is None) == (self.urls is None):
            raise PydanticCustomError("one_page", "a scrape needs either `url` or `urls`")
        return self
