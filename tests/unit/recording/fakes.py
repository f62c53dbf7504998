"""Ports of the recorder in memory."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from aslant.errors import ConflictError, NotFoundError
from aslant.executions.records import Child, Execution, Run, StepRecord, Transition
from aslant.executions.store import NOTHING

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:flow"
UNDOING = "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"
T0 = 1_800_000_000_000


def arn(name: str, machine: str = MACHINE) -> str:
    return machine.replace(":stateMachine:", ":execution:") + ":" + name


class MemoryStore:
    """Executions in dictionaries, with the conditions of the real store. `writes` counts what was written."""

    def __init__(self) -> None:
        self.executions: dict[tuple[str, str], Execution] = {}
        self.inputs: dict[tuple[str, str], Any] = {}
        self.outputs: dict[tuple[str, str], Any] = {}
        self.run_items: dict[tuple[str, str], dict[int, Run]] = {}
        self.notes: dict[tuple[str, str], list[Transition]] = {}
        self.step_items: dict[tuple[str, str], dict[tuple[str, tuple[int, ...]], StepRecord]] = {}
        self.child_items: dict[tuple[str, str], dict[str, Child]] = {}
        self.writes: list[str] = []

    def create(self, execution: Execution, input: Mapping[str, Any], run: Run) -> tuple[bool, Execution]:
        key = (execution.tenant, execution.id)
        if key in self.executions:
            return False, self.executions[key]
        self.writes.append("create")
        self.executions[key] = replace(execution, revision=1)
        self.inputs[key] = copy.deepcopy(dict(input))
        self.run_items[key] = {run.number: run}
        self.notes[key] = [Transition(1, "", execution.status, execution.changed_at, "", "", run.number)]
        return True, self.executions[key]

    def read(self, tenant: str, id: str) -> Execution | None:
        return self.executions.get((tenant, id))

    def transition(
        self, before: Execution, after: Execution, *, by: str, reason: str = "", run: Run | None = None, output: Any = NOTHING
    ) -> Execution:
        key = (before.tenant, before.id)
        self._unchanged(before, after)
        after = replace(after, revision=before.revision + 1)
        self.writes.append("transition")
        self.executions[key] = after
        self.notes[key].append(Transition(after.revision, before.status, after.status, after.changed_at, by, reason, after.run))
        if run is not None:
            self.run_items[key][run.number] = run
        if output is not NOTHING:
            self.outputs[key] = copy.deepcopy(output)
        return after

    def amend(self, before: Execution, after: Execution) -> Execution:
        if before != after:
            self._unchanged(before, after)
            self.writes.append("amend")
            self.executions[before.tenant, before.id] = after
        return after

    def _unchanged(self, before: Execution, after: Execution) -> None:
        here = self.executions[before.tenant, before.id]
        changed = {field.name for field in fields(Execution) if getattr(before, field.name) != getattr(after, field.name)}
        if any(getattr(here, name) != getattr(before, name) for name in changed | {"status", "revision"}):
            raise ConflictError("changed")

    def runs(self, tenant: str, id: str) -> tuple[Run, ...]:
        return tuple(run for _, run in sorted(self.run_items.get((tenant, id), {}).items()))

    def end_run(self, tenant: str, id: str, number: int, *, status: str, ended_at: int, transitions: int = 0) -> None:
        runs = self.run_items.get((tenant, id), {})
        if number in runs and runs[number].ended_at is None:
            self.writes.append("end_run")
            runs[number] = replace(runs[number], status=status, ended_at=ended_at, transitions=transitions)

    def steps(self, tenant: str, id: str, *, outputs: bool = False) -> tuple[StepRecord, ...]:
        return tuple(record for _, record in sorted(self.step_items.get((tenant, id), {}).items()))

    def record_native(self, execution: Execution, records: Sequence[StepRecord], *, now: int) -> None:
        items = self.step_items.setdefault((execution.tenant, execution.id), {})
        for record in records:
            here = items.get((record.step, record.iteration))
            if here is None or here.native:
                self.writes.append("record_native")
                items[record.step, record.iteration] = record

    def put_step(self, tenant: str, id: str, record: StepRecord) -> None:
        self.step_items.setdefault((tenant, id), {})[record.step, record.iteration] = record

    def add_child(self, tenant: str, parent: str, child: Child) -> None:
        items = self.child_items.setdefault((tenant, parent), {})
        if items.get(child.id) != child:
            self.writes.append("add_child")
            items[child.id] = child

    def children(self, tenant: str, parent: str) -> tuple[Child, ...]:
        return tuple(child for _, child in sorted(self.child_items.get((tenant, parent), {}).items()))

    def output(self, tenant: str, id: str) -> Any:
        return self.outputs.get((tenant, id))


class FakeMachines:
    """Executions of state machines: `histories` and `descriptions` by ARN; `stopped` are the ARNs that were stopped."""

    def __init__(self) -> None:
        self.histories: dict[str, list[dict[str, Any]]] = {}
        self.descriptions: dict[str, dict[str, Any]] = {}
        self.stopped: list[str] = []
        self.described = 0

    def start(self, machine: str, name: str, input: Any) -> str:
        raise AssertionError("nothing is started here")

    def stop(self, arn: str, error: str, cause: str) -> None:
        self.stopped.append(arn)

    def describe(self, arn: str) -> dict[str, Any]:
        self.described += 1
        if arn not in self.descriptions:
            raise NotFoundError(arn)
        return self.descriptions[arn]

    def history(self, arn: str) -> Iterator[dict[str, Any]]:
        if arn not in self.histories:
            raise NotFoundError(arn)
        return iter(self.histories[arn])


class FakeReleases:
    def __init__(self, *releases: Any) -> None:
        self.releases = {(release["workflow"], release["version"]): release for release in releases}

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Any:
        for (name, number), release in self.releases.items():
            if name == workflow and version in (None, number):
                return release
        raise NotFoundError(workflow)

    def of_machine(self, tenant: str, machine: str) -> Any:
        for release in self.releases.values():
            if release["machine"] == machine:
                return release
        raise NotFoundError(machine)

    def put(self, tenant: str, release: Any) -> None:
        self.releases[release["workflow"], release["version"]] = release


class FakeTimers:
    def __init__(self) -> None:
        self.timers: dict[str, tuple[int, str, dict[str, Any]]] = {}

    def set(self, name: str, at: int, function: str, payload: Mapping[str, Any]) -> None:
        self.timers[name] = (at, function, dict(payload))

    def cancel(self, name: str) -> None:
        self.timers.pop(name, None)


def status_change(
    name: str, status: str, *, machine: str = MACHINE, input: Any = None, output: Any = None, at: int = T0, error: str = "",
    cause: str = "",
) -> dict[str, Any]:
    """An event as EventBridge delivers it."""
    ended = status != "RUNNING"
    return {
        "version": "0", "id": "315c1398-40ff-a850-213b-158f73e60175",
        "detail-type": "Step Functions Execution Status Change", "source": "aws.states", "account": "123456789012",
        "time": "2027-01-15T08:00:00Z", "region": "us-east-1", "resources": [arn(name, machine)],
        "detail": {
            "executionArn": arn(name, machine), "stateMachineArn": machine, "name": name, "status": status,
            "startDate": at, "stopDate": at + 5000 if ended else None,
            "input": json.dumps(input if input is not None else {}), "inputDetails": {"included": True},
            "output": json.dumps(output) if status == "SUCCEEDED" else None,
            "outputDetails": {"included": True} if status == "SUCCEEDED" else None,
            "stateMachineVersionArn": None, "stateMachineAliasArn": None, "redriveCount": 0, "redriveDate": None,
            "redriveStatus": "NOT_REDRIVABLE", "redriveStatusReason": None,
            "error": error or None, "cause": cause or None,
        },
    }  # fmt: skip
