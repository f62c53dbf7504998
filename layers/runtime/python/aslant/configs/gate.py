"""What the translator asks of a gate: the order between branches that run side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from aslant.configs.base import Config


class Signal(Config):
    """Tells the waiting point `gate` that `by` has come so far; it is satisfied by `need` different ones."""

    gate: str
    by: str
    need: int = Field(ge=1)
    values: dict[str, Any] = Field(default_factory=dict)
    """What the states after the waiting point read, by its name there."""


class Waiting(Config):
    gate: str
    need: int = Field(ge=1)


class GateConfig(Config):
    """Signals are sent first. `machine` is the execution of the state machine: each has gates of its own."""

    machine: str
    signals: list[Signal] = Field(default_factory=list)
    wait: Waiting | None = None
