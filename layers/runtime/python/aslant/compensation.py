"""Undoing what an execution did: whether, what, in which order, and with which values. Decided by the step records.

Nothing here asks anybody; `functions/compensate` reads the records and writes what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from aslant.error_names import ALL
from aslant.executions.records import StepRecord

Json = Any
Place = tuple[str, tuple[int, ...]]
UNDOING = frozenset({"rollback", "compensate"})


class Decision(NamedTuple):
    """What a failure leads to: `action` is rollback, compensate or fail; `steps` are the rollback steps that run.

    A cancel undoes nothing either: `action` is then cancel.
    """

    action: str
    steps: tuple[str, ...]


def undo_id(step: str) -> str:
    """The id under which the undo of a step is recorded."""
    return f"undo {step}"


def decide(request: Mapping[str, Json], plan: Mapping[str, Json]) -> Decision:
    """What is undone. A request says so itself; a failure is looked up in the rules of its step.

    `plan`: `steps` (ids of rollback steps), `rules` for steps in general, `own` rules by step, a list for the step and one
    for each step around it that has some; a rule is {errors, action, steps?}. The first rule with the error counts in each
    list, and the innermost list that wants something undone.
    """
    every = tuple(plan.get("steps") or ())
    if request.get("by") != "failure":
        action = str(request.get("action") or "rollback")
        return Decision(action, every if action == "rollback" else ())
    error = request.get("error") or {}
    levels = (plan.get("own") or {}).get(str(error.get("step") or "")) or [plan.get("rules") or []]
    for level in levels:
        rule = next((rule for rule in level if {ALL, error.get("error")} & set(rule["errors"])), None)
        if rule is not None and rule["action"] in UNDOING:
            return Decision(rule["action"], tuple(rule.get("steps") or (every if rule["action"] == "rollback" else ())))
    return Decision("fail", ())


def undos(
    records: Iterable[StepRecord], wanted: Mapping[str, Mapping[str, Json]], stopped: Mapping[Place, int] | None = None
) -> list[dict[str, Json]]:
    """What is undone, newest completion first: {step, iteration}. `wanted` has the steps with a compensation.

    A step that failed is undone where its entry says `failed`; what was undone already is not undone again. `stopped` are
    steps whose child was stopped half way, and when (epoch microseconds): it undoes what it did where the entry says `child`.
    """
    known = list(records)
    done = {(record.step, record.iteration) for record in known if record.status == "completed"}
    found = [
        record for record in known
        if record.step in wanted
        and (record.status == "completed" or record.status == "failed" and wanted[record.step].get("failed"))
        and (undo_id(record.step), record.iteration) not in done
    ]
    order = [(record.finished_at or 0, record.started_at, record.step, record.iteration) for record in found]
    ended = {(record.step, record.iteration) for record in known if record.status in ("completed", "failed")}
    order += [
        (at, at, step, iteration) for (step, iteration), at in (stopped or {}).items()
        if wanted.get(step, {}).get("child") and (step, iteration) not in ended and (undo_id(step), iteration) not in done
    ]
    return [{"step": step, "iteration": list(iteration)} for _, _, step, iteration in sorted(order, reverse=True)]


def undone(records: Iterable[StepRecord]) -> tuple[str, ...]:
    """Labels of steps that an earlier rollback has undone, though it may have broken off before it said so."""
    prefix = undo_id("")
    found = [record for record in records if record.step.startswith(prefix) and record.status == "completed"]
    found.sort(key=lambda record: (record.finished_at or 0, record.label))
    return tuple(record.label.removeprefix(prefix) for record in found)


def values(records: Iterable[StepRecord], table: Mapping[str, Json], iteration: Sequence[int]) -> dict[str, Json]:
    """What an undo in `iteration` reads of the execution: `output`, `status` and `error` by step, `item` and `index` by loop.

    `table`: `steps` (id -> how many loops are around it), `wrapped` (those whose record holds {"e0": output}), `loops`
    (id -> {depth, batch}), `child` (a step whose record holds what its child was started with as "e1").
    A step that never ended reads as a skipped one does.
    """
    known = {(record.step, record.iteration): record for record in records}
    found: dict[str, dict[str, Json]] = {"output": {}, "status": {}, "error": {}, "item": {}, "index": {}, "child": {}}
    wrapped = set(table.get("wrapped") or ())
    for step, depth in (table.get("steps") or {}).items():
        record = known.get((step, tuple(iteration[:depth])))
        ended = record is not None and record.status in ("completed", "failed")
        found["status"][step] = record.status if record is not None and ended else "skipped"
        output = _output(record) if record is not None and record.status == "completed" else None
        found["output"][step] = _unwrapped(output) if step in wrapped else output
        failure = record.error if record is not None and record.status == "failed" else None
        found["error"][step] = None if failure is None else {
            "error": failure.error, "message": failure.message, "step": step,
        }
    for loop, about in (table.get("loops") or {}).items():
        depth, batch = about["depth"], about["batch"]
        index = iteration[depth] if depth < len(iteration) else None
        record = known.get((f"items {loop}", tuple(iteration[:depth])))
        items = _unwrapped(record.output) if record is not None else None
        found["index"][loop] = index
        found["item"][loop] = _item(items, index, batch)
    if child := table.get("child"):
        record = known.get((child, tuple(iteration)))
        output = record.output if record is not None else None
        found["child"][child] = output.get("e1") if isinstance(output, Mapping) else None
    return {kind: part for kind, part in found.items() if part}


def _output(record: StepRecord) -> Json:
    """The output that a record keeps; of a choice it keeps what was chosen."""
    if record.type != "choice" or not record.outcome:
        return record.output
    chosen: dict[str, Json] = {"branch": record.outcome}
    return chosen | ({"condition_result": record.outcome == "true"} if record.outcome in ("true", "false") else {})


def _unwrapped(output: Json) -> Json:
    return output.get("e0") if isinstance(output, Mapping) and set(output) in ({"e0"}, {"e0", "e1"}) else output


def _item(items: Json, index: int | None, batch: int) -> Json:
    if not isinstance(items, list) or index is None:
        return None
    if batch:
        return items[index * batch : (index + 1) * batch]
    return items[index] if index < len(items) else None


class Outcome(NamedTuple):
    """Labels of steps that were undone and that could not be, and rollback steps that failed."""

    undone: tuple[str, ...]
    not_undone: tuple[str, ...]
    failed: tuple[str, ...]


def outcome(undo: Sequence[Mapping[str, Json]], results: Sequence[Json], steps: Mapping[str, str | None]) -> Outcome:
    """What became of a plan: the result of an undo is true, or what it failed with."""
    done: list[str] = []
    failed: list[str] = []
    for number, one in enumerate(undo):
        succeeded = number < len(results) and results[number] is True
        (done if succeeded else failed).append(label(one))
    return Outcome(tuple(done), tuple(failed), tuple(step for step, status in steps.items() if status == "failed"))


def label(undo: Mapping[str, Json]) -> str:
    """`step`, or `step[2][0]` inside of loops."""
    return str(undo["step"]) + "".join(f"[{index}]" for index in undo["iteration"])
