"""A drawing that any browser shows: one file, no scripts, no fonts to fetch."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise

from rich.cells import cell_len

from translator.diagram.labels import label_places
from translator.diagram.layout import Placed, place
from translator.diagram.scene import BOX, COLOURS, OTHER, Node, Scope

TEXT = 13  # pixels of a font's size: names,
SMALL = 11  # and what is written below them and on arrows
PAD = 18.0
HEAD = 24.0
LABEL_CELLS = 40
TITLE_CELLS = 72  # a box has room for more than a node
# Widths of characters in sizes of the font, as the widest of the usual fonts (DejaVu Sans, Verdana) has them.
_NARROW, _WIDE = frozenset(" .,:;'|!()[]{}/\\-fijlrtI"), frozenset("mwMW@%&—…")
_BOLD = 1.14


@dataclass(slots=True)
class _Box:
    """A scope with its size and the places of what is in it; a node when `inside` is None."""

    item: Node | Scope
    width: float
    height: float
    inside: Placed | None = None
    boxes: tuple[_Box, ...] = ()
    labels: tuple[tuple[str, float, float], ...] = ()  # texts of arrows and the middles of their lines, as `inside`


def svg(root: Scope) -> str:
    """The scene with steps coloured by kind, arrows labelled by outcome and nested scopes as boxes."""
    box = _measured(root)
    width, height = max(box.width, 120), max(box.height, 60)
    parts = [
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif" font-size="{TEXT}">'),
        f"<title>{_xml(root.label)}</title>",
        ('<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#4a5568"/></marker></defs>'),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    _draw(box, 0, 0, parts)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _measured(item: Node | Scope) -> _Box:
    if isinstance(item, Node):
        wide = max(_width(_short(item.label), TEXT), _width(item.detail, SMALL))
        return _Box(item, max(wide + 28, 70) + (20 if item.kind in ("choice", "approval") else 0), 44)
    boxes = tuple(_measured(member) for member in item.items)
    index = {member.id: at for at, member in enumerate(item.items)}
    links = [(index[link.source], index[link.target]) for link in item.links]
    slots = [box.width for box in boxes]  # as wide as what is written on the arrow above
    for (_, target), link in zip(links, item.links, strict=True):
        slots[target] = max(slots[target], _width(_short(link.label), SMALL))
    inside = place([(slot, box.height) for slot, box in zip(slots, boxes, strict=True)], links)
    inside.boxes = [
        (x + (slot - box.width) / 2, y) for (x, y), slot, box in zip(inside.boxes, slots, boxes, strict=True)
    ]
    texts = [_short(link.label) for link in item.links]
    places = label_places(inside.arrows, [_width(text, SMALL) for text in texts])
    labels = tuple((text, x, y) for text, (x, y) in zip(texts, places, strict=True) if text)
    head = HEAD if item.label else 0
    title = _width(_short(item.label, TITLE_CELLS), TEXT) * _BOLD + 2 * PAD
    # A label may stick out at the side.
    slack = max((abs(x - inside.width / 2) + _width(text, SMALL) / 2 for text, x, _ in labels), default=0)
    inside_width = max(inside.width, 2 * slack)
    return _Box(item, max(inside_width + 2 * PAD, title), inside.height + 2 * PAD + head, inside, boxes, labels)


def _draw(box: _Box, x: float, y: float, parts: list[str]) -> None:
    item = box.item
    if isinstance(item, Node) or box.inside is None:
        _draw_node(box, x, y, parts)
        return
    head = HEAD if item.label else 0
    if item.id:
        fill, stroke = COLOURS.get(item.kind, BOX)
        dash = ' stroke-dasharray="4 3"' if item.kind in ("branch", "body", "finally", "rollback") else ""
        parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="8" '
            f'fill="{fill}" fill-opacity="0.55" stroke="{stroke}"{dash}/>')
    if item.label:
        parts.append(f'<text x="{x + PAD:.1f}" y="{y + 20:.1f}" font-weight="600" fill="#1a202c">'
            f"{_xml(_short(item.label, TITLE_CELLS))}<title>{_xml(item.label)}</title></text>")
    left, top = x + (box.width - box.inside.width) / 2, y + PAD + head
    for points in box.inside.arrows:
        _draw_arrow([(left + px, top + py) for px, py in points], parts)
    for member, (px, py) in zip(box.boxes, box.inside.boxes, strict=True):
        _draw(member, left + px, top + py, parts)
    parts += [
        f'<text x="{left + px:.1f}" y="{top + py + 4:.1f}" text-anchor="middle" font-size="{SMALL}" fill="#2d3748" '
        f'stroke="#ffffff" stroke-width="4" paint-order="stroke">{_xml(text)}</text>'
        for text, px, py in box.labels
    ]


def _draw_node(box: _Box, x: float, y: float, parts: list[str]) -> None:
    node = box.item
    fill, stroke = COLOURS.get(node.kind, OTHER)
    right, bottom, middle = x + box.width, y + box.height, y + box.height / 2
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6"'
    if node.kind == "wait":
        shape = shape.replace('rx="6"', f'rx="{box.height / 2:.0f}"')
    elif node.kind in ("choice", "approval"):
        shape = (f'<path d="M{x:.1f} {middle:.1f}L{x + 14:.1f} {y:.1f}L{right - 14:.1f} {y:.1f}'
            f'L{right:.1f} {middle:.1f}L{right - 14:.1f} {bottom:.1f}L{x + 14:.1f} {bottom:.1f}z"')
    detail = node.detail if isinstance(node, Node) else ""
    centre = x + box.width / 2
    parts.append(f'<g><title>{_xml(node.id)}: {_xml(node.label)}</title>{shape} fill="{fill}" stroke="{stroke}"/>'
        f'<text x="{centre:.1f}" y="{y + 19:.1f}" text-anchor="middle" fill="#1a202c">{_xml(_short(node.label))}</text>'
        f'<text x="{centre:.1f}" y="{y + 35:.1f}" text-anchor="middle" font-size="{SMALL}" fill="#4a5568">'
        f"{_xml(detail)}</text></g>")


def _draw_arrow(points: list[tuple[float, float]], parts: list[str]) -> None:
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = (y2 - y1) / 2
        path += f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    parts.append(f'<path d="{path}" fill="none" stroke="#4a5568" marker-end="url(#tip)"/>')


def _width(text: str, size: int) -> float:
    """Pixels that a text takes at most in a usual font of that size."""
    wide = 0.0
    for char in text:
        if cell_len(char) > 1:
            wide += 1.3  # emoji; ideographs take 1
        elif char in _NARROW:
            wide += 0.43
        elif char in _WIDE:
            wide += 1.0
        else:
            wide += 0.64 if char.islower() or char.isdigit() else 0.76
    return wide * size


def _short(text: str, length: int = LABEL_CELLS) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def _xml(text: str) -> str:
    """Escaped, and without the characters that XML cannot hold."""
    return escape("".join(char if char.isprintable() else " " for char in text))
