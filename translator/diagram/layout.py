"""A layered layout: boxes in rows from top to bottom, arrows that run down and around boxes.

The usual four steps (Sugiyama, Tagawa and Toda 1981): layers by longest path, bends for arrows that cross layers,
order by barycentres, and coordinates that pull each box to the middle of its neighbours. Lengths are pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

GAP_X = 28.0
GAP_Y = 52.0
SWEEPS = 6
MAX_BENDS = 20_000  # beyond, arrows run straight


@dataclass(slots=True)
class Placed:
    """Top left corners of the boxes, the points of each arrow, and the size of the whole."""

    boxes: list[tuple[float, float]] = field(default_factory=list)
    arrows: list[list[tuple[float, float]]] = field(default_factory=list)
    width: float = 0
    height: float = 0


def place(sizes: Sequence[tuple[float, float]], links: Sequence[tuple[int, int]]) -> Placed:
    """Places boxes of `sizes` (width, height), joined by `links` between their indexes, without cycles."""
    if not sizes:
        return Placed()
    layer = _layers(len(sizes), links)
    widths, chains = [width for width, _ in sizes], []
    bends = sum(max(layer[target] - layer[source] - 1, 0) for source, target in links)
    for source, target in links:
        chain = [source]
        if bends <= MAX_BENDS:
            for at in range(layer[source] + 1, layer[target]):
                chain.append(len(layer))
                layer.append(at)
                widths.append(4.0)
        chains.append([*chain, target])
    up: list[list[int]] = [[] for _ in layer]
    down: list[list[int]] = [[] for _ in layer]
    for chain in chains:
        for above, below in pairwise(chain):
            down[above].append(below)
            up[below].append(above)
    rows: list[list[int]] = [[] for _ in range(max(layer) + 1)]
    for index, at in enumerate(layer):
        rows[at].append(index)
    _order(rows, up, down)
    centre = _columns(rows, widths, up, down)
    left = min(centre[index] - widths[index] / 2 for index in range(len(layer)))
    top, tops, heights = 0.0, [], []
    for row in rows:
        height = max((sizes[index][1] for index in row if index < len(sizes)), default=0.0)
        tops.append(top)
        heights.append(height)
        top += height + GAP_Y
    placed = Placed(height=top - GAP_Y)
    for index, (width, height) in enumerate(sizes):
        at = layer[index]
        placed.boxes.append((centre[index] - width / 2 - left, tops[at] + (heights[at] - height) / 2))
    for chain in chains:
        points: list[tuple[float, float]] = []
        for index in chain:
            x, at = centre[index] - left, layer[index]
            if index == chain[0]:
                points.append((x, placed.boxes[index][1] + sizes[index][1]))
            elif index == chain[-1]:
                points.append((x, placed.boxes[index][1]))
            else:
                points += [(x, tops[at]), (x, tops[at] + heights[at])]
        placed.arrows.append(points)
    placed.width = max(centre[index] + widths[index] / 2 for index in range(len(layer))) - left
    return placed


def _layers(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """The longest path that leads to each box."""
    layer, waits = [0] * count, [0] * count
    after: list[list[int]] = [[] for _ in range(count)]
    for source, target in links:
        after[source].append(target)
        waits[target] += 1
    ready = [index for index in range(count) if not waits[index]]
    for index in ready:
        for target in after[index]:
            layer[target] = max(layer[target], layer[index] + 1)
            waits[target] -= 1
            if not waits[target]:
                ready.append(target)
    return layer


def _order(rows: list[list[int]], up: list[list[int]], down: list[list[int]]) -> None:
    """Sorts each row by where its neighbours stand, downwards and upwards in turn."""
    place_of = {index: float(at) for row in rows for at, index in enumerate(row)}
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            middle = {
                index: sum(place_of[other] for other in near[index]) / len(near[index])
                if near[index] else place_of[index]
                for index in row
            }
            row.sort(key=middle.__getitem__)  # stable: ties keep their order
            for at, index in enumerate(row):
                place_of[index] = float(at)


def _columns(
    rows: list[list[int]], widths: list[float], up: list[list[int]], down: list[list[int]]
) -> dict[int, float]:
    centre: dict[int, float] = {}
    for row in rows:
        x = 0.0
        for index in row:
            centre[index] = x + widths[index] / 2
            x += widths[index] + GAP_X
        for index in row:
            centre[index] -= x / 2
    for sweep in range(SWEEPS):
        near = up if sweep % 2 == 0 else down
        for row in rows if sweep % 2 == 0 else reversed(rows):
            wanted = [
                sum(centre[other] for other in near[index]) / len(near[index]) if near[index] else centre[index]
                for index in row
            ]
            for index, x in zip(row, _apart(wanted, [widths[index] for index in row]), strict=True):
                centre[index] = x
    return centre


def _apart(wanted: list[float], widths: list[float]) -> list[float]:
    """The centres nearest to `wanted` (least squares) that keep order and gaps: pool adjacent violators."""
    offsets, offset = [], 0.0
    for at, width in enumerate(widths):
        if at:
            offset += (widths[at - 1] + width) / 2 + GAP_X
        offsets.append(offset)
    pools: list[tuple[float, int]] = []
    for want, shift in zip(wanted, offsets, strict=True):
        value, count = want - shift, 1
        while pools and pools[-1][0] > value:
            before, size = pools.pop()
            value, count = (value * count + before * size) / (count + size), count + size
        pools.append((value, count))
    flat = [value for value, count in pools for _ in range(count)]
    return [value + shift for value, shift in zip(flat, offsets, strict=True)]
