"""Ports of the service in memory, and a way to crash at any call of one."""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

from aslant import keys
from aslant.catalog import Change
from aslant.errors import ConflictError, NotFoundError
from aslant.executions.naming import arn_of
from aslant.executions.records import Checkpoint, Child, Execution, Run, StepRecord, Transition
from aslant.executions.service import Executions
from aslant.executions.store import NOTHING
from aslant.releases import Release, StepFacts

T0 = 1_800_000_000_000  # epoch milliseconds


class Clock:
    """Epoch milliseconds that only move when they are told to."""

    def __init__(self) -> None:
        self.now = T0

    def __call__(self) -> int:
        return self.now


class MemoryArtifacts:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def put(self, tenant: str, execution: str, name: str, data: bytes) -> str:
        key = json.dumps([tenant, execution, name])
        self.objects[key] = data
        return key

    def get(self, tenant: str, key: str, limit: int | None = None) -> bytes:
        if json.loads(key)[0] != tenant or key not in self.objects:
            raise NotFoundError("there is no such artifact")
        return self.objects[key]


class MemoryExecutions:
    """The executions store in dictionaries; each call is atomic."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.executions: dict[tuple[str, str], Execution] = {}
        self.inputs: dict[tuple[str, str], dict[str, Any]] = {}
        self.outputs: dict[tuple[str, str], Any] = {}
        self.items: dict[tuple[str, str], dict[tuple[Any, ...], Any]] = {}

    def _of(self, tenant: str, id: str, kind: str) -> list[Any]:
        with self.lock:
            items = self.items.get((tenant, id), {})
            return [items[key] for key in sorted(items) if key[0] == kind]

    def _put(self, tenant: str, id: str, key: tuple[Any, ...], value: Any) -> None:
        self.items.setdefault((tenant, id), {})[key] = value

    def create(self, execution: Execution, input: Mapping[str, Any], run: Run) -> tuple[bool, Execution]:
        key = (execution.tenant, execution.id)
        with self.lock:
            if key in self.executions:
                return False, self.executions[key]
            self.executions[key] = execution = replace(execution, revision=1)
            self.inputs[key] = copy.deepcopy(dict(input))
            self._put(*key, ("run", run.number), run)
            first = Transition(1, "", execution.status, execution.changed_at, execution.user, execution.reason, run.number)
            self._put(*key, ("transition", 1), first)
        return True, execution

    def read(self, tenant: str, id: str) -> Execution | None:
        return self.executions.get((tenant, id))

    def input(self, tenant: str, id: str) -> dict[str, Any]:
        if (tenant, id) not in self.inputs:
            raise NotFoundError("there is no such execution")
        return copy.deepcopy(self.inputs[tenant, id])

    def output(self, tenant: str, id: str) -> Any:
        return copy.deepcopy(self.outputs.get((tenant, id)))

    def transition(
        self, before: Execution, after: Execution, *, by: str, reason: str = "", run: Run | None = None, output: Any = NOTHING
    ) -> Execution:
        key = (before.tenant, before.id)
        with self.lock:
            self._change(before, after)
            self.executions[key] = replace(self.executions[key], revision=before.revision + 1)
            after = replace(after, revision=before.revision + 1)
            note = Transition(after.revision, before.status, after.status, after.changed_at, by, reason, after.run)
            self._put(*key, ("transition", after.revision), note)
            if run is not None:
                self._put(*key, ("run", run.number), run)
            if output is not NOTHING:
                self.outputs[key] = copy.deepcopy(output)
        return after

    def amend(self, before: Execution, after: Execution) -> Execution:
        with self.lock:
            if before != after:
                self._change(before, after)
        return after

    def _change(self, before: Execution, after: Execution) -> None:
        here = self.executions.get((before.tenant, before.id))
        names = {field.name for field in fields(Execution) if getattr(before, field.name) != getattr(after, field.name)}
        guarded = (names | {"status", "preparing"}) - {"revision"}
        if here is None or here.revision != before.revision or any(
            getattr(here, name) != getattr(before, name) for name in guarded
        ):
            raise ConflictError(f"the execution {before.id} was changed by somebody else meanwhile")
        changed = {name: getattr(after, name) for name in names - {"revision"}}
        self.executions[before.tenant, before.id] = replace(here, **changed)

    def transitions(self, tenant: str, id: str) -> tuple[Transition, ...]:
        return tuple(self._of(tenant, id, "transition"))

    def runs(self, tenant: str, id: str) -> tuple[Run, ...]:
        return tuple(self._of(tenant, id, "run"))

    def end_run(
        self, tenant: str, id: str, number: int, *, status: str, ended_at: int, transitions: int = 0
    ) -> None:
        with self.lock:
            run = self.items.get((tenant, id), {}).get(("run", number))
            if run is not None and run.ended_at is None:
                self._put(
                    tenant, id, ("run", number), replace(run, status=status, ended_at=ended_at, transitions=transitions)
                )

    def put_step(self, tenant: str, id: str, record: StepRecord) -> None:
        with self.lock:
            self._put(tenant, id, ("step", record.step, record.iteration), record)

    def steps(self, tenant: str, id: str, *, outputs: bool = False) -> tuple[StepRecord, ...]:
        return tuple(step if outputs else replace(step, output=None) for step in self._of(tenant, id, "step"))

    def earlier_steps(self, tenant: str, id: str) -> tuple[StepRecord, ...]:
        items = self.items.get((tenant, id), {})
        return tuple(replace(items[key], output=None) for key in sorted(items) if key[0] == "aside")

    def asides(self, tenant: str, id: str) -> list[tuple[int, str]]:
        """Run and label of what was set aside."""
        items = self.items.get((tenant, id), {})
        return [(key[1], items[key].label) for key in sorted(items) if key[0] == "aside"]

    def set_aside(self, tenant: str, id: str, *, run: int, chosen: Callable[[StepRecord], bool]) -> int:
        with self.lock:
            moved = 0
            for step in self._of(tenant, id, "step"):
                if step.run < run and chosen(step):
                    del self.items[tenant, id][("step", step.step, step.iteration)]
                    self._put(tenant, id, ("aside", run, step.step, step.iteration), step)
                    moved += 1
            return moved

    def settle(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        with self.lock:
            for record in records:
                here = self.items.get((tenant, id), {}).get(("step", record.step, record.iteration))
                if here is not None and (here.status, here.run, here.begun_at, here.total_attempts) == (
                    record.status, record.run, record.begun_at, record.total_attempts
                ):
                    self.put_step(tenant, id, replace(here, settled=True))

    def fail_lost(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        with self.lock:
            for record in records:
                here = self.items.get((tenant, id), {}).get(("step", record.step, record.iteration))
                if here is not None and (here.status, here.run, here.begun_at, here.total_attempts) == (
                    "running", record.run, record.begun_at, record.total_attempts
                ):
                    self.put_step(tenant, id, replace(here, status="failed", finished_at=record.finished_at, error=record.error))

    def cut_short(self, tenant: str, id: str, records: Iterable[StepRecord]) -> None:
        with self.lock:
            for record in records:
                here = self.items.get((tenant, id), {}).get(("step", record.step, record.iteration))
                if here is not None and (here.status, here.run, here.begun_at, here.total_attempts) == (
                    "running", record.run, record.begun_at, record.total_attempts
                ):
                    self.put_step(tenant, id, replace(here, stopped_at=record.stopped_at))

    def record_native(self, execution: Execution, records: Sequence[StepRecord], *, now: int) -> None:
        with self.lock:
            items = self.items.setdefault((execution.tenant, execution.id), {})
            for record in records:
                here = items.get(("step", record.step, record.iteration))
                if here is None or here.native:
                    self.put_step(execution.tenant, execution.id, replace(record, native=True))

    def add_child(self, tenant: str, parent: str, child: Child) -> None:
        with self.lock:
            self._put(tenant, parent, ("child", child.id), child)

    def children(self, tenant: str, parent: str) -> tuple[Child, ...]:
        return tuple(self._of(tenant, parent, "child"))

    def put_checkpoint(self, tenant: str, id: str, checkpoint: Checkpoint) -> bool:
        with self.lock:
            key = ("checkpoint", checkpoint.number)
            if key in self.items.get((tenant, id), {}):
                return False
            self._put(tenant, id, key, (checkpoint, True))
            return True

    def checkpoints(self, tenant: str, id: str) -> tuple[Checkpoint, ...]:
        return tuple(checkpoint for checkpoint, kept in self._of(tenant, id, "checkpoint") if kept)

    def last_checkpoint(self, tenant: str, id: str) -> Checkpoint | None:
        found = self._of(tenant, id, "checkpoint")
        return found[-1][0] if found else None

    def delete_checkpoint(self, tenant: str, id: str, number: int) -> bool:
        with self.lock:
            found = self.items.get((tenant, id), {}).get(("checkpoint", number))
            if found is None or not found[1]:
                return False
            self._put(tenant, id, ("checkpoint", number), (found[0], False))
            return True

    def running(self, tenant: str, *, workflow: str | None, most: int) -> list[str]:
        return [one.id for _, one in self.page(tenant, workflow=workflow, status="running", limit=most, before=None)]

    def page(
        self, tenant: str, *, workflow: str | None, status: str | None, limit: int, before: str | None
    ) -> Sequence[tuple[str, Execution]]:
        found = [
            (keys.started(one.started_at, one.id), one) for (owner, _), one in self.executions.items()
            if owner == tenant and workflow in (None, one.workflow) and status in (None, one.status)
        ]
        found.sort(key=lambda pair: pair[0], reverse=True)
        return [pair for pair in found if before is None or pair[0] < before][:limit]


class MemoryMachines:
    """An engine that only knows what runs. `started` are the names in the order of their first start."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.lock = threading.Lock()
        self.known: dict[str, dict[str, Any]] = {}
        self.histories: dict[str, list[dict[str, Any]]] = {}

    def start(self, machine: str, name: str, input: Any) -> str:
        arn = arn_of(machine, name)
        with self.lock:
            if arn in self.known:
                if json.loads(self.known[arn]["input"]) != input:
                    raise ConflictError(f"another execution is named {name} already")
                return arn
            self.known[arn] = {
                "executionArn": arn, "status": "RUNNING", "input": json.dumps(input),
                "startDate": datetime.fromtimestamp(self.clock() / 1000, UTC), "stateMachineArn": machine,
            }
        return arn

    def stop(self, arn: str, error: str, cause: str) -> None:
        with self.lock:
            if arn not in self.known:
                raise NotFoundError(arn)
            if self.known[arn]["status"] == "RUNNING":
                self.known[arn]["status"] = "ABORTED"

    def end(self, arn: str, status: str) -> None:
        with self.lock:
            self.known[arn]["status"] = status

    def describe(self, arn: str) -> dict[str, Any]:
        if arn not in self.known:
            raise NotFoundError(arn)
        return dict(self.known[arn])

    def history(self, arn: str) -> Iterator[dict[str, Any]]:
        if arn not in self.known and arn not in self.histories:
            raise NotFoundError(arn)
        return iter(self.histories.get(arn, ()))

    @property
    def started(self) -> list[str]:
        return [arn.rpartition(":")[2] for arn in self.known]

    @property
    def running(self) -> list[str]:
        return [arn.rpartition(":")[2] for arn, one in self.known.items() if one["status"] == "RUNNING"]

    def input(self, name: str) -> Any:
        return next(json.loads(one["input"]) for arn, one in self.known.items() if arn.rpartition(":")[2] == name)


