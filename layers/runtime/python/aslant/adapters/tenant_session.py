"""Requests to the tables and the bucket with the rights of one tenant: a role assumed with its session policy."""

from __future__ import annotations

import hashlib
import threading
from datetime import datetime, timedelta
from typing import Any

from aslant import session_policy
from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import Credentials, client, confine
from aslant.settings import Settings

_SECONDS = 3600
_MARGIN = timedelta(minutes=5)  # before their end credentials are not used any more
_lock = threading.Lock()
_known: dict[tuple[str, str], tuple[datetime, Credentials]] = {}


def enter(settings: Settings, tenant: str) -> None:
    """From here on this thread's requests reach the tenant's data only; nothing changes where no role is named."""
    if not settings.data_role:
        return
    key = (settings.data_role, tenant)
    with _lock:
        found = _known.get(key)
    if found is None or found[0] - _MARGIN <= datetime.now(found[0].tzinfo):
        found = _assume(settings, tenant)
        with _lock:
            _known[key] = found
    confine(found[1])


def _assume(settings: Settings, tenant: str) -> tuple[datetime, Credentials]:
    _, partition, _, _, account, *_ = settings.data_role.split(":", 5)
    name = hashlib.sha256(tenant.encode("utf-8", "surrogatepass")).hexdigest()[:32]  # CloudTrail shows it; names are longer
    with calling("confining a request to its tenant"):
        answer: Any = client("sts", settings.region).assume_role(
            RoleArn=settings.data_role, RoleSessionName=f"tenant-{name}", DurationSeconds=_SECONDS,
            Policy=session_policy.document(settings, tenant, account=account, partition=partition),
        )
    given = answer["Credentials"]
    return given["Expiration"], Credentials(given["AccessKeyId"], given["SecretAccessKey"], given["SessionToken"])
