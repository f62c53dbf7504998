"""Looking at the nodes of an `agents` definition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from translator.diagnostics import Position
from translator.source import Map, Seq


def all_nodes(document: Map) -> Iterator[Map]:
    """Every node, also those inside of loops and branches."""
    stack: list[Any] = [document.get(key) for key in ("finally", "rollback", "nodes")]
    while stack:
        value = stack.pop()
        if isinstance(value, Map):
            if "agent" in value:
                yield value
            stack += [value[key] for key in ("parameters", "steps", "branches", "compensation") if key in value]
        elif isinstance(value, Seq):
            stack += reversed(value)


def output_key(node: Map) -> str:
    """The name under which others know the output of a node; empty when it has none."""
    key = node.get("output_key") or node.get("output")
    return key if isinstance(key, str) else ""


def input_keys(node: Map) -> Iterator[tuple[str, Position]]:
    """The input keys of a node, each once."""
    seen: set[str] = set()
    for name in ("input_keys", "input"):
        for key, at in listed(node, name):
            if key not in seen:
                seen.add(key)
                yield key, at


def listed(source: Map, key: str) -> list[tuple[str, Position]]:
    """One text or a list of texts, each with its place."""
    value = source.get(key)
    if isinstance(value, str):
        return [(value, source.at(key))]
    return [(item, at) for item, at in value.pairs() if isinstance(item, str)] if isinstance(value, Seq) else []


def texts(value: Any) -> Iterator[str]:
    """Every text in a value."""
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            yield here
        elif isinstance(here, dict):
            stack += here.values()
        elif isinstance(here, list):
            stack += here