class MemoryReleases:
    def __init__(self, *releases: Release, tenant: str = "acme") -> None:
        self.versions: dict[tuple[str, str, str], Release] = {}
        self.published: dict[tuple[str, str], str] = {}
        for release in releases:
            self.put(tenant, release)

    def get(self, tenant: str, workflow: str, version: str | None = None) -> Release:
        number = version or self.published.get((tenant, workflow), "")
        if (tenant, workflow, number) not in self.versions:
            raise NotFoundError(f"there is no workflow {workflow}")
        return self.versions[tenant, workflow, number]

    def of_machine(self, tenant: str, machine: str) -> Release:
        for (owner, _, _), release in self.versions.items():
            if owner == tenant and release["machine"] == machine:
                return release
        raise NotFoundError(machine)

    def put(self, tenant: str, release: Release, change: Change | None = None) -> None:
        self.versions[tenant, release["workflow"], release["version"]] = release
        self.published[tenant, release["workflow"]] = release["version"]


class Crash(Exception):
    """The process is gone."""


class Crashing:
    """A port whose process dies at one of its calls: just before it is made, or just after."""

    def __init__(self, port: Any, budget: Budget) -> None:
        self._port, self._budget = port, budget

    def __getattr__(self, name: str) -> Any:
        target = getattr(self._port, name)
        if not callable(target):
            return target

        def call(*args: Any, **more: Any) -> Any:
            self._budget.before()
            answer = target(*args, **more)
            self._budget.after()
            return answer

        return call


