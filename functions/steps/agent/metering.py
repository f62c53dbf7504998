"""What a model's calls use: tokens, cost, and the tenant's budget."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from aslant import clock
from aslant.errors import ValidationError
from aslant.model_ports import ModelAnswer, ModelRequest, Models, Spending
from aslant.prices import ModelPrice, model_usd
from aslant.settings import Settings
from aslant.step import StepRun
from aslant.values import compact

_CHARACTERS = 3  # of a token, at least: what a question may cost is reserved before its tokens are counted


@dataclass(slots=True)
class Meter:
    """Asks, and counts into the run's usage, so that calls of an attempt that fails later are counted too."""

    run: StepRun
    models: Models
    spending: Callable[[], Spending]

    def ask(self, request: ModelRequest) -> ModelAnswer:
        """One answer. Raises BudgetExceeded before a call that could go beyond the tenant's budget."""
        prices = _prices(self.run.settings)
        limit = _budget(self.run)
        if limit is None:
            answer = self.models.ask(request)
            self._count(answer, model_usd(request.model, answer.tokens_in, answer.tokens_out, prices))
            return answer
        reserved = model_usd(request.model, _most_tokens(request), request.max_tokens, prices)
        if reserved is None:
            raise ValidationError(f"the model {request.model} has no price, and the tenant a budget; "
                                  "ASLANT_MODEL_PRICES can give it one")
        month = datetime.fromtimestamp(clock.now(), UTC).strftime("%Y-%m")
        tenant, spending = self.run.tenant, self.spending()
        spending.reserve(tenant, month, reserved, limit)
        used = 0.0
        try:
            answer = self.models.ask(request)
            used = model_usd(request.model, answer.tokens_in, answer.tokens_out, prices) or 0.0
            self._count(answer, used)
        finally:
            spending.settle(tenant, month, used - reserved)
        return answer

    def _count(self, answer: ModelAnswer, usd: float | None) -> None:
        measures = {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "calls": 1}
        if answer.calls:
            measures["tool_calls"] = len(answer.calls)
        for name, value in measures.items():
            self.run.usage[name] = self.run.usage.get(name, 0) + value
        if usd is not None:
            self.run.usage["cost_usd"] = self.run.usage.get("cost_usd", 0.0) + usd


def _most_tokens(request: ModelRequest) -> int:
    texts = [request.system, *(compact([tool.description, dict(tool.parameters)]) for tool in request.tools)]
    for message in request.messages:
        texts += [message.text, *(compact(call.arguments) for call in message.calls), *(each.text for each in message.results)]
    return math.ceil(sum(len(text.encode("utf-8", "replace")) for text in texts) / _CHARACTERS)


def _budget(run: StepRun) -> float | None:
    budgets = run.settings.model_budgets
    text = budgets.get(run.tenant, budgets.get("*"))
    return None if text is None else _dollars(text, "ASLANT_MODEL_BUDGETS")


def _prices(settings: Settings) -> dict[str, ModelPrice]:
    found = {}
    for name, text in settings.model_prices.items():
        before, _, after = text.partition("/")
        found[name] = ModelPrice(_dollars(before, "ASLANT_MODEL_PRICES"), _dollars(after or before, "ASLANT_MODEL_PRICES"))
    return found


def _dollars(text: str, variable: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValidationError(f"{variable} has a number that is no price: {text[:20]!r}")
    return value
