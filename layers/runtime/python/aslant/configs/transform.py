"""Configuration of transform steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Data, DataFormat, Name, ScriptSeconds


class Evaluate(Config):
    """Expressions that the state machine leaves to the function. The translator writes this; nobody else does."""

    expressions: Data
    """Name -> expression tree."""
    slots: Data = Field(default_factory=dict)
    """`kind:name` -> the value of a reference in these trees."""
    lists: dict[str, int | None] = Field(default_factory=dict)
    """Values that must be lists, by name: the size of the batches that they are cut into, or none."""


class TransformConfig(Config):
    """Turns data into other data by an expression or by a Python script."""

    operation: Annotated[Literal["filter", "map", "reduce", "aggregate", "transform"], LOWER] = "transform"
    """What to do. `filter`, `map` and `reduce` evaluate `expression` for each `item` of `data`; a script sees all data."""
    expression: Name | None = None
    """An expression over `data`, and over `item`, `index` (and `total` in a reduce) for each item."""
    script: Name | None = None
    """A Python script with `data`, `input`, `results` and `items`; its `return` value is the output."""
    language: Annotated[Literal["python", "javascript"], LOWER] = "python"
    """The script's language. Only Python runs."""
    data: Any = None
    """What is transformed."""
    input: Any = None
    """More data for the script; `data` when left out."""
    initial: Any = None
    """The first `total` of a reduce."""
    input_format: DataFormat = "json"
    """How to read `data` when it is a text."""
    output_format: DataFormat = "json"
    """How to write the output: a value, CSV text or plain text."""
    timeout: ScriptSeconds = 30
    """Seconds that a script may run."""
    evaluate: Annotated[Evaluate, MAYBE] | None = Field(default=None, repr=False)  # no key that people write
    """Written by the translator."""

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        given = [name for name in ("expression", "script", "evaluate") if getattr(self, name) is not None]
        if len(given) > 1:
            raise PydanticCustomError("one_way", f"{' and '.join(given)} exclude each other")
        if not given and self.data is None:
            raise PydanticCustomError("one_way", "a transform needs an `expression`, a `script`, or `data` to convert")
        return self
