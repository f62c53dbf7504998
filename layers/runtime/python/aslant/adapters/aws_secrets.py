"""Secrets in AWS Secrets Manager, then in the SSM Parameter Store. Names are `<prefix><tenant>/<name>`."""

from __future__ import annotations

from dataclasses import dataclass

from aslant.adapters.aws_errors import calling
from aslant.adapters.clients import client
from aslant.errors import NotFoundError, SecretNotFound


@dataclass(frozen=True, slots=True)
class AwsSecrets:
    region: str
    prefix: str

    def get(self, tenant: str, name: str) -> str:
        path = f"{self.prefix}{tenant}/{name}"
        try:
            return self._secret(path)
        except NotFoundError:
            pass
        try:
            return self._parameter(path)
        except NotFoundError:
            raise SecretNotFound(
                f"there is no secret {name!r}: neither a secret {path} nor a parameter /{path.lstrip('/')}"
            ) from None

    def _secret(self, path: str) -> str:
        with calling("reading a secret"):
            answer = client("secretsmanager", self.region).get_secret_value(SecretId=path)
        text = answer.get("SecretString")
        return str(text) if text is not None else answer["SecretBinary"].decode("utf-8", "replace")

    def _parameter(self, path: str) -> str:
        with calling("reading a parameter"):
            answer = client("ssm", self.region).get_parameter(Name="/" + path.lstrip("/"), WithDecryption=True)
        return str(answer["Parameter"]["Value"])
