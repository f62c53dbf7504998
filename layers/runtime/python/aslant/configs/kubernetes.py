"""Configuration of deploy and scale steps."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from aslant.configs.base import MAYBE, Config, Data, Flag, Name, Seconds


class DeployConfig(Config):
    """Applies a Kubernetes manifest, or gives an ECS service another task definition, and waits for the rollout."""

    manifest: Annotated[Name | Data | list[Any], MAYBE] | None = None
    """The manifest: the name of an artifact, its text (YAML, several documents), or its data."""
    service: Name | None = None
    """Instead of a manifest: the ECS service that is deployed anew."""
    task_definition: Name | None = None
    """What the ECS service runs from now on, `family:revision` or an ARN; the same again when left out."""
    namespace: Name = "default"
    """The namespace of objects that name none."""
    dry_run: Flag = False
    """Check only: the cluster validates and admits the manifest, and keeps nothing."""
    force: Flag = False
    """Take over fields that somebody else manages, instead of failing with a ConflictError."""
    wait: Flag = True
    """Wait until the rollout is done."""
    cluster: Name | None = None
    """The cluster, by the installation's name for it, or the ECS cluster; the default when left out."""
    timeout: Seconds = 600
    """Seconds that the rollout may take; a function runs for 900 at most."""

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.manifest is None) == (self.service is None):
            raise ValueError("either `manifest` or `service` is needed")
        if self.service is None and self.task_definition is not None:
            raise ValueError("`task_definition` belongs to a `service`")
        if self.service is not None and self.dry_run is True:
            raise ValueError("ECS has no dry run")
        return self


class ScaleConfig(Config):
    """Sets the number of replicas of a workload."""

    resource: Name
    """The workload: `deployment/app`, `statefulset/app`, `replicaset/app`, or the ECS service `ecs/app`."""
    replicas: Annotated[int, Field(ge=0, le=10_000), MAYBE]
    """How many."""
    namespace: Name = "default"
    """The namespace of a Kubernetes workload."""
    cluster: Name | None = None
    """The cluster, by the installation's name for it, or the ECS cluster; the default when left out."""
    wait: Flag = True
    """Wait until the workload has that size."""
    timeout: Seconds = 600
    """Seconds that this may take; a function runs for 900 at most."""
