"""Definitions that random edits start from: in each dialect one that says a lot, and the examples of the product."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from translator.diagnostics import Findings
from translator.source import load, plain

FOLDERS = (Path(__file__).parent / "bases", Path(__file__).parents[2] / "infra" / "workflows")


def texts() -> dict[str, str]:
    """Every definition as text, by the name of its file."""
    return {path.name: path.read_text("utf-8") for folder in FOLDERS for path in sorted(folder.glob("*.yaml"))}


def documents() -> dict[str, Any]:
    """The same as plain JSON data."""
    return {name: plain(load(text, Findings(), name)) for name, text in texts().items()}
