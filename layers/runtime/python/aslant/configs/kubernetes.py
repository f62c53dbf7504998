"""Configuration of deploy and scale steps."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from aslant.configs.base import MAYBE, Config, Data, Flag, Name, Seconds


class DeployConfig(Config):
    """Applies a Kubernetes manifest."""

    manifest: Annotated[Name | Data | list[Any], MAYBE]
    """The manifest: the name of an artifact, its text, or its data."""
    namespace: Name = "default"
    """The namespace."""
    dry_run: Flag = False
    """Check only."""
    wait: Flag = True
    """Wait until the rollout is done."""
    cluster: Name | None = None
    """The cluster; the installation's default when left out."""
    timeout: Seconds = 600
    """Seconds that the rollout may take."""


class ScaleConfig(Config):
    """Sets the number of replicas of a workload."""

    resource: Name
    """The workload, `deployment/app` or an ECS service."""
    replicas: Annotated[int, Field(ge=0, le=10_000), MAYBE]
    """How many."""
    namespace: Name = "default"
    """The namespace of a Kubernetes workload."""
    cluster: Name | None = None
    """The cluster; the installation's default when left out."""
    wait: Flag = True
    """Wait until the workload has that size."""
    timeout: Seconds = 600
    """Seconds that this may take."""
