"""Calls from outside that start a workflow: whether they are from who they say, and what they bring."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from aslant.bodies import read_body
from aslant.errors import AuthenticationError, NotFoundError, ValidationError
from aslant.releases import WebhookFacts

Json = Any
USER = "webhook"  # who starts their executions
TIMESTAMP = "x-timestamp"
_DELIVERIES = ("idempotency-key", "x-delivery-id", "x-github-delivery")  # headers that name a delivery
_LONGEST_NAME = 200
_LONGEST = 1000  # characters of an address


class Hook(NamedTuple):
    """What an address stands for. It is no secret; a call needs a signature."""

    tenant: str
    workflow: str
    trigger: str


def address(hook: Hook) -> str:
    """The last part of the address of a webhook."""
    return base64.urlsafe_b64encode(json.dumps(list(hook), ensure_ascii=False).encode()).decode().rstrip("=")


def hook_of(text: str) -> Hook:
    """What an address names. Raises NotFoundError."""
    try:
        if len(text) > _LONGEST:
            raise ValueError
        parts = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
        tenant, workflow, trigger = parts
        if not all(isinstance(part, str) for part in parts):
            raise ValueError
    except (ValueError, TypeError, RecursionError, binascii.Error):
        raise NotFoundError("there is no such webhook") from None
    return Hook(tenant, workflow, trigger)


def check(facts: WebhookFacts, secret: str, headers: Mapping[str, str], body: bytes, now: float) -> None:
    """Raises AuthenticationError for a call that was not signed with the secret, or not just now.

    Names of headers are in lower case.
    """
    signed = body
    if facts["timestamp"]:
        given = headers.get(TIMESTAMP, "")
        if not re.fullmatch(r"\d{1,12}", given, re.ASCII):
            raise AuthenticationError("X-Timestamp is missing: epoch seconds, signed together with the body")
        if abs(now - int(given)) > facts["window"]:
            raise AuthenticationError(f"X-Timestamp is more than {facts['window']:g} seconds off")
        signed = given.encode() + b"." + body
    wanted = "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted.encode(), headers.get(facts["header"].lower(), "").encode("utf-8", "replace")):
        raise AuthenticationError(f"{facts['header']} is not the signature of this body")


def delivery(headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
    """What makes two deliveries the same one: its name, and a hash over what is signed.

    The name is the caller's, which nothing signs: who sends a call that was signed once again may give it another one.
    Without one, what is signed is the name.
    """
    signed = hashlib.sha256(headers.get(TIMESTAMP, "").encode() + b"." + body).hexdigest()
    given = next((headers[name] for name in _DELIVERIES if headers.get(name)), signed)
    return given if len(given) <= _LONGEST_NAME else hashlib.sha256(given.encode("utf-8", "replace")).hexdigest(), signed


def input_of(facts: WebhookFacts, body: bytes) -> dict[str, Json]:
    """The input of the execution. Raises ValidationError for a body that is no JSON object."""
    data: Json = read_body(body) if body.strip() else {}
    if not isinstance(data, dict):
        raise ValidationError("the body is no JSON object")
    return picked(facts["input"], facts["fields"], data) if facts["fields"] else {**facts["input"], **data}


def picked(input: Mapping[str, Json], fields: Mapping[str, str], data: Json) -> dict[str, Json]:
    """An input, and over it what stands in `data` at the paths of `fields`, where there is something."""
    found = {name: _at(data, path) for name, path in fields.items()}
    return {**input, **{name: value for name, value in found.items() if value is not None}}


def _at(data: Json, path: str) -> Json:
    for part in path.split("."):
        if isinstance(data, list) and part.isdecimal() and int(part) < len(data):
            data = data[int(part)]
        elif isinstance(data, dict):
            data = data.get(part)
        else:
            return None
    return data
