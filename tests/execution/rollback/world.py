"""Published workflows on a local cloud whose records come from the engine's own notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from aslant import bootstrap
from aslant.adapters import clients
from aslant.executions.records import Execution
from aslant.settings import Settings
from functions.record_execution.handler import handler as record_execution
from infra.local import provision
from infra.local.cloud import LocalCloud
from tests.execution.support import compile_text
from translator.release import release_of

NOTICES = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
TENANT = "acme"


class World:
    """A cloud with published workflows, and what is recorded of their executions."""

    def __init__(self, cloud: LocalCloud, texts: tuple[str, ...]) -> None:
        self.cloud, settings = cloud, Settings.read()
        compilations = compile_text(*texts)
        functions = provision.register_functions(cloud, compilations, lambda handler: handler, warm=True)
        self.arns = provision.create_machines(cloud, compilations, functions, simulate=False)
        catalog = bootstrap.releases(settings)
        for one in compilations:
            machine = self.arns[one.workflow.id]
            rollback = provision.rollback_arn(machine, one.workflow.id) if one.rollback is not None else ""
            catalog.put(TENANT, release_of(one, machine=machine, rollback=rollback))
        cloud.function("aslant-record-execution", record_execution)
        cloud.rule("executions", NOTICES, "aslant-record-execution")
        self.store = bootstrap.execution_store(settings)
        self.executions = bootstrap.executions(settings)

    def wait(self, what: Callable[[], object]) -> None:
        end = time.monotonic() + 60
        while not what():
            assert time.monotonic() < end
            time.sleep(0.05)

    def until(self, id: str, *statuses: str) -> Execution:
        end = time.monotonic() + 60
        while True:
            found = self.store.read(TENANT, id)
            if found is not None and found.status in statuses:
                self.cloud.settle(20)
                return self.store.read(TENANT, id) or found
            assert time.monotonic() < end, f"it stays {found}"
            time.sleep(0.05)

    def run(self, workflow: str, *statuses: str, **input: object) -> Execution:
        started = self.executions.start(TENANT, workflow, input, user="ada")
        return self.until(started.id, *(statuses or ("completed", "failed", "rolled_back")))

    def passed(self, id: str) -> list[str]:
        """The statuses that an execution has gone through."""
        return [one.after for one in self.store.transitions(TENANT, id)]


@contextmanager
def world(*texts: str, scale: float = 20) -> Iterator[World]:
    with LocalCloud(time_scale=scale) as cloud:
        clients.forget()
        yield World(cloud, texts)
    clients.forget()
