"""Configuration of agent steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Data, Name, Text


class AgentConfig(Config):
    """One call of a language model. A `prompt`, an `input`, or both."""

    agent_id: Name | None = None
    """A named agent; it is used like a model alias, and given to the model as its role."""
    model: Name | None = None
    """A model alias (`gpt-4`, `claude-sonnet` …) or a Bedrock model id."""
    prompt: Text | None = None
    """What the model is asked."""
    system: Text | None = None
    """The system prompt."""
    input: Any = None
    """Data for the model, added to the prompt as JSON (a text as it is)."""
    parameters: Data = Field(default_factory=dict)
    """More named data for the model, added like `input`."""
    temperature: Annotated[float, Field(ge=0, le=2), MAYBE] = 0.7
    """Randomness. Bedrock's models take 0 to 1; more counts as 1."""
    max_tokens: Annotated[int, Field(ge=1, le=200_000), MAYBE] = 2000
    """The longest answer, in tokens."""
    output_format: Annotated[Literal["text", "json", "json_array", "markdown"], LOWER] = "text"
    """What the output is: a text, parsed JSON, a parsed JSON list, or Markdown text."""
    output_schema: Data | None = None
    """A JSON Schema that the model is told to follow (with `output_format: json`)."""

    @model_validator(mode="after")
    def _something_to_ask(self) -> Self:
        if self.prompt is None and self.input is None:
            raise PydanticCustomError("nothing_to_ask", "an agent needs a `prompt` or an `input`")
        return self
