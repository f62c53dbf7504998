"""Where executions are kept: the port that the services use. Every call names the tenant; nothing of another is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from aslant.contracts import Json
from aslant.executions.records import Checkpoint, Child, Execution, Run, StepRecord, Transition

NOTHING: Any = object()  # for an output that is not given; null is one


class ExecutionStore(Protocol):
    """Executions and what belongs to them. Reads are consistent, except for `page` and `running`."""

    def create(self, execution: Execution, input: Mapping[str, Json], run: Run) -> tuple[bool, Execution]:
        """Stores an execution (revision 1), its first run and transition: (True, it), or (False, the one that is there).

        `input` holds the `input` and `context` of the machine's input.
        """

    def read(self, tenant: str, id: str) -> Execution | None:
        """The record, or None."""

    def input(self, tenant: str, id: str) -> dict[str, Json]:
        """What `create` was given. Raises NotFoundError."""

    def output(self, tenant: str, id: str) -> Json:
        """The output; null while there is none."""

    def transition(
        self, before: Execution, after: Execution, *, by: str, reason: str = "", run: Run | None = None,
        output: Json = NOTHING,
    ) -> Execution:
        """Turns `before` into `after` (whose revision is counted here), together with `run`, in one transaction.

        Raises ConflictError when the execution is not as `before` says any more: its status or revision, or a field that
        changes. Which status may follow which is the caller's to check.
        """

    def amend(self, before: Execution, after: Execution) -> Execution:
        """Writes the fields that differ, without a transition. Raises ConflictError when one of them, the status or the
        revision is not as `before` says any more.
        """

    def transitions(self, tenant: str, id: str) -> tuple[Transition, ...]:
        """In their order."""

    def runs(self, tenant: str, id: str) -> tuple[Run, ...]:
        """In their order."""

    def end_run(
        self, tenant: str, id: str, number: int, *, status: str, ended_at: int, transitions: int = 0
    ) -> None:
        """Notes how a run ended; the first note stays."""

    def steps(self, tenant: str, id: str, *, outputs: bool = False) -> tuple[StepRecord, ...]:
        """All step records, by step and iteration."""

    def earlier_steps(self, tenant: str, id: str) -> tuple[StepRecord, ...]:
        """Records that were set aside, without outputs: what they took was taken all the same."""

    def set_aside(self, tenant: str, id: str, *, run: int, chosen: Callable[[StepRecord], bool]) -> int:
        """Moves records of runs before number `run` out of the way, the newest first; gives how many.

        May be called again after a crash, and by two at once. A record that changes meanwhile is looked at again.
        """

    def settle(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        """Marks failures as ones that the workflow went on after, unless they were begun again meanwhile."""

    def fail_lost(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        """Notes that attempts failed which never said so, unless they did meanwhile. Their leases stay: they may be at work."""

    def cut_short(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        """Notes `stopped_at` of records that are running, unless they have changed meanwhile."""

    def record_native(self, execution: Execution, records: Sequence[StepRecord], *, now: int) -> None:
        """Stores what native states did (`native` is set), but never over the record of a step's function.

        `now` is epoch microseconds.
        """

    def add_child(self, tenant: str, parent: str, child: Child) -> None:
        """Notes a child; noting it again changes nothing."""

    def children(self, tenant: str, parent: str) -> tuple[Child, ...]:
        """Children that were noted, by id."""

    def put_checkpoint(self, tenant: str, id: str, checkpoint: Checkpoint) -> bool:
        """Stores a checkpoint; False when its number is taken (or was, by one that is deleted)."""

    def checkpoints(self, tenant: str, id: str) -> tuple[Checkpoint, ...]:
        """By number, without deleted ones."""

    def last_checkpoint(self, tenant: str, id: str) -> Checkpoint | None:
        """The one with the highest number, deleted or not: where numbers and intervals go on from."""

    def delete_checkpoint(self, tenant: str, id: str, number: int) -> bool:
        """Deletes one, for good; False when there is none. Its number is not used again."""

    def running(self, tenant: str, *, workflow: str | None, most: int) -> list[str]:
        """Ids of executions that run, of one workflow or of all; `most` at most. What changed just now may be missing."""

    def page(
        self, tenant: str, *, workflow: str | None, status: str | None, limit: int, before: str | None
    ) -> Sequence[tuple[str, Execution]]:
        """Up to `limit` executions with their places in the order, newest first, that come after place `before`."""
