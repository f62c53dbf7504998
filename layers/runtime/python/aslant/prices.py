"""What an execution costs, by AWS's list prices of us-east-1 in US dollars. Discounts and free tiers are left out.

Sources: aws.amazon.com/step-functions/pricing, aws.amazon.com/lambda/pricing (arm64),
aws.amazon.com/dynamodb/pricing/on-demand, aws.amazon.com/sns/pricing, aws.amazon.com/ses/pricing,
aws.amazon.com/eventbridge/pricing, aws.amazon.com/bedrock/pricing (models of Anthropic; profiles of one geography cost a
tenth more than global ones since the generation 4.5). Look them up again when a model is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from aslant.executions.records import StepRecord

TRANSITION = 25 / 1_000_000          # a state that is entered, or tried again
GB_SECOND = 0.0000133334             # Lambda on arm64
REQUEST = 0.20 / 1_000_000           # of Lambda
EXPRESS_REQUEST = 1.00 / 1_000_000   # an Express execution that is started
EXPRESS_GB_SECOND = 0.00001667       # of an Express execution, in chunks of 64 MB
EXPRESS_CHUNK_GB = 64 / 1024
MESSAGES: Mapping[str, float] = {    # one call of a step of this type; HTTP deliveries, emails
    "notify": 0.50 / 1_000_000, "email": 0.10 / 1_000,
}  # fmt: skip
DEFAULT_MEMORY = 512                 # MiB, where a record does not say


class ModelPrice(NamedTuple):
    """US dollars per million tokens."""

    input: float
    output: float


MODELS: Mapping[str, ModelPrice] = {  # by a part of the model's id
    "claude-opus-4-1": ModelPrice(15.0, 75.0),
    "claude-sonnet-4-5": ModelPrice(3.0, 15.0),
    "claude-haiku-4-5": ModelPrice(1.0, 5.0),
    "offline": ModelPrice(0.0, 0.0),
}
_REGIONAL = 1.1   # for an id that starts with a geography (us., eu., apac., jp., au.)
_GEOGRAPHIES = ("us.", "eu.", "apac.", "jp.", "au.")
_SAME_EVERYWHERE = ("claude-opus-4-1",)

# Measures that are not added up: the memory is that of each call.
_NOT_SUMMED = frozenset({"memory_mb"})


@dataclass(frozen=True, slots=True)
class Cost:
    """`usd` is the sum of `parts` (transitions, lambda, models, messages); `left_out` says what has no price here."""

    usd: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def lambda_usd(calls: float, seconds: float, memory: float = DEFAULT_MEMORY) -> float:
    """The price of `calls` of a function with `memory` MiB that take `seconds` each."""
    return calls * (REQUEST + seconds * memory / 1024 * GB_SECOND)


def express_usd(seconds: float) -> float:
    """The price of one Express execution that lasts `seconds` and needs no more than one chunk of memory."""
    return EXPRESS_REQUEST + seconds * EXPRESS_CHUNK_GB * EXPRESS_GB_SECOND


def model_usd(model: str, tokens_in: float, tokens_out: float, more: Mapping[str, ModelPrice] | None = None) -> float | None:
    """The price of a model's tokens; None for a model that is not in the table. Prices in `more` go first, as they are."""
    for name, price in (more or {}).items():
        if name in model:
            return (tokens_in * price.input + tokens_out * price.output) / 1_000_000
    for name, price in MODELS.items():
        if name in model:
            regional = model.startswith(_GEOGRAPHIES) and name not in _SAME_EVERYWHERE
            factor = _REGIONAL if regional else 1.0
            return factor * (tokens_in * price.input + tokens_out * price.output) / 1_000_000
    return None


def step_cost(step: StepRecord) -> Cost:
    """What the calls of one step cost, of all its attempts that were recorded. States of the machine are not in it."""
    usage = step.usage
    parts: dict[str, float] = {}
    left_out: list[str] = []
    if "billed_ms" in usage:
        memory = usage.get("memory_mb") or DEFAULT_MEMORY
        parts["lambda"] = usage["billed_ms"] / 1000 * memory / 1024 * GB_SECOND + step.total_attempts * REQUEST
    tokens = usage.get("tokens_in", 0) + usage.get("tokens_out", 0)
    if "cost_usd" in usage:
        parts["models"] = usage["cost_usd"]
    elif tokens:
        left_out.append(f"{tokens:,.0f} tokens of a model without a price")
    if step.type in MESSAGES and not step.native:
        parts["messages"] = MESSAGES[step.type] * max(1, usage.get("calls", 1))
    return Cost(sum(parts.values()), parts, tuple(left_out))


def cost(steps: Iterable[StepRecord], transitions: float) -> Cost:
    """What an execution costs: its state transitions and its steps. Storage, logs and data transfer are left out."""
    parts: dict[str, float] = {"transitions": transitions * TRANSITION}
    left_out: dict[str, None] = {}
    for step in steps:
        one = step_cost(step)
        for name, usd in one.parts.items():
            parts[name] = parts.get(name, 0.0) + usd
        left_out.update(dict.fromkeys(f"{step.label}: {text}" for text in one.left_out))
    return Cost(sum(parts.values()), parts, tuple(left_out))


def totals(steps: Iterable[StepRecord], transitions: float) -> dict[str, float]:
    """The measures of an execution: sums of its steps' (`billed_ms` as `lambda_ms`), state_transitions, and cost_usd."""
    found: dict[str, float] = {}
    every = list(steps)
    for step in every:
        for name, value in step.usage.items():
            if name not in _NOT_SUMMED and name != "cost_usd":
                name = "lambda_ms" if name == "billed_ms" else name
                found[name] = found.get(name, 0) + value
    found["state_transitions"] = transitions
    found["cost_usd"] = round(cost(every, transitions).usd, 9)
    return found
