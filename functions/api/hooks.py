"""Webhooks: a signed call starts an execution."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from secrets import token_hex

from aws_lambda_powertools.event_handler import Response
from aws_lambda_powertools.event_handler.router import APIGatewayHttpRouter

from aslant import bootstrap, clock, observability, serving, webhooks
from aslant.adapters import tenant_session
from aslant.errors import NotFoundError, SecretNotFound
from aslant.releases import WebhookFacts
from aslant.settings import Settings
from functions.api import models

router = APIGatewayHttpRouter()  # type: ignore[no-untyped-call]


@router.post("/hooks/<hook_id>", tags=["hooks"], summary="Start the workflow of a webhook; the call is signed")
def call(hook_id: str) -> Response[models.Hooked]:
    settings = Settings.read()
    hook = webhooks.hook_of(hook_id)
    tenant_session.enter(settings, hook.tenant)
    event = router.current_event
    body = base64.b64decode(event.body or "") if event.is_base64_encoded else (event.body or "").encode()
    headers = {str(name).lower(): str(value) for name, value in event.headers.items()}
    try:
        facts, secret = _known(settings, hook)
    except NotFoundError:  # who calls is not known yet, and learns nothing of what there is
        raise NotFoundError("there is no such webhook") from None
    now = clock.now()
    webhooks.check(facts, secret, headers, body, now)
    delivery = _delivery(settings, hook, headers, body, now, facts["window"])
    started = bootstrap.executions(settings).start(
        hook.tenant, hook.workflow, webhooks.input_of(facts, body), user=webhooks.USER,
        key=json.dumps(["webhook", hook.workflow, hook.trigger, delivery]),
        trigger={"type": "webhook", "id": hook.trigger},
    )  # fmt: skip
    return Response(status_code=202, content_type="application/json", body=models.Hooked(execution=started.id))


def _delivery(
    settings: Settings, hook: webhooks.Hook, headers: Mapping[str, str], body: bytes, now: float, window: float
) -> str:
    """The name of a delivery; that of the first one, when the same signed call comes again under another."""
    name, signed = webhooks.delivery(headers, body)
    digest = hashlib.sha256(json.dumps(["webhook", hook.workflow, hook.trigger, signed]).encode()).hexdigest()
    keep = math.ceil(2 * window) + 1  # as long as its timestamp is taken, which may lie ahead
    found = serving.repeats(settings).begin(hook.tenant, digest, name, now=int(now), lease=keep, keep=keep)
    return name if found is None else found.asked


def _known(settings: Settings, hook: webhooks.Hook) -> tuple[WebhookFacts, str]:
    release = bootstrap.releases(settings).get(hook.tenant, hook.workflow)
    facts = next((one for one in release.get("webhooks", ()) if one["id"] == hook.trigger), None)
    if facts is None:
        raise NotFoundError(f"{hook.workflow} has no {hook.trigger}")
    try:
        return facts, bootstrap.secrets(settings).get(hook.tenant, facts["secret"])
    except SecretNotFound:
        observability.log(
            "ERROR", f"the secret {facts['secret']!r} of a webhook is not known: no call of it can be checked",
            {"tenant": hook.tenant, "workflow": hook.workflow, "trigger": hook.trigger},
        )  # fmt: skip
        return facts, token_hex(32)  # what no call is signed with: the answer is that to a wrong signature
