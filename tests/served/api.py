"""The API's function in this process, on moto: real tokens and real handlers, no HTTP and no running executions."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pytest

from aslant import bootstrap, keys
from aslant.adapters import clients, jwt_tokens
from aslant.configs.approval import ApprovalConfig
from aslant.settings import Settings
from functions.api.handler import handler
from functions.publish_definition.handler import handler as publish
from infra.local.issuer import ISSUER, Issuer
from tests.unit.moto_aws import moto_aws

REGION = "us-east-1"
FLOW = """\
dialect: canonical
id: {id}
version: 1.0.0
inputs: {{who: {{type: string, default: you}}}}
steps:
  - {{id: rest, type: wait, seconds: 1}}
  - {{id: greet, type: transform, depends_on: [rest], config: {{data: "hello {{{{ input.who }}}}"}}}}
"""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: Any  # of JSON as data, else as text


@dataclass(frozen=True, slots=True)
class Served:
    """Callers of the function. `calls` are what was asked of other functions."""

    issuer: Issuer
    calls: list[tuple[str, dict[str, Any]]]

    def token(self, *, tenant: str = "acme", user: str = "ann", roles: Sequence[str] = ("admin",), seconds: int = 600) -> str:
        return self.issuer.token(tenant=tenant, user=user, roles=roles, seconds=seconds, settings=Settings.read())

    def call(
        self, method: str, path: str, body: Any = None, *, token: str | None = None, headers: dict[str, str] | None = None,
        **who: Any,
    ) -> Answer:
        """A request under /api/v1. Data is sent as JSON, a text as YAML; `token` an empty text sends none."""
        secret = self.token(**who) if token is None else token
        given = {"authorization": f"Bearer {secret}"} if secret else {}
        place, _, query = path.partition("?")
        raw = body if isinstance(body, str) or body is None else json.dumps(body)
        if raw is not None:
            given["content-type"] = "application/yaml" if isinstance(body, str) else "application/json"
        full = ("" if place in ("/health", "/ready", "/metrics", "/openapi.json") else "/api/v1") + unquote(place)
        event: dict[str, Any] = {
            "version": "2.0", "rawPath": full, "rawQueryString": query, "isBase64Encoded": False,
            "headers": {**given, **{name.lower(): value for name, value in (headers or {}).items()}},
            "requestContext": {"http": {"method": method, "path": full}, "stage": "$default", "requestId": "r"},
        }  # fmt: skip
        if query:
            event["queryStringParameters"] = dict(parse_qsl(query, keep_blank_values=True))
        if raw is not None:
            event["body"] = raw
        answer = handler(event, None)
        text = answer.get("body") or ""
        if answer.get("isBase64Encoded"):
            data = base64.b64decode(text)
            text = (gzip.decompress(data) if answer["headers"].get("Content-Encoding") == "gzip" else data).decode()
        is_json = "json" in str(answer["headers"].get("Content-Type", ""))
        return Answer(answer["statusCode"], answer["headers"], json.loads(text) if is_json and text else text)

    def workflow(self, id: str, *, published: bool = True, **who: Any) -> None:
        """A workflow of ann's that waits, then greets."""
        assert self.call("POST", "/workflows", FLOW.format(id=id), **who).status == 201
        if published:
            assert self.call("POST", f"/workflows/{id}/publish", **who).status == 200

    def execution(self, workflow: str, **who: Any) -> str:
        answer = self.call("POST", f"/workflows/{workflow}/execute", {}, **who)
        assert answer.status == 202, answer.body
        return str(answer.body["id"])


    def approval(self, execution: str, *, tenant: str = "acme", requester: str = "ann") -> str:
        """A request for approval that waits, as the function of the step makes one."""
        ref = keys.ApprovalRef(execution, "ask", (), 0)
        config = ApprovalConfig.model_validate({"message": "On?", "timeout": 3600})
        bootstrap.approvals(Settings.read()).request(
            config, tenant=tenant, ref=ref, token="a token of the machine", workflow="flow", requester=requester
        )
        return keys.approval_id(ref)

    def secret(self, name: str, value: str, *, tenant: str = "acme") -> None:
        full = f"{Settings.read().secret_prefix}{tenant}/{name}"
        clients.client("secretsmanager", REGION).create_secret(Name=full, SecretString=value)


class _Key:
    def __init__(self, issuer: Issuer) -> None:
        import jwt

        self._set = jwt.PyJWKSet.from_json(issuer.keys().decode())

    def get_signing_key_from_jwt(self, token: str) -> Any:
        import jwt

        wanted = jwt.get_unverified_header(token).get("kid")
        for key in self._set.keys:
            if key.key_id == wanted:
                return key
        raise jwt.PyJWKClientError("no such key")


@contextmanager
def served(folder: Path, patch: pytest.MonkeyPatch, aws: AbstractContextManager[Any] | None = None) -> Iterator[Served]:
    """`aws` is what boto3 talks to inside: moto as it is, without one."""
    issuer = Issuer(folder)
    keyed = _Key(issuer)
    calls: list[tuple[str, dict[str, Any]]] = []

    class Functions:
        def invoke(self, name: str, payload: Any, **more: Any) -> Any:
            calls.append((name, dict(payload)))
            return publish(dict(payload), None) if name == "aslant-publish-definition" else None

    with aws or moto_aws(patch):
        patch.setenv("ASLANT_TOKEN_ISSUER", ISSUER)
        patch.setenv("ASLANT_TOKEN_KEYS", "unused")
        patch.setenv("ASLANT_PUBLIC_URL", "https://api.example.com")
        patch.setenv("ASLANT_SCHEDULER_ROLE", "arn:aws:iam::123456789012:role/local")
        patch.setattr(jwt_tokens, "_client", lambda address: keyed)
        patch.setattr(bootstrap, "functions", lambda settings: Functions())
        settings = Settings.read()
        dynamodb = clients.client("dynamodb", REGION)
        for table in (
            keys.executions_table(settings.executions_table), keys.catalog_table(settings.catalog_table),
            keys.events_table(settings.events_table), keys.connections_table(settings.connections_table),
        ):  # fmt: skip
            dynamodb.create_table(**table)
        clients.client("s3", REGION).create_bucket(Bucket=settings.bucket)
        kms = clients.client("kms", REGION)
        kms.create_alias(AliasName=settings.key, TargetKeyId=kms.create_key()["KeyMetadata"]["KeyId"])
        yield Served(issuer, calls)
