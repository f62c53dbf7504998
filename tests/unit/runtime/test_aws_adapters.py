"""Adapters against moto."""

from __future__ import annotations

import json
from io import BytesIO

import boto3
import pytest

from aslant import bootstrap
from aslant.adapters import aws_lambda
from aslant.adapters.aws_errors import step_error
from aslant.adapters.aws_lambda import AwsLambda
from aslant.errors import RateLimited, SecretNotFound, StepTimeout, ValidationError
from aslant.settings import Settings, SettingsError


def test_secrets_come_from_secrets_manager_and_then_from_parameters(aws):
    manager, parameters = boto3.client("secretsmanager"), boto3.client("ssm")
    manager.create_secret(Name="aslant/acme/token", SecretString="from-manager")
    manager.create_secret(Name="aslant/acme/binary", SecretBinary="é".encode())
    parameters.put_parameter(Name="/aslant/acme/token", Value="shadowed", Type="SecureString")
    parameters.put_parameter(Name="/aslant/acme/other", Value="from-parameters", Type="SecureString")
    port = bootstrap.secrets(Settings())
    assert port.get("acme", "token") == "from-manager"
    assert port.get("acme", "binary") == "é"
    assert port.get("acme", "other") == "from-parameters"
    for tenant, name in [("acme", "nothing"), ("beta", "token")]:
        with pytest.raises(SecretNotFound, match="neither a secret"):
            port.get(tenant, name)


class LambdaClient:
    def __init__(self, payload: bytes, error: str | None = None) -> None:
        self.answer = {"Payload": BytesIO(payload), **({"FunctionError": error} if error else {})}

    def invoke(self, **arguments):
        self.arguments = arguments
        return self.answer


@pytest.mark.parametrize(("payload", "error", "kind", "words"), [
    (b'{"errorType": "DeploymentError", "errorMessage": "no"}', "Unhandled", "DeploymentError", "arn:x: no"),
    (b'{"errorMessage": "2026 Task timed out after 3.00 seconds"}', "Unhandled", "StepTimeout", "timed out"),
    (b'"odd"', "Unhandled", "FunctionError", "no message"),
    (b"<html>", None, "ValidationError", "did not return JSON"),
])
def test_lambda_errors_keep_their_names(monkeypatch, payload, error, kind, words):
    monkeypatch.setattr(aws_lambda, "client", lambda *a, **k: LambdaClient(payload, error))
    with pytest.raises(Exception, match=words) as caught:
        AwsLambda("us-east-1").invoke("arn:x", {"a": 1})
    assert type(caught.value).__name__ == kind


def test_lambda_results(monkeypatch):
    client = LambdaClient(b'{"n": 356686000032329832}')
    monkeypatch.setattr(aws_lambda, "client", lambda *a, **k: client)
    assert AwsLambda("us-east-1").invoke("arn:x", {"é": 1}) == {"n": 356686000032329832}
    assert json.loads(client.arguments["Payload"]) == {"é": 1}
    monkeypatch.setattr(aws_lambda, "client", lambda *a, **k: LambdaClient(b""))
    assert AwsLambda("us-east-1").invoke("arn:x", {}) is None


def test_failures_of_the_transport():
    from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ReadTimeoutError

    assert type(step_error(ReadTimeoutError(endpoint_url="https://x"), "x")) is StepTimeout
    assert type(step_error(EndpointConnectionError(endpoint_url="https://x"), "x")).__name__ == "NetworkError"
    assert type(step_error(NoCredentialsError(), "x")).__name__ == "AuthorizationError"
    for code, status, kind in [("SlowDown", 503, RateLimited), ("Odd", 400, ValidationError)]:
        error = ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "x")
        assert type(step_error(error, "x")) is kind


def test_settings_are_read_when_they_are_asked_for():
    assert Settings.read({}) == Settings()
    environment = {"ASLANT_HTTP_ALLOW": " a, ,b ", "ASLANT_SIMULATE": "TRUE", "ASLANT_SKILLS": '{"x": "arn:y"}', "AWS_REGION": "eu-x"}
    read = Settings.read(environment)
    assert (read.http_allow, read.simulate, read.skills, read.region) == (("a", "b"), True, {"x": "arn:y"}, "eu-x")
    for bad in ("[1]", "{", '{"a": 1}'):
        with pytest.raises(SettingsError, match="ASLANT_SKILLS"):
            Settings.read({"ASLANT_SKILLS": bad})
