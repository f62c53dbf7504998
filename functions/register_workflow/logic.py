"""A deployed workflow in the catalog: what is known of its version, its schedules and subscriptions."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from aslant import triggers
from aslant.errors import NotFoundError, ValidationError
from aslant.ports import Releases
from aslant.releases import Release
from aslant.triggers import Schedules, Subscriptions
from aslant.values import compact


def packed(release: Release) -> str:
    """A release as a property of a CloudFormation resource; the same release gives the same text."""
    return base64.b64encode(gzip.compress(compact(release).encode(), mtime=0)).decode()


def unpacked(text: Any) -> Release:
    """The release of a property. Raises ValidationError."""
    try:
        release: Release = json.loads(gzip.decompress(base64.b64decode(text)))
        return release
    except (ValueError, TypeError, OSError, EOFError):
        raise ValidationError("this is no packed release") from None


def register(
    releases: Releases, schedules: Schedules, subscriptions: Subscriptions, tenant: str, release: Release
) -> None:
    """Publishes a version whose state machines are there already. May be called again."""
    before = _published(releases, tenant, release["workflow"])
    releases.put(tenant, release)
    triggers.follow(schedules, subscriptions, tenant, before, release)


def withdraw(
    releases: Releases, schedules: Schedules, subscriptions: Subscriptions, tenant: str, release: Release
) -> None:
    """Takes a workflow back that is not deployed any more. Its versions stay, for executions that go on."""
    before = _published(releases, tenant, release["workflow"])
    if before is not None and before["machine"] == release["machine"]:  # else somebody has published another one since
        releases.withdraw(tenant, release["workflow"])
        triggers.follow(schedules, subscriptions, tenant, before, None)


def _published(releases: Releases, tenant: str, workflow: str) -> Release | None:
    try:
        return releases.get(tenant, workflow)
    except NotFoundError:
        return None
