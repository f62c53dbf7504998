"""Ports of the recorder in memory."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

from aslant.errors import NotFoundError
from aslant.executions.records import Run
from tests.unit.executions.memory import MemoryExecutions

WRITES = frozenset({"create", "transition", "amend", "end_run", "record_native", "fail_lost", "cut_short", "add_child"})

MACHINE = "arn:aws:states:us-east-1:123456789012:stateMachine:flow"
UNDOING = "arn:aws:states:us-east-1:123456789012:stateMachine:flow-rollback"
T0 = 1_800_000_000_000


def arn(name: str, machine: str = MACHINE) -> str:
    return machine.replace(":stateMachine:", ":execution:") + ":" + name


class MemoryStore(MemoryExecutions):
    """`writes` are the names of the calls that changed something."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name not in WRITES:
            return value

        def counted(*arguments: Any, **named: Any) -> Any:
            before = copy.deepcopy((self.executions, self.outputs, self.items))
            result = value(*arguments, **named)
            if before != (self.executions, self.outputs, self.items):
                self.writes.append(name)
            return result

        return counted

    def put_run(self, tenant: str, id: str, run: Run) -> None:
        self._put(tenant, id, ("run", run.number), run)


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
