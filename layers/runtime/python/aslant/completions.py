"""Tells an address that an execution has ended: a signed call, as our own webhooks take it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from aslant import documents, ports
from aslant.contracts import MAX_PAYLOAD
from aslant.errors import NotFoundError, SecretNotFound, ValidationError, http_error, retry_after
from aslant.executions.store import ExecutionStore
from aslant.http_ports import Http, HttpRequest
from aslant.values import compact

Json = Any

FUNCTION = "aslant-notify-completion"
QUEUE, DEAD = "aslant-completions", "aslant-completions-dead"
MAX_RECEIVES = 6
RULE = "aslant-completions"
# Endings of executions that somebody asked to be told of.
PATTERN: Mapping[str, Json] = {
    "source": ["aslant"], "detail": {"payload": {"webhook": [True]}},
    "detail-type": [f"workflow_{end}" for end in ("completed", "failed", "cancelled", "timed_out", "rolled_back")],
}  # fmt: skip
SECRET = "completion_webhook"  # the name of the tenant's secret that signs
_SECONDS = 10.0
_ANSWER = 10_000  # bytes of the answer that are read


@dataclass(frozen=True, slots=True)
class Completions:
    """`clock` gives epoch seconds."""

    store: ExecutionStore
    secrets: ports.Secrets
    http: Http
    clock: Callable[[], float]

    def tell(self, detail: Mapping[str, Json]) -> bool:
        """Calls the address of an ended execution, given an event's detail; whether there was one to call.

        Raises an error when the call failed: it is to be made again. Its Idempotency-Key is the event's id.
        """
        tenant, id = str(detail["tenant_id"]), str(detail["execution_id"])
        execution = self.store.read(tenant, id)
        url = str(execution.options.get("webhook_url") or "") if execution is not None else ""
        if execution is None or not url:
            return False
        body: dict[str, Json] = {
            "event": detail["event_type"], "event_id": detail["event_id"], "timestamp": detail["timestamp"],
            "execution": documents.execution(execution) | {"status": detail["payload"]["status"]},
        }
        if detail["event_type"] == "workflow_completed":
            body["output"] = self.store.output(tenant, id)
        data = compact(body).encode("utf-8", "surrogatepass")
        if len(data) > MAX_PAYLOAD:
            body["output"] = None  # whoever wants it reads the execution
            data = compact(body).encode("utf-8", "surrogatepass")
        moment = str(int(self.clock()))
        headers = {
            "Content-Type": "application/json", "User-Agent": "aslant", "Idempotency-Key": str(detail["event_id"]),
            "X-Timestamp": moment, "X-Signature-256": signature(self._secret(tenant), moment, data),
        }  # fmt: skip
        answer = self.http.send(HttpRequest("POST", url, headers, data, _SECONDS, _ANSWER))
        if answer.status // 100 != 2:
            raise http_error(
                answer.status, f"the webhook answered {answer.status}",
                retry_after=retry_after(answer.headers.get("retry-after"), self.clock()),
            )
        return True

    def _secret(self, tenant: str) -> str:
        return self.secrets.get(tenant, SECRET)


def signature(secret: str, moment: str, data: bytes) -> str:
    """Of `<moment>.<body>`, by HMAC-SHA256."""
    return "sha256=" + hmac.new(secret.encode(), moment.encode() + b"." + data, hashlib.sha256).hexdigest()


def check_secret(secrets: ports.Secrets, tenant: str) -> None:
    """Raises ValidationError for a tenant that has nothing to sign with."""
    try:
        secrets.get(tenant, SECRET)
    except (SecretNotFound, NotFoundError):
        raise ValidationError(f"calls of a webhook_url are signed: store the secret {SECRET} first") from None
