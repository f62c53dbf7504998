"""Workflows that are paused, resumed and taken back on the local cloud; records come from the engine's own notices."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from aslant import bootstrap, skills
from aslant.adapters import clients
from aslant.executions.records import Execution
from aslant.settings import Settings
from functions.record_execution.handler import handler as record_execution
from infra.local import provision
from infra.local.cloud import LocalCloud
from tests.execution.support import compile_text
from translator.asl.limits import MAX_BYTES
from translator.release import release_of

NOTICES = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
TENANT = "acme"


class Effects:
    """What steps did to the world: `effect` counts, `gate` counts and then holds its step until it is opened."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.done: list[str] = []
        self.open = threading.Event()
        self.failing: set[str] = set()

    def effect(self, name: str, value: Any = None) -> Any:
        with self.lock:
            self.done.append(name)
            failing = name in self.failing
        if failing:
            raise RuntimeError(f"{name} is to fail")
        return value if value is not None else name

    def gate(self, name: str) -> str:
        with self.lock:
            self.done.append(name)
        assert self.open.wait(30), "nobody opened the gate"
        return name

    def count(self) -> dict[str, int]:
        with self.lock:
            return {name: self.done.count(name) for name in sorted(set(self.done))}


class World:
    def __init__(self, cloud: LocalCloud, effects: Effects, texts: tuple[str, ...], limit: int) -> None:
        self.cloud, self.effects, self.settings = cloud, effects, Settings.read()
        self.compilations = compilations = compile_text(*texts, limit=limit)
        functions = provision.register_functions(cloud, compilations, lambda handler: handler, warm=True)
        arns = provision.create_machines(cloud, compilations, functions, simulate=False)
        self.catalog = bootstrap.releases(self.settings)
        for one in compilations:
            machine = arns[one.workflow.id]
            rollback = provision.rollback_arn(machine, one.workflow.id) if one.rollback is not None else ""
            parts = [f"{machine.rpartition(':')[0]}:{name}" for name in provision.part_names(one, undoes=False).values()]
            self.catalog.put(TENANT, release_of(one, machine=machine, rollback=rollback, parts=parts))
        cloud.function("aslant-record-execution", record_execution)
        cloud.rule("executions", NOTICES, "aslant-record-execution")
        self.service = bootstrap.executions(self.settings)
        self.store = self.service.store

    def start(self, workflow: str, **input: Any) -> str:
        return self.service.start(TENANT, workflow, input, user="ann").id

    def until(self, what: Callable[[], bool], why: str) -> None:
        end = time.monotonic() + 60
        while not what():
            assert time.monotonic() < end, why
            time.sleep(0.1)  # what is asked is often a request, which takes as long as a step

    def reached(self, *names: str) -> None:
        """Waits until all of these have begun."""
        self.until(lambda: set(names) <= set(self.effects.count()), f"{names} were never reached")

    def status(self, id: str, *statuses: str) -> Execution:
        """Waits for a status, and until all that is on its way has arrived."""
        def there() -> bool:
            found = self.store.read(TENANT, id)
            return found is not None and found.status in statuses

        self.until(there, f"{id} does not become {statuses}")
        assert self.cloud.settle(30)
        return self.service.get(TENANT, id)


@contextmanager
def world(*texts: str, scale: float = 1, limit: int = MAX_BYTES) -> Iterator[World]:
    effects = Effects()
    skills.register("effect", effects.effect)
    skills.register("gate", effects.gate)
    try:
        with LocalCloud(time_scale=scale) as cloud:
            clients.forget()
            try:
                yield World(cloud, effects, texts, limit)
            finally:
                effects.open.set()
    finally:
        clients.forget()
        skills.unregister()
