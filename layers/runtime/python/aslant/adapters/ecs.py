"""ECS services: another task definition or another size, and waiting until the service is stable."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.contracts import Json
from aslant.errors import NotFoundError, RolloutFailed, StepTimeout

_PAUSE = 5.0  # seconds between two looks


@dataclass(frozen=True, slots=True)
class AwsEcs:
    region: str
    sleep: Callable[[float], None] = time.sleep

    def update(self, cluster: str, service: str, **changes: Any) -> dict[str, Json]:
        with calling(f"updating the ECS service {service}"):
            answer = client("ecs", self.region).update_service(cluster=cluster, service=service, **changes)
        return dict(answer["service"])

    def wait(self, cluster: str, service: str, remaining: Callable[[], float]) -> dict[str, Json]:
        while True:
            with calling(f"looking at the ECS service {service}"):
                answer = client("ecs", self.region).describe_services(cluster=cluster, services=[service])
            if not answer["services"]:
                raise NotFoundError(f"there is no ECS service {service} in {cluster}")
            found = dict(answer["services"][0])
            deployments = found.get("deployments") or []
            failed = next((one for one in deployments if one.get("rolloutState") == "FAILED"), None)
            if failed is not None:
                raise RolloutFailed(f"the ECS service {service}: {failed.get('rolloutStateReason') or 'its deployment failed'}")
            if found.get("status") in ("INACTIVE", "DRAINING"):
                raise NotFoundError(f"the ECS service {service} is {str(found['status']).lower()}")
            if len(deployments) <= 1 and found.get("runningCount") == found.get("desiredCount"):
                return found
            state = f"{found.get('runningCount')} of {found.get('desiredCount')} tasks run, {len(deployments)} deployments"
            if remaining() <= _PAUSE:
                raise StepTimeout(f"the ECS service {service}: {state}; it goes on without this step")
            self.sleep(_PAUSE)
