"""Sets the size of a Kubernetes workload or of an ECS service, and waits until it has that size."""

from __future__ import annotations

from collections.abc import Callable

from aslant.configs.kubernetes import ScaleConfig
from aslant.contracts import StepResult
from aslant.errors import StepTypeUnavailable
from aslant.kubernetes import Kubernetes
from aslant.ports import EcsServices
from aslant.step import StepRun, result


def call(
    config: ScaleConfig, run: StepRun, cluster: Callable[[str | None, Callable[[], float]], Kubernetes],
    services: Callable[[], EcsServices],
) -> StepResult:
    """`resource`, `replicas`, and `ready`: how many there are, null when nobody waited."""
    seconds, whole = run.remaining(config.timeout), run.remaining()

    def remaining() -> float:
        return seconds - (whole - run.remaining())

    kind, _, name = config.resource.partition("/")
    ready: int | None = None
    if kind == "ecs":
        where, ecs = config.cluster or "default", services()
        ecs.update(where, name, desiredCount=config.replicas)
        if config.wait:
            ready = int(ecs.wait(where, name, remaining)["runningCount"])
        return result({"resource": config.resource, "replicas": config.replicas, "ready": ready}, calls=1)
    try:
        kubernetes = cluster(config.cluster, remaining)
    except StepTypeUnavailable:
        if not run.settings.simulate:
            raise
        return result({"simulated": True, "resource": config.resource, "replicas": config.replicas})
    kubernetes.scale(config.resource, config.replicas, config.namespace)
    if config.wait:
        ready = kubernetes.wait_for_size(config.resource, config.replicas, config.namespace)
    return result({"resource": config.resource, "replicas": config.replicas, "ready": ready}, calls=1)
