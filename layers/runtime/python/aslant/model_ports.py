"""What agents need from the outside: models, and what they may cost. The other ports are in `aslant.ports`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class ModelTool:
    """What a model may call. `parameters` is a JSON Schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's wish; `arguments` are a text where the model wrote no JSON."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave, as a text."""

    id: str
    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class ModelMessage:
    """`role` is user or assistant. The assistant has `calls`, the user gives the `results` of all of them at once."""

    role: str
    text: str = ""
    calls: Sequence[ToolCall] = ()
    results: Sequence[ToolResult] = ()


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """`on_text` is told the answer's text piece by piece, where it is given."""

    model: str
    messages: Sequence[ModelMessage]
    system: str = ""
    temperature: float = 0.7
    max_tokens: int = 2000
    timeout: float = 60.0  # seconds
    tools: Sequence[ModelTool] = ()
    on_text: Callable[[str], None] | None = None


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """`stop_reason` is max_tokens when the answer was cut off."""

    text: str
    tokens_in: int
    tokens_out: int
    stop_reason: str = "end_turn"
    calls: Sequence[ToolCall] = ()


class Models(Protocol):
    def ask(self, request: ModelRequest) -> ModelAnswer:
        """One answer. Raises RateLimited, ServerError, StepTimeout, AuthorizationError, ValidationError, ModelError."""


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """A server that speaks OpenAI's chat completions."""

    url: str
    key: str = field(default="", repr=False)


class Spending(Protocol):
    """What a tenant's models cost in a month (`2026-11`), in US dollars."""

    def reserve(self, tenant: str, month: str, usd: float, limit: float) -> None:
        """Adds to what was spent. Raises BudgetExceeded, and adds nothing, where that would be more than the limit."""

    def settle(self, tenant: str, month: str, usd: float) -> None:
        """Adds the difference between what was reserved and what it came to."""
