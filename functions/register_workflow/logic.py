"""A deployed workflow in the catalog: what is known of its version, its schedules and subscriptions."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
from dataclasses import asdict
from typing import Any

from aslant import triggers
from aslant.catalog import Catalog, Written
from aslant.errors import ConflictError, NotFoundError, ValidationError
from aslant.ports import Releases
from aslant.releases import Release
from aslant.triggers import Schedules, Subscriptions
from aslant.values import compact

_TRIES = 10  # times that a record is written again because somebody else was faster
BY = "deployment"  # who writes the definitions, as the catalog has it


def packed(release: Release, written: Written) -> str:
    """A workflow as a property of a CloudFormation resource; the same one gives the same text."""
    return base64.b64encode(gzip.compress(compact([release, asdict(written)]).encode(), mtime=0)).decode()


def unpacked(text: Any) -> tuple[Release, Written]:
    """The workflow of a property. Raises ValidationError."""
    try:
        release, written = json.loads(gzip.decompress(base64.b64decode(text)))
        return release, Written(**{**written, "tags": tuple(written["tags"])})
    except (ValueError, TypeError, KeyError, OSError, EOFError):
        raise ValidationError("this is no packed workflow") from None


def register(
    catalog: Catalog, releases: Releases, schedules: Schedules, subscriptions: Subscriptions, tenant: str, release: Release,
    written: Written,
) -> None:
    """Publishes a version whose state machines are there already. May be called again.

    Raises ConflictError for a version that the catalog has with another text.
    """
    with contextlib.suppress(NotFoundError):
        if catalog.definition(tenant, written.id, written.version).sha256 != written.sha256:
            raise ConflictError(f"{written.id} {written.version} is there with another definition; raise its version")
    for _ in range(_TRIES):
        change = catalog.adopting(tenant, written, written.version, by=BY)
        before, own = (_published(releases, tenant, release["workflow"], version) for version in (None, release["version"]))
        release = triggers.carried(own or before, release)
        with contextlib.suppress(ConflictError):  # somebody else was faster
            releases.put(tenant, release, change)
            break
    else:
        raise ConflictError(f"the workflow {written.id} keeps changing")
    triggers.follow(schedules, subscriptions, tenant, before, release)


def withdraw(
    catalog: Catalog, releases: Releases, schedules: Schedules, subscriptions: Subscriptions, tenant: str, release: Release,
    written: Written,
) -> None:
    """Takes a workflow back that is not deployed any more. Its versions stay, for executions that go on."""
    before = _published(releases, tenant, release["workflow"])
    if before is not None and before["machine"] == release["machine"]:  # else somebody has published another one since
        with contextlib.suppress(NotFoundError):
            catalog.mark(tenant, written.id, "archived")
        releases.withdraw(tenant, release["workflow"])
        triggers.follow(schedules, subscriptions, tenant, before, None)


def _published(releases: Releases, tenant: str, workflow: str, version: str | None = None) -> Release | None:
    try:
        return releases.get(tenant, workflow, version)
    except NotFoundError:
        return None
