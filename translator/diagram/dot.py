"""Graphviz's language."""

from __future__ import annotations

from translator.diagram.scene import BOX, COLOURS, OTHER, Node, Scope

_SHAPES = {"choice": "diamond", "approval": "hexagon", "wait": "oval", "workflow": "component"}


def dot(root: Scope) -> str:
    """A digraph with a cluster per nested scope; arrows to a scope end at its border (`compound`)."""
    lines = [
        "digraph {",
        f"  label={_text(root.label)}; labelloc=t; compound=true; rankdir=TB;",
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=10];',
    ]
    lines += _members(root, "  ")
    return "\n".join([*lines, "}"]) + "\n"


def _members(scope: Scope, indent: str) -> list[str]:
    lines: list[str] = []
    members = {item.id: item for item in scope.items}
    for item in scope.items:
        if isinstance(item, Node):
            fill, stroke = COLOURS.get(item.kind, OTHER)
            shape = f", shape={_SHAPES[item.kind]}" if item.kind in _SHAPES else ""
            label = _text(item.label + (f"\n{item.detail}" if item.detail else ""))
            lines.append(f'{indent}{_text(item.id)} [label={label}, fillcolor="{fill}", color="{stroke}"{shape}];')
        else:
            fill, stroke = COLOURS.get(item.kind, BOX)
            lines.append(f"{indent}subgraph {_text('cluster ' + item.id)} {{")
            lines.append(f'{indent}  label={_text(item.label)}; style="rounded,filled"; '
                f'fillcolor="{fill}"; color="{stroke}"; fontname="Helvetica"; fontsize=11;')
            if not item.items:
                lines.append(f"{indent}  {_text(item.id)} [style=invis];")
            lines += _members(item, indent + "  ")
            lines.append(f"{indent}}}")
    for link in scope.links:
        source, target = members[link.source], members[link.target]
        notes = [f"label={_text(link.label)}"] if link.label else []
        if isinstance(source, Scope):
            notes.append(f"ltail={_text('cluster ' + source.id)}")
        if isinstance(target, Scope):
            notes.append(f"lhead={_text('cluster ' + target.id)}")
        tail = f" [{', '.join(notes)}]" if notes else ""
        lines.append(f"{indent}{_text(_anchor(source, last=True))} -> {_text(_anchor(target, last=False))}{tail};")
    return lines


def _anchor(item: Node | Scope, *, last: bool) -> str:
    """A node inside of a cluster that the arrow can hold on to."""
    while isinstance(item, Scope) and item.items:
        item = item.items[-1 if last else 0]
    return item.id


def _text(text: str) -> str:
    shown = text.replace("\0", "/").replace("\\", "\\\\").replace('"', '\\"')
    return '"' + shown.replace("\r", "").replace("\n", "\\n") + '"'
