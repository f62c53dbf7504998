"""The state machine of an execution. A transition is one conditional write; every other one is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from aslant.errors import InvalidTransition

Status = Literal[
    "pending", "running", "paused", "completed", "failed", "cancelled", "timed_out", "rolling_back", "rolled_back"
]

STATUSES: tuple[Status, ...] = get_args(Status)

# What may follow what. `running` may follow a final status: retry, restore and rerun start another run of the execution.
TRANSITIONS: Mapping[Status, frozenset[Status]] = {
    "pending": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"paused", "completed", "failed", "cancelled", "timed_out", "rolling_back"}),
    "paused": frozenset({"running", "cancelled", "rolling_back"}),
    "completed": frozenset({"running"}),
    "failed": frozenset({"running", "rolling_back"}),
    "cancelled": frozenset({"running", "rolling_back"}),
    "timed_out": frozenset({"running", "rolling_back"}),
    "rolling_back": frozenset({"rolled_back", "failed", "cancelled", "timed_out"}),
    "rolled_back": frozenset({"running"}),
}

FINAL: frozenset[Status] = frozenset({"completed", "failed", "cancelled", "timed_out", "rolled_back"})
ACTIVE: frozenset[Status] = frozenset({"pending", "running", "rolling_back"})  # something runs, or is about to


def check(before: Status, after: Status, doing: str) -> None:
    """Raises InvalidTransition, which names both statuses, when `after` may not follow `before`."""
    if after in TRANSITIONS[before]:
        return
    if after == before:
        raise InvalidTransition(f"{doing}: the execution is {before} already")
    from_ = [status for status in STATUSES if after in TRANSITIONS[status]]
    raise InvalidTransition(
        f"{doing}: an execution that is {before} cannot become {after}; only one that is {' or '.join(from_)} can"
    )
