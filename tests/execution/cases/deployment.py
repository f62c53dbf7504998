"""Definitions that stay on a local cloud, to be started, answered and stopped from outside."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from aslant import bootstrap
from aslant.adapters import clients
from aslant.approvals.rules import Decision, Person
from aslant.settings import Settings
from infra.local import provision
from infra.local.cloud import ExecutionHandle, LocalCloud
from tests.execution.cases.spelling import compiled
from translator.pipeline import Compilation

TENANT = "acme"


class Deployed:
    """Definitions on a local cloud; the first can be started any number of times."""

    def __init__(self, cloud: LocalCloud, compilations: list[Compilation]) -> None:
        self.cloud = cloud
        self.events: list[dict[str, Any]] = []
        self.settings = Settings.read()
        functions = provision.register_functions(cloud, compilations, self._watched, warm=True)
        self.arns = provision.create_machines(cloud, compilations, functions, simulate=False)
        self.main = compilations[0].workflow.id

    def _watched(self, handler: Any) -> Any:
        def watched(event: dict[str, Any], context: Any) -> Any:
            self.events.append(event)
            return handler(event, context)

        return watched

    def approvals(self, count: int = 1) -> list[dict[str, Any]]:
        """The open requests, once there are `count` of them."""
        end = time.monotonic() + 10
        while len(found := bootstrap.approvals(self.settings).pending(TENANT)[0]) < count:
            assert time.monotonic() < end, "nobody is asked"
            time.sleep(0.05)
        return found

    def answer(self, request: Mapping[str, Any], decision: Decision = "approve") -> dict[str, Any]:
        return bootstrap.approvals(self.settings).decide(TENANT, request["approval_id"], decision, by=Person("ben"))

    def family(self, arn: str) -> list[str]:
        """The execution and all that it started, and they started."""
        return [arn, *(one for child in self.cloud.children(arn) for one in self.family(child))]

    def start(self, name: str, given: Mapping[str, Any] | None = None) -> ExecutionHandle:
        info = {"id": name, "tenant": TENANT, "workflow": self.main, "version": "1.0.0", "run": 1, "user": "ann"}
        return self.cloud.start(self.arns[self.main], {"input": dict(given or {}), "execution": info}, name)


@contextmanager
def deployed(*texts: str, time_scale: float = 60) -> Iterator[Deployed]:
    with LocalCloud(time_scale=time_scale) as cloud:
        clients.forget()
        yield Deployed(cloud, compiled(*texts))
