"""Configuration of aggregate steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, Config, Name, ScriptSeconds, Text


class AggregateConfig(Config):
    """Combines many results into one."""

    aggregation: Annotated[Literal["concat", "sum", "average", "max", "min", "summarize"], LOWER] = "concat"
    """How to combine."""
    format: Annotated[Literal["json", "text", "markdown_report"], LOWER] = "json"
    """What the output is."""
    custom_script: Name | None = None
    """A Python script over `results` that is used in place of `aggregation`."""
    results: Any = None
    """What is combined: a list, or an object of results by name."""
    data: Any = None
    """The same as `results`."""
    field: Name | None = None
    """Combine this field of each result."""
    title: Text = "Report"
    """The heading of a markdown report."""
    timeout: ScriptSeconds = 30
    """Seconds that a script may run."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.results is not None and self.data is not None:
            raise PydanticCustomError("one_source", "results and data exclude each other")
        return self
