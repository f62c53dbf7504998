"""Definitions of any size: a chain, and layers of ten steps of which each waits for two of the layer before."""

from __future__ import annotations

import random

HEAD = "dialect: canonical\nid: bench\nsteps:\n"


def chain(steps: int) -> str:
    """Each step calls a skill with what the step before it gave."""
    return HEAD + "".join(_step(n, [n - 1] if n else []) for n in range(steps))


def layered(steps: int, width: int = 10, edges: int = 2) -> str:
    draw = random.Random(1)
    rows = []
    for n in range(steps):
        layer = n // width
        above = range((layer - 1) * width, layer * width) if layer else ()
        rows.append(_step(n, sorted(draw.sample(list(above), edges)) if layer else []))
    return HEAD + "".join(rows)


def _name(number: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = ""
    while True:
        number, rest = divmod(number, 36)
        text = digits[rest] + text
        if not number:
            return "s" + text


def _step(number: int, before: list[int]) -> str:
    """About a hundred characters, so that 10,000 steps fit into a definition's 1 MiB."""
    reads = f'"{{{{steps.{_name(before[0])}.x}}}}"' if before else "1"
    depends = f"depends_on: [{','.join(map(_name, before))}]," if before else ""
    return f" - {{id: {_name(number)},type: skill,{depends}config: {{skill: f,parameters: {{x: {reads}}}}}}}\n"
