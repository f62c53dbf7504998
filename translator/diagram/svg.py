"""A drawing that any browser shows: one file, no scripts, no fonts to fetch."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise

from rich.cells import cell_len

from translator.diagram.layout import Placed, place
from translator.diagram.scene import BOX, COLOURS, OTHER, Link, Node, Scope

CELL = 7.3  # pixels of a character at 13 px
SMALL = 6.0  # and at 11 px
PAD = 18.0
HEAD = 24.0
LABEL_CELLS = 40


@dataclass(slots=True)
class _Box:
    """A scope with its size and the places of what is in it; a node when `inside` is None."""

    item: Node | Scope
    width: float
    height: float
    inside: Placed | None = None
    boxes: tuple[_Box, ...] = ()


def svg(root: Scope) -> str:
    """The scene with steps coloured by kind, arrows labelled by outcome and nested scopes as boxes."""
    box = _measured(root)
    width, height = max(box.width, 120), max(box.height, 60)
    parts = [
        (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" font-family="system-ui, sans-serif" font-size="13">'),
        f"<title>{_xml(root.label)}</title>",
        ('<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L10 5L0 10z" fill="#4a5568"/></marker></defs>'),
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    _draw(box, 0, 0, parts)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _measured(item: Node | Scope) -> _Box:
    if isinstance(item, Node):
        wide = max(cell_len(_short(item.label)) * CELL, cell_len(item.detail) * SMALL)
        return _Box(item, max(wide + 28, 70) + (20 if item.kind in ("choice", "approval") else 0), 44)
    boxes = tuple(_measured(member) for member in item.items)
    index = {member.id: at for at, member in enumerate(item.items)}
    links = [(index[link.source], index[link.target]) for link in item.links]
    inside = place([(box.width, box.height) for box in boxes], links)
    head = HEAD if item.label else 0
    title = cell_len(_short(item.label)) * CELL + 2 * PAD
    # An arrow's label may stick out to the right of a narrow drawing.
    slack = max((cell_len(_short(link.label)) * SMALL / 2 - inside.width / 2 for link in item.links), default=0)
    inside_width = inside.width + max(slack, 0) * 2
    return _Box(item, max(inside_width + 2 * PAD, title), inside.height + 2 * PAD + head, inside, boxes)


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
            f"{_xml(_short(item.label))}<title>{_xml(item.label)}</title></text>")
    left, top = x + (box.width - box.inside.width) / 2, y + PAD + head
    labels: list[str] = []
    for link, points in zip(item.links, box.inside.arrows, strict=True):
        _draw_arrow(link, [(left + px, top + py) for px, py in points], parts, labels)
    for member, (px, py) in zip(box.boxes, box.inside.boxes, strict=True):
        _draw(member, left + px, top + py, parts)
    parts += labels


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
        f'<text x="{centre:.1f}" y="{y + 35:.1f}" text-anchor="middle" font-size="11" fill="#4a5568">'
        f"{_xml(detail)}</text></g>")


def _draw_arrow(link: Link, points: list[tuple[float, float]], parts: list[str], labels: list[str]) -> None:
    path = f"M{points[0][0]:.1f} {points[0][1]:.1f}"
    for (x1, y1), (x2, y2) in pairwise(points):
        bend = (y2 - y1) / 2
        path += f"C{x1:.1f} {y1 + bend:.1f} {x2:.1f} {y2 - bend:.1f} {x2:.1f} {y2:.1f}"
    parts.append(f'<path d="{path}" fill="none" stroke="#4a5568" marker-end="url(#tip)"/>')
    if link.label:
        (x1, y1), (x2, y2) = points[0], points[1]
        labels.append(f'<text x="{(x1 + x2) / 2:.1f}" y="{(y1 + y2) / 2 + 4:.1f}" text-anchor="middle" font-size="11" '
            'fill="#2d3748" stroke="#ffffff" stroke-width="4" paint-order="stroke">'
            f"{_xml(_short(link.label))}</text>")


def _short(text: str) -> str:
    return text if len(text) <= LABEL_CELLS else text[: LABEL_CELLS - 1] + "…"


def _xml(text: str) -> str:
    """Escaped, and without the characters that XML cannot hold."""
    return escape("".join(char if char.isprintable() else " " for char in text))
