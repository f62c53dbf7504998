"""What a compiled workflow costs to run, as lines for people or as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from translator.pipeline import Compilation

MAX_BYTES = 1024 * 1024
MAX_EVENTS = 25_000


def as_text(compilations: Sequence[Compilation]) -> str:
    """A block per workflow; ranges are the cheapest and the dearest way through without retries."""
    return "\n".join(_block(compilation) for compilation in compilations)


def as_json(compilations: Sequence[Compilation]) -> str:
    """The same figures: an array with an object per workflow."""
    rows = [{"workflow": one.workflow.id, "version": one.workflow.version, "dialect": one.dialect,
        **asdict(one.estimate), "functions": dict(one.functions), "workflows": dict(one.workflows)}
        for one in compilations]
    return json.dumps(rows, indent=2, ensure_ascii=False, default=str) + "\n"
