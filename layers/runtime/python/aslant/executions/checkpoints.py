"""Checkpoints: when one is due, what it holds, and whether the records still say what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from aslant.errors import ConflictError
from aslant.executions.records import Checkpoint, StepRecord

Json = Any

# Before steps of these types there always is one: what they do to the world is the hardest to take back.
RISKY = frozenset({"deploy", "scale"})


class StepEvent(NamedTuple):
    """What happened to a step. `at` is epoch microseconds; `completed` counts all steps completed by then."""

    kind: Literal["began", "completed", "failed"]
    type: str
    at: int
    completed: int
    step: str = ""


def due(policy: Mapping[str, Json] | None, last: Checkpoint | None, event: StepEvent) -> str | None:
    """The reason for a checkpoint after `event` (see `Checkpoint.reason`), or None.

    `policy` is `ReleaseSettings.checkpoint`. A begin asks for one before a risky step only, whatever the policy. Steps since
    the last checkpoint and the time since then are counted from `last`, of whatever reason it was.
    """
    if event.kind == "began":
        return f"before_{event.type}" if event.type in RISKY else None
    if event.kind == "completed" and event.step in (policy or {}).get("after", ()):
        return "step"
    name = str((policy or {}).get("policy") or "none")
    if name == "on_failure":
        return "on_failure" if event.kind == "failed" else None
    if event.kind != "completed":
        return None
    if name == "every_node":
        return "every_node"
    if name == "every_n":
        every = max(1, int((policy or {}).get("every") or 1))
        return "every_n" if event.completed - (len(last.steps) if last is not None else 0) >= every else None
    if name == "interval":
        seconds = float((policy or {}).get("seconds") or 0)
        return "interval" if last is None or event.at - last.at >= seconds * 1_000_000 else None
    return None


def completed_by(records: Iterable[StepRecord], at: int | None = None) -> list[StepRecord]:
    """Steps that have completed (by `at`, epoch microseconds), in the order of completion. Native states are none."""
    found = [
        record for record in records
        if record.status == "completed" and not record.native and record.finished_at is not None
        and (at is None or record.finished_at <= at)
    ]  # fmt: skip
    return sorted(found, key=lambda record: (record.finished_at or 0, record.step, record.iteration))


def digest(records: Iterable[StepRecord]) -> str:
    """SHA-256 over labels and the hashes of outputs, in the order given."""
    total = hashlib.sha256()
    for record in records:
        total.update(f"{record.label}\x00{record.output_sha256}\x00".encode("utf-8", "surrogatepass"))
    return total.hexdigest()


def taken(
    records: Iterable[StepRecord], *, number: int, at: int, reason: str, by: str, run: int, label: str = ""
) -> Checkpoint:
    """The checkpoint of what had completed by `at` (epoch microseconds)."""
    done = completed_by(records, at)
    return Checkpoint(number, at, reason, by, run, tuple(record.label for record in done), digest(done), label)


def verify(checkpoint: Checkpoint, records: Iterable[StepRecord]) -> None:
    """Raises ConflictError when the records are not those that the checkpoint was taken of."""
    by_label = {record.label: record for record in records if record.status == "completed"}
    missing = [label for label in checkpoint.steps if label not in by_label]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise ConflictError(
            f"checkpoint {checkpoint.number} cannot be restored: the results of {', '.join(missing[:3])}{more} are gone"
        )
    if digest(by_label[label] for label in checkpoint.steps) != checkpoint.sha256:
        raise ConflictError(
            f"checkpoint {checkpoint.number} cannot be restored: the recorded results are not those that it was taken of"
        )