class Budget:
    """Crashes at call number `at` (from 0), before or after it; None never does. `calls` counts them."""

    def __init__(self, at: int | None = None, *, late: bool = False) -> None:
        self.at, self.late, self.calls = at, late, 0

    def before(self) -> None:
        if self.at == self.calls and not self.late:
            raise Crash
        self.calls += 1

    def after(self) -> None:
        if self.late and self.at == self.calls - 1:
            raise Crash


def facts(type: str = "skill", *, after: Sequence[str] = (), hash: str = "h", **more: Any) -> StepFacts:
    return StepFacts(type=type, hash=hash, after=list(after), **more)


def release(
    steps: Mapping[str, StepFacts] | None = None, *, workflow: str = "flow", version: str = "1.0.0", **more: Any
) -> Release:
    """A release whose states are called as their steps."""
    steps = steps if steps is not None else {"a": facts(), "b": facts(after=["a"]), "c": facts(after=["b"])}
    base = Release(
        workflow=workflow, version=version, hash=version, machine=f"arn:aws:states:us-east-1:123456789012:stateMachine:{workflow}",
        steps=dict(steps), states={step: {"step": step, "role": "step"} for step in steps}, settings={},
    )
    base.update(more)
    return base


class World:
    """A service on ports in memory."""

    def __init__(self, *releases: Release) -> None:
        self.clock = Clock()
        self.store = MemoryExecutions()
        self.machines = MemoryMachines(self.clock)
        self.releases = MemoryReleases(*(releases or (release(),)))
        self.service = self.through(Budget())

    def through(self, budget: Budget, **more: Any) -> Executions:
        ids = iter(f"x{number}" for number in range(1, 10_000))
        return Executions(
            Crashing(self.store, budget), Crashing(self.machines, budget), self.releases, self.clock,
            new_id=lambda: next(ids), **more,
        )

    def completed(self, id: str, step: str, *iteration: int, at: int = 0, run: int = 1, **more: Any) -> None:
        """`at` is milliseconds after T0."""
        moment = (T0 + at) * 1000
        self.store.put_step("acme", id, StepRecord(
            step, iteration, "completed", "skill", run, 1, 1, moment - 10, moment - 10, moment, output={"from": step},
            output_sha256=f"sha of {step}{iteration}", **more,
        ))  # fmt: skip

    def failed(self, id: str, step: str, *iteration: int, at: int = 0, run: int = 1, **more: Any) -> None:
        moment = (T0 + at) * 1000
        self.store.put_step(
            "acme", id, StepRecord(step, iteration, "failed", "skill", run, 1, 1, moment - 10, moment - 10, moment, **more)
        )

    def end(self, id: str, status: str, **more: Any) -> Execution:
        """The end of an execution as a notice of the engine brings it."""
        execution = self.store.read("acme", id)
        assert execution is not None
        if execution.status in ("cancelled", "paused"):
            raise ConflictError(f"a notice changes nothing of an execution that is {execution.status}")
        engine = {"completed": "SUCCEEDED", "failed": "FAILED", "timed_out": "TIMED_OUT"}[status]
        self.machines.end(execution.arn, engine)
        after = replace(execution, status=status, finished_at=self.clock(), **more)  # type: ignore[arg-type]
        return self.store.transition(execution, after, by="engine")
