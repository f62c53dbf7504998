"""Configuration of agent steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from aslant.configs.base import LOWER, MAYBE, Config, Data, Flag, Name, Text, known


class Endpoint(Config):
    """A server of models that speaks OpenAI's chat completions."""

    url: Name
    """Its address without `/chat/completions`, such as `https://models.example.com/v1`."""
    key: Text = ""
    """The key that is sent as a bearer token, from `secrets`."""


class Tool(Config):
    """A skill that the model may call."""

    skill: Name
    """The name that the skill is registered under."""
    version: Annotated[str, Field(pattern=r"^\d{1,6}(\.\d{1,6}){0,2}$"), MAYBE] | None = None
    """The version of the skill, or how it begins (`2`, `2.1`); the newest that is active without it."""
    description: Text = ""
    """What the model is told that it does; a Python skill's own description when left out."""
    parameters: Data | None = None
    """A JSON Schema of its arguments; those of a Python skill's signature when left out."""


class AgentConfig(Config):
    """A question to a language model: a `prompt` or a `template`, an `input`, or both."""

    agent_id: Name | None = None
    """A named agent; it is used like a model alias, and given to the model as its role."""
    model: Name | None = None
    """A model alias (`gpt-4`, `claude-sonnet` …), a Bedrock model id, or `openai:` and the name of a model at the
    installation's endpoint."""
    endpoint: Annotated[Endpoint, MAYBE] | None = None
    """A server of models to ask instead of Bedrock."""
    prompt: Text | None = None
    """What the model is asked."""
    template: Name | None = None
    """The name of a stored prompt, instead of `prompt`."""
    values: Data = Field(default_factory=dict)
    """What the template's placeholders `{{ name }}` stand for."""
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
    """A JSON Schema that the answer must fit (with `output_format: json`). `$ref` is told to the model, but not checked."""
    repair_attempts: Annotated[int, Field(ge=0, le=5), MAYBE] = 1
    """How often an answer that is no JSON, or does not fit the schema, is sent back to be put right."""
    tools: Annotated[list[Annotated[Name | Tool, MAYBE]], Field(max_length=50), MAYBE] = Field(default_factory=list)
    """Skills that the model may call: names, or names with a description and a schema."""
    max_turns: Annotated[int, Field(ge=1, le=50), MAYBE] = 10
    """How often the model may call tools before it has to answer."""
    stream: Flag = False
    """Publishes the answer piece by piece as events `node_progress`, while the model writes it."""

    @model_validator(mode="after")
    def _something_to_ask(self) -> Self:
        if self.prompt is None and self.input is None and self.template is None:
            raise PydanticCustomError("nothing_to_ask", "an agent needs a `prompt` or an `input`")
        if self.prompt is not None and self.template is not None:
            raise PydanticCustomError("template_only", "`template` and `prompt` exclude each other")
        if self.template is None and known(self.values) and self.values:
            raise PydanticCustomError("no_template", "`values` are for a `template`")
        if self.output_schema is not None and known(self.output_format) and not self.output_format.startswith("json"):
            raise PydanticCustomError("no_json", "`output_schema` is for `output_format: json`")
        return self
