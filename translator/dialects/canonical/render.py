"""Canonical data is its own spelling."""

from __future__ import annotations

from translator.diagnostics import Findings
from translator.source import Map


def render(document: Map, findings: Findings) -> Map:
    """The same data, with the name of the spelling first: a canonical definition is never told by its shape."""
    result = Map(document.pos)
    result.put("dialect", "canonical", document.pos)
    for key in document:
        if key != "dialect":
            result.move(key, document)
    return result
