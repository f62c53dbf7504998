"""Waiting points of branches for each other, which are kept outside of the state machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from aslant.contracts import Json


@dataclass(frozen=True, slots=True)
class GateKey:
    """A waiting point of one run: `machine` is the ARN of the state machine's execution."""

    tenant: str
    execution: str
    machine: str
    gate: str
    iteration: tuple[int, ...] = ()


class Gates(Protocol):
    """Waiting points of branches for each other. `now` is epoch seconds."""

    def signal(self, key: GateKey, *, by: str, need: int, values: Mapping[str, Json], now: int) -> str | None:
        """Notes that `by` has come; any number of times is once. The token to call, if all are there and somebody waits."""

    def wait(self, key: GateKey, *, need: int, token: str, now: int) -> bool:
        """True if all are there; otherwise the token is kept for whoever comes last, in the place of an earlier one."""

    def values(self, key: GateKey) -> dict[str, Json]:
        """What the signals have brought, by name."""
