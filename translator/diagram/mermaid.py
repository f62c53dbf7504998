"""Mermaid flowcharts, as GitHub and many editors draw them."""

from __future__ import annotations

from translator.diagram.scene import BOX, COLOURS, OTHER, Node, Scope

_SHAPES = {"choice": ("{", "}"), "approval": ("{{", "}}"), "wait": ("([", "])"), "workflow": ("[[", "]]")}


def mermaid(root: Scope) -> str:
    """A `flowchart TD` with a subgraph per nested scope."""
    names: dict[str, str] = {}
    kinds: dict[str, list[str]] = {}
    lines = ["---", f"title: {_yaml(root.label)}", "---", "flowchart TD"] if root.label else ["flowchart TD"]
    lines += _members(root, names, kinds, "  ")
    for kind, members in sorted(kinds.items()):
        fill, stroke = COLOURS.get(kind, OTHER)
        lines.append(f"  classDef {kind}_ fill:{fill},stroke:{stroke},color:#1a202c")
        lines.append(f"  class {','.join(members)} {kind}_")
    return "\n".join(lines) + "\n"


def _members(scope: Scope, names: dict[str, str], kinds: dict[str, list[str]], indent: str) -> list[str]:
    lines: list[str] = []
    for item in scope.items:
        name = names[item.id] = f"n{len(names)}"
        if isinstance(item, Node):
            left, right = _SHAPES.get(item.kind, ("[", "]"))
            text = _text(item.label) + (f"<br/><small>{_text(item.detail)}</small>" if item.detail else "")
            lines.append(f'{indent}{name}{left}"{text}"{right}')
            kinds.setdefault(_class(item.kind), []).append(name)
        else:
            lines.append(f'{indent}subgraph {name}["{_text(item.label) or " "}"]')
            lines += _members(item, names, kinds, indent + "  ")
            lines.append(f"{indent}end")
            fill, stroke = COLOURS.get(item.kind, BOX)
            lines.append(f"{indent}style {name} fill:{fill},stroke:{stroke},color:#1a202c")
    for link in scope.links:
        arrow = f'-- "{_text(link.label)}" -->' if link.label else "-->"
        lines.append(f"{indent}{names[link.source]} {arrow} {names[link.target]}")
    return lines


def _class(kind: str) -> str:
    return kind if kind in COLOURS else "other"


def _text(text: str) -> str:
    """Text inside of quotes: everything that Mermaid, Markdown or HTML would read becomes an entity."""
    return "".join(
        char if char.isalnum() or char in " .,:;-_/()·…×!?'+=" else " " if char.isspace() else f"#{ord(char)};"
        for char in text
    )


def _yaml(text: str) -> str:
    escaped = " ".join(text.split()).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(char for char in escaped if char.isprintable()) + '"'
