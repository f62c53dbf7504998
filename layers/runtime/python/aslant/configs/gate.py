"""What the translator asks of a gate: the order between branches that run side by side."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from aslant.configs.base import Config


class Turn(Config):
    """Among the waiting points of `pool`, at most `limit` have their turn at once; the greatest `priority` goes first."""

    pool: str
    limit: int = Field(ge=1)
    priority: float = 0.0


class Ending(Turn):
    """The turn of the waiting point `gate` is over."""

    gate: str


class Signal(Config):
    """Tells the waiting point `gate` that `by` has come so far; it is satisfied by `need` different ones.

    With `turn` one of them is its turn, which is asked for when all the others have come and somebody waits.
    """

    gate: str
    by: str
    need: int = Field(ge=1)
    turn: Turn | None = None
    values: dict[str, Any] = Field(default_factory=dict)
    """What the states after the waiting point read, by its name there."""


class Waiting(Config):
    gate: str
    need: int = Field(ge=1)
    turn: Turn | None = None


class GateConfig(Config):
    """A turn ends first, then signals are sent. `machine` is the state machine's execution: each has gates of its own."""

    machine: str
    gives: Ending | None = None
    signals: list[Signal] = Field(default_factory=list)
    wait: Waiting | None = None
