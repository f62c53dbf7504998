"""What executions of a compiled workflow cost, before any has run: AWS's list prices and stated assumptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aslant import prices
from translator.asl.estimate import Cost
from translator.asl.execution_type import Kind, obstacles
from translator.expressions.tree import Literal
from translator.model.workflow import Workflow
from translator.pipeline import Compilation

Range = tuple[float, float]  # least and most on any way through without retries or failures


@dataclass(frozen=True, slots=True)
class Assumed:
    """Seconds of a function's call and of entering a state, and MiB of a function."""

    call: float = 0.2
    state: float = 0.02
    memory: float = prices.DEFAULT_MEMORY


def usd_per_1000(compilation: Compilation, kind: Kind | None = None, assumed: Assumed | None = None) -> Range:
    """US dollars for 1,000 executions of the compiled kind, or of another: transitions or Express time, and Lambda.

    Models, messages, storage, logs and what child executions cost on their own are left out.
    """
    given = assumed or Assumed()
    wanted = kind or compilation.type
    cost = compilation.estimate.cost
    ends = [_one(cost, end, wanted, given, _waiting(compilation.workflow) if end else 0.0) for end in (0, 1)]
    return 1000 * ends[0], 1000 * ends[1]


def may_be_express(compilation: Compilation, others: Mapping[str, Workflow]) -> bool:
    return next(obstacles(compilation.workflow, others), None) is None


def _one(cost: Cost, end: int, kind: Kind, assumed: Assumed, waiting: float) -> float:
    calls, transitions = cost.lambda_calls[end], cost.transitions[end]
    functions = prices.lambda_usd(calls, assumed.call, assumed.memory)
    if kind == "STANDARD":
        return transitions * prices.TRANSITION + functions
    return prices.express_usd(waiting + calls * assumed.call + transitions * assumed.state) + functions


def _waiting(workflow: Workflow) -> float:
    """Seconds of all waits whose length is known."""
    found = 0.0
    for step in workflow.all_steps():
        value = step.seconds.value if isinstance(step.seconds, Literal) else step.seconds
        if step.type == "wait" and isinstance(value, int | float):
            found += value
    return found
