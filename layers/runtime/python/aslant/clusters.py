"""Which cluster a step means, and how it is reached."""

from __future__ import annotations

import json
from collections.abc import Callable

from aslant.errors import SecretNotFound, StepTypeUnavailable, ValidationError
from aslant.http_ports import ClientTls
from aslant.kubernetes import Access
from aslant.ports import Secrets
from aslant.secrets import Redactor
from aslant.settings import Settings

EKS = "eks:"


def access(
    name: str | None, settings: Settings, tenant: str, secrets: Secrets, eks: Callable[[str], Access], redactor: Redactor
) -> Access:
    """How a cluster is reached. An `https` one has the tenant's secret `cluster-<name>`: a token, or an object of token, ca,
    certificate, key. Raises StepTypeUnavailable when the installation names no such cluster.
    """
    known = settings.clusters
    chosen = name or ("default" if "default" in known else next(iter(known), "") if len(known) == 1 else "")
    if chosen not in known:
        listed = ", ".join(sorted(known)) or "none"
        what = f"no cluster {name}" if name else "no default cluster"
        raise StepTypeUnavailable(f"this installation has {what} (ASLANT_CLUSTERS names {listed})")
    where = known[chosen]
    if where.startswith(EKS):
        found = eks(where.removeprefix(EKS))
        redactor.learn(found.token)
        return found
    if not where.startswith("https://"):
        raise ValidationError(f"the cluster {chosen} of ASLANT_CLUSTERS is neither an https address nor eks:NAME")
    try:
        text = secrets.get(tenant, f"cluster-{chosen}")
    except SecretNotFound:
        raise SecretNotFound(f"the cluster {chosen} needs the secret cluster-{chosen}") from None
    try:
        data = json.loads(text)
    except ValueError:
        data = {"token": text.strip()}
    if not isinstance(data, dict) or not all(isinstance(value, str) for value in data.values()):
        raise ValidationError(f"the secret cluster-{chosen} is neither a token nor an object of texts")
    for key in ("token", "key"):
        if data.get(key):
            redactor.learn(data[key])
    tls = ClientTls(certificate=data.get("certificate", ""), key=data.get("key", ""), ca=data.get("ca", ""))
    return Access(where, data.get("token", ""), tls if tls != ClientTls() else None)
