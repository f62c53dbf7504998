"""What a compiled workflow costs to run, as lines for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from translator.findings.asl import LAMBDA_EXPRESSION
from translator.pipeline import Compilation
from translator.reporting import visible

MAX_BYTES = 1024 * 1024
MAX_EVENTS = 25_000


def as_text(compilations: Sequence[Compilation]) -> str:
    """A block per workflow; ranges are the cheapest and the dearest way through without retries."""
    return "\n".join(_block(compilation) for compilation in compilations)


def as_json(compilations: Sequence[Compilation]) -> str:
    """The same figures: an array with an object per workflow."""
    rows = [{"workflow": one.workflow.id, "version": one.workflow.version, "dialect": one.dialect,
        **asdict(one.estimate), "functions": dict(one.functions), "workflows": dict(one.workflows)}
        for one in compilations]
    return json.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n"


def _block(compilation: Compilation) -> str:
    estimate = compilation.estimate
    workflow = compilation.workflow
    size = estimate.bytes / MAX_BYTES
    loops = any(step.type == "foreach" for step in workflow.all_steps())
    rows = [
        ("states", f"{estimate.states:,}"),
        ("definition", f"{estimate.bytes:,} bytes ({size:.1%} of the limit)"),
        ("transitions", _range(estimate.cost.transitions)),
        ("Lambda calls", _range(estimate.cost.lambda_calls)),
        ("history events", f"{_range(estimate.cost.events)} (limit {MAX_EVENTS:,})"),
        ("functions", ", ".join(sorted(compilation.functions.values())) or "none"),
    ]
    if compilation.workflows:
        rows.append(("sub-workflows", ", ".join(sorted(compilation.workflows.values()))))
    if loops:
        rows.append(("loops", f"counted with none to {estimate.items} items each"))
    in_lambda = [found.message for found in compilation.diagnostics if found.code == LAMBDA_EXPRESSION.code]
    rows.append(("evaluated in Lambda", "; ".join(map(visible, in_lambda)) or "nothing"))
    width = max(len(name) for name, _ in rows)
    title = f"{visible(workflow.name or workflow.id)} {visible(workflow.version)} ({compilation.dialect})"
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)]) + "\n"


def _range(value: tuple[int, int]) -> str:
    low, high = value
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
