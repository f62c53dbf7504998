"""The thing that a path names: its record, and the ETag that tells two states of it apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aslant import bootstrap, serving
from aslant.audit import hash_of
from aslant.errors import NotFoundError
from aslant.settings import Settings


def thing_of(settings: Settings, tenant: str, given: dict[str, Any]) -> Any:
    """Its record; None when there is none. `given` are the arguments of the route."""
    try:
        if "execution_id" in given:
            return bootstrap.executions(settings).get(tenant, given["execution_id"])
        if "workflow_id" in given:
            return bootstrap.catalog(settings).get(tenant, given["workflow_id"])
        if "trigger_id" in given:  # it is part of its workflow
            return bootstrap.catalog(settings).get(tenant, str(given["trigger_id"]).rpartition(":")[0])
        if "approval_id" in given:
            return bootstrap.approvals(settings).read(tenant, given["approval_id"])
        if "template_id" in given:
            return serving.templates(settings).read(tenant, given["template_id"])
        if "skill_name" in given:
            found = bootstrap.skill_store(settings).of(tenant, given["skill_name"])
            return [spec.model_dump(mode="json") for spec in found] or None
    except NotFoundError:
        return None
    return None


def etag_of(thing: Any) -> str:
    """Its revision where it has one, else a hash over it."""
    revision = thing.get("revision") if isinstance(thing, Mapping) else getattr(thing, "revision", None)
    return f'"{hash_of(thing)[:32] if revision is None else revision}"'
