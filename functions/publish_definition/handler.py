"""The Lambda function that publishes a version from the catalog: its state machines, then what is known of it."""

from __future__ import annotations

from typing import Any

from aslant import bootstrap, observability
from aslant.errors import ValidationError
from aslant.settings import Settings
from functions.publish_definition.stored import publish_stored


def handler(event: Any, context: Any) -> dict[str, Any]:
    """`event` is {tenant, workflow, version}. Gives {version, machine}; calling it again gives the same.

    `revision` may be beside: that of the workflow's record as its caller has seen it. Raises PreconditionFailed when it has
    changed, ValidationError for what cannot be published, NotFoundError, and errors of AWS's calls.
    """
    observability.listen()
    names = ("tenant", "workflow", "version")
    if not isinstance(event, dict) or not all(isinstance(event.get(name), str) for name in names):
        raise ValidationError("this is no request to publish: it needs `tenant`, `workflow` and `version`")
    settings, revision = Settings.read(), event.get("revision")
    published = publish_stored(
        settings, bootstrap.catalog(settings), event["tenant"], event["workflow"], event["version"],
        revision if isinstance(revision, int) else None,
    )  # fmt: skip
    return {"version": published.version, "machine": published.machine}
