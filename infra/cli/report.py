"""What a compiled workflow costs to run, as lines for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from translator.asl.execution_type import Kind, reason
from translator.comparison import Figures
from translator.costs import Assumed, may_be_express, usd_per_1000
from translator.findings.asl import LAMBDA_EXPRESSION
from translator.model.workflow import Workflow
from translator.pipeline import Compilation
from translator.reporting import visible

MAX_BYTES = 1024 * 1024
MAX_EVENTS = 25_000


Rows = list[tuple[str, str]]


Compared = Mapping[str, Mapping[str, Figures]]  # by workflow and strategy


def as_text(compilations: Sequence[Compilation], compared: Compared) -> str:
    """A block per workflow; ranges are the cheapest and the dearest way through without retries."""
    return "\n".join(
        _block(one, _workflows(compilations), compared.get(one.workflow.id, {})) for one in compilations
    )


def as_json(compilations: Sequence[Compilation], compared: Compared) -> str:
    """The same figures: an array with an object per workflow."""
    others = _workflows(compilations)
    rows = [{"workflow": one.workflow.id, "version": one.workflow.version, "dialect": one.dialect,
        **asdict(one.estimate), **_prices(one, others), "functions": dict(one.functions), "workflows": dict(one.workflows),
        "order": [asdict(each) for each in one.arrangements],
        "strategies": {name: asdict(each) for name, each in compared.get(one.workflow.id, {}).items()}}
        for one in compilations]
    return json.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n"


def _workflows(compilations: Sequence[Compilation]) -> Mapping[str, Workflow]:
    return {one.workflow.id: one.workflow for one in compilations}


def _prices(compilation: Compilation, others: Mapping[str, Workflow]) -> dict[str, Any]:
    kinds: tuple[Kind, ...] = ("STANDARD", "EXPRESS") if may_be_express(compilation, others) else ("STANDARD",)
    return {
        "type": compilation.type, "reason": reason(compilation.workflow, others),
        "usd_per_1000": {kind: usd_per_1000(compilation, kind) for kind in kinds},
    }


def _block(compilation: Compilation, others: Mapping[str, Workflow], compared: Mapping[str, Figures]) -> str:
    title = f"{visible(compilation.workflow.name or compilation.workflow.id)} {visible(compilation.workflow.version)}"
    rows = [*_machine(compilation), *_execution(compilation, others), *_parts(compilation), *_order(compilation, compared)]
    width = max(len(name) for name, _ in rows)
    lines = [f"{title} ({compilation.dialect})", *(f"  {name:<{width}}  {value}" for name, value in rows)]
    return "\n".join(lines) + "\n"


def _machine(compilation: Compilation) -> Rows:
    estimate = compilation.estimate
    return [
        ("states", f"{estimate.states:,}"),
        ("definition", f"{estimate.bytes:,} bytes ({estimate.bytes / MAX_BYTES:.1%} of the limit)"),
    ]


def _execution(compilation: Compilation, others: Mapping[str, Workflow]) -> Rows:
    """What one execution does, of which kind it is, and what a thousand cost."""
    cost, known, prices = compilation.estimate.cost, Assumed(), _prices(compilation, others)
    limit = f" (limit {MAX_EVENTS:,})" if compilation.type == "STANDARD" else ""
    rows = [
        ("transitions", _range(cost.transitions)),
        ("Lambda calls", _range(cost.lambda_calls)),
        ("history events", _range(cost.events) + limit),
        ("runs as", f"{compilation.type.capitalize()}: {visible(prices['reason'])}"),
    ]
    for kind, usd in prices["usd_per_1000"].items():
        name = "1,000 executions" if kind == compilation.type else f"as {kind.capitalize()}"
        rows.append((name, _usd(usd)))
    rows.append(("prices", f"us-east-1; {known.call:g} s a Lambda call of {known.memory:,} MiB, {known.state:g} s a state"))
    return rows


def _parts(compilation: Compilation) -> Rows:
    """What the machine calls, and what its figures leave open."""
    rows = [("functions", ", ".join(sorted(compilation.functions.values())) or "none")]
    if compilation.workflows:
        rows.append(("sub-workflows", ", ".join(sorted(compilation.workflows.values()))))
    if any(step.type == "foreach" for step in compilation.workflow.all_steps()):
        rows.append(("loops", f"counted with none to {compilation.estimate.items} items each"))
    in_lambda = [found.message for found in compilation.diagnostics if found.code == LAMBDA_EXPRESSION.code]
    rows.append(("evaluated in Lambda", "; ".join(map(visible, in_lambda)) or "nothing"))
    return rows


def _order(compilation: Compilation, compared: Mapping[str, Figures]) -> Rows:
    """How what is not series-parallel is laid out, and what each strategy would cost."""
    rows = []
    unit = "s" if compilation.workflow.settings.durations else "steps in a row"
    for each in compilation.arrangements:
        tokens = f", {each.tokens} token{'s' if each.tokens != 1 else ''}" if each.tokens else ""
        tokens += f", {each.turns} steps in turn" if each.turns else ""
        where = f" in {visible(each.scope)}" if each.scope else ""
        why = f": {visible(each.reason)}" if each.reason else ""
        rows.append(("order", f"{each.strategy}{tokens}{where}{why}"))
    for name, one in compared.items():
        rows.append((f"  {name}",
            f"{one.makespan:g} {unit}, {_range(one.transitions)} transitions, {one.states:,} states,"
            f" {_range(one.events)} events, {_range(one.lambda_calls)} Lambda calls, {_usd(one.usd_per_1000)} for 1,000"))
    return rows


def _usd(value: tuple[float, float]) -> str:
    low, high = (f"${amount:,.4f}" if amount < 0.1 else f"${amount:,.2f}" for amount in value)
    return low if low == high else f"{low} to {high}"


def _range(value: tuple[int, int]) -> str:
    low, high = value
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
