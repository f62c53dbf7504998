"""Applies a Kubernetes manifest, or deploys an ECS service anew, and waits for the rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from aslant import keys
from aslant.configs.kubernetes import DeployConfig
from aslant.contracts import Json, StepResult
from aslant.errors import NotFoundError, StepTypeUnavailable, ValidationError
from aslant.kubernetes import MAX_MANIFEST, Kubernetes, label, objects
from aslant.ports import Artifacts, EcsServices
from aslant.step import StepRun, result


@dataclass(frozen=True, slots=True)
class Ports:
    cluster: Callable[[str | None, Callable[[], float]], Kubernetes]
    services: Callable[[], EcsServices]
    artifacts: Callable[[], Artifacts]


def call(config: DeployConfig, run: StepRun, ports: Ports) -> StepResult:
    """`objects`: kind, name, namespace, what was done and what its rollout came to, in the order of the manifest.

    Objects are applied one after the other; a failure leaves those before it applied, and applying them again changes nothing.
    """
    end = run.remaining(config.timeout)
    remaining = _countdown(run, end)
    if config.service is not None:
        return _service(config, ports.services(), remaining)
    try:
        wanted = objects(_manifest(config.manifest, run, ports.artifacts))
    except NotFoundError:
        if not run.settings.simulate:
            raise
        return result({"simulated": True, "objects": []})  # a rehearsal without the file
    try:
        cluster = ports.cluster(config.cluster, remaining)
    except StepTypeUnavailable:
        if not run.settings.simulate:
            raise
        return result({"simulated": True, "objects": [label(one) for one in wanted]})
    done: list[dict[str, Json]] = []
    for one in wanted:
        applied = cluster.apply(one, config.namespace, dry_run=config.dry_run, force=config.force)
        metadata = applied.get("metadata") or {}
        done.append({
            "kind": one["kind"], "name": one["metadata"]["name"], "namespace": metadata.get("namespace"),
            "generation": metadata.get("generation"), "status": "checked" if config.dry_run else "applied",
        })
    if config.wait and not config.dry_run:
        for one, row in zip(wanted, done, strict=True):
            row["status"] = cluster.wait(one, config.namespace)
    return result({"dry_run": config.dry_run, "objects": done}, calls=len(done))


def _countdown(run: StepRun, seconds: float) -> Callable[[], float]:
    whole = run.remaining()
    return lambda: seconds - (whole - run.remaining())


def _manifest(given: Json, run: StepRun, artifacts: Callable[[], Artifacts]) -> Json:
    """The manifest itself: one line without a colon names an artifact."""
    if not isinstance(given, str) or "\n" in given or ": " in given or given.lstrip().startswith(("{", "[")):
        return given
    inside = given.startswith(keys.artifacts(run.tenant))
    key = given if inside else keys.artifact(run.tenant, run.execution, given)
    try:
        return artifacts().get(run.tenant, key, MAX_MANIFEST).decode("utf-8")
    except UnicodeDecodeError:
        raise ValidationError(f"the artifact {given} is no text") from None


def _service(config: DeployConfig, services: EcsServices, remaining: Callable[[], float]) -> StepResult:
    cluster, service = config.cluster or "default", str(config.service)
    changes = {"taskDefinition": config.task_definition} if config.task_definition is not None else {}
    found = services.update(cluster, service, forceNewDeployment=True, **changes)
    if config.wait:
        found = services.wait(cluster, service, remaining)
    return result({
        "service": service, "cluster": cluster, "task_definition": found.get("taskDefinition"),
        "desired": found.get("desiredCount"), "running": found.get("runningCount"),
        "status": "rolled out" if config.wait else "begun",
    }, calls=1)
