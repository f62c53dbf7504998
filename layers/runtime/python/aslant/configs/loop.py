"""What the translator asks for a loop that runs as a Distributed Map."""

from __future__ import annotations

from typing import Any, Literal

from aslant.configs.base import Config


class LoopConfig(Config):
    """`note`: `error` ended an item. `collect`: `results` is the key of the manifest of the Map's results, `error` what ended
    the Map; nothing is read unless it is `wanted`.
    """

    action: Literal["note", "collect"]
    error: Any = None
    results: str | None = None
    wanted: bool = False
