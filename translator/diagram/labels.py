"""Where the labels of arrows stand: in the middle of the arrow, or nearer to an end where two would overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

HEIGHT = 14.0  # pixels from one line of text to the next
_MIDDLE = 0.5
_ASIDE = (0.78, 0.22, _MIDDLE)  # along the arrow; between two rows of boxes, the first two are one line apart
_BETWEEN = 4.0  # pixels between two labels

Arrow = Sequence[tuple[float, float]]


def label_places(arrows: Sequence[Arrow], widths: Sequence[float]) -> list[tuple[float, float]]:
    """The middle of each arrow's label. `widths` are those of the labels, 0 for none; lengths are pixels."""
    middles = [_on(arrow, _MIDDLE) for arrow in arrows]
    taken = _Taken()
    for place, width in zip(middles, widths, strict=True):
        if width:
            taken.add(place, width)
    free = _Taken()
    aside = []
    for at, (place, width) in enumerate(zip(middles, widths, strict=True)):
        if width and taken.overlap(place, width) > width + _BETWEEN + 1:  # more than itself
            aside.append(at)
        elif width:
            free.add(place, width)
    for at in aside:
        choices = [_on(arrows[at], along) for along in _ASIDE]
        overlaps = [free.overlap(place, widths[at]) for place in choices]
        middles[at] = choices[overlaps.index(min(overlaps))]
        free.add(middles[at], widths[at])
    return middles


def _on(arrow: Arrow, t: float) -> tuple[float, float]:
    """A point on the arrow's first curve, whose control points are halfway down, above and below its ends."""
    (x1, y1), (x2, y2) = arrow[0], arrow[1]
    return x1 + (x2 - x1) * t * t * (3 - 2 * t), y1 + (y2 - y1) * (1.5 * t * (1 - t) + t**3)


class _Taken:
    """Labels by the strip of the drawing that they are in."""

    def __init__(self) -> None:
        self.strips: dict[int, list[tuple[float, float, float]]] = {}

    def add(self, place: tuple[float, float], width: float) -> None:
        x, y = place
        self.strips.setdefault(int(y // HEIGHT), []).append((x - width / 2, x + width / 2, y))

    def overlap(self, place: tuple[float, float], width: float) -> float:
        """Pixels by which a label there would overlap others."""
        x, y = place
        return sum(
            max(0.0, min(right, x + width / 2) - max(left, x - width / 2) + _BETWEEN)
            for left, right, middle in self._near(y) if abs(middle - y) < HEIGHT
        )

    def _near(self, y: float) -> Iterator[tuple[float, float, float]]:
        strip = int(y // HEIGHT)
        for at in (strip - 1, strip, strip + 1):
            yield from self.strips.get(at, ())
