"""Definitions of any size: a chain, and layers of ten steps of which each waits for two of the layer before."""

from __future__ import annotations

import random

HEAD = "dialect: canonical\nid: bench\nsteps:\n"


Graph = list[list[int]]  # the numbers of the steps before each step


def chain(steps: int) -> str:
    """Each step calls a skill with what the step before it gave."""
    return written(chain_graph(steps))


def layered(steps: int, width: int = 10, edges: int = 2) -> str:
    return written(layered_graph(steps, width, edges))


def written(graph: Graph) -> str:
    """The definition of a graph."""
    return HEAD + "".join(_step(number, before) for number, before in enumerate(graph))


def chain_graph(steps: int) -> Graph:
    return [[number - 1] if number else [] for number in range(steps)]


def layered_graph(steps: int, width: int = 10, edges: int = 2) -> Graph:
    draw = random.Random(1)
    graph: Graph = []
    for number in range(steps):
        layer = number // width
        above = range((layer - 1) * width, layer * width) if layer else ()
        graph.append(sorted(draw.sample(list(above), edges)) if layer else [])
    return graph


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
