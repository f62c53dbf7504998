"""Random graphs as definitions, with failures and skips, and what their runs must give: written down from the rules alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

Preds = Sequence[Sequence[int]]


def drawn(draw: random.Random, most: int = 12) -> list[list[int]]:
    """The predecessors of each step of a graph."""
    count, share = draw.randrange(4, most + 1), draw.uniform(0.15, 0.5)
    return [[other for other in range(step) if draw.random() < share] for step in range(count)]


def definition(preds: Preds, *, skips: frozenset[int] = frozenset(), go_on: bool = True, strategy: str = "auto") -> str:
    """Steps `s0`, `s1`, …; those in `skips` have a condition. With `go_on` the workflow goes on after failures."""
    rows = [
        f"  - {{id: s{step}, type: skill, depends_on: [{', '.join(f's{one}' for one in before)}], config: {{skill: f, parameters: "
        f"{{x: {_read(before)}}}}}{', when: input.w' if step in skips else ''}{', on_failure: continue' if go_on else ''}}}"
        for step, before in enumerate(preds)
    ]
    return "\n".join(["dialect: canonical", "id: drawn", f"settings: {{strategy: {strategy}}}", "steps:", *rows])


def _read(before: Sequence[int]) -> str:
    """What the step reads: of every step that it waits for."""
    return '"' + "".join(f"{{{{ steps.s{one}.output }}}}" for one in before) + '"'


@dataclass(frozen=True, slots=True)
class Expected:
    """`end` of each step that is settled; `failed` says that the execution fails, when the first step does."""

    status: dict[int, str]
    start: dict[int, float]
    end: dict[int, float]
    failed_at: float | None


def expected(
    preds: Preds, seconds: Sequence[float], *, fails: frozenset[int] = frozenset(), skips: frozenset[int] = frozenset(),
    go_on: bool = True,
) -> Expected:
    """What happens with unlimited workers: each step starts the moment that the last one it waits for is settled."""
    start: dict[int, float] = {}
    end: dict[int, float] = {}
    status: dict[int, str] = {}
    for step, before in enumerate(preds):
        start[step] = max((end[one] for one in before), default=0.0)
        status[step] = "skipped" if step in skips else "failed" if step in fails else "completed"
        end[step] = start[step] + (0.0 if step in skips else seconds[step])
    first = min((end[step] for step, what in status.items() if what == "failed"), default=None)
    if go_on or first is None:
        return Expected(status, start, end, None)
    kept = {step for step in end if end[step] <= first}
    return Expected({step: status[step] for step in kept}, start, end, first)
