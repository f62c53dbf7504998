"""The local cloud over HTTP, as another process sees it."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any, cast

import boto3
import pytest

from infra.local.cloud import LocalCloud
from infra.local.server import PortTaken, Server

MACHINE = {
    "QueryLanguage": "JSONata", "StartAt": "call",
    "States": {"call": {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke",
        "Arguments": {"FunctionName": "twice", "Payload": {"n": "{% $states.input.n %}", "text": "it's \"quoted\""}},
        "Output": "{% $states.result.Payload %}", "End": True,
    }},
}


def client(service: str, url: str) -> Any:
    return cast(Any, boto3.session.Session()).client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="x", aws_secret_access_key="x"
    )


def ask(server: Server, headers: dict[str, str], path: str = "/") -> int:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request("GET", path, headers=headers)
    status = connection.getresponse().status
    connection.close()
    return status


def test_a_client_outside_runs_machines_and_functions_of_the_cloud() -> None:
    with LocalCloud() as cloud, Server() as server:
        cloud.function("twice", lambda event, context: {"n": event["n"] * 2, "text": event["text"]})
        states = client("stepfunctions", server.url)
        machine = states.create_state_machine(
            name="m", definition=json.dumps(MACHINE), roleArn="arn:aws:iam::123456789012:role/r"
        )["stateMachineArn"]
        arn = states.start_execution(stateMachineArn=machine, name="one", input='{"n": 21}')["executionArn"]
        assert cloud.execution(arn).wait(30).output == {"n": 42, "text": 'it\'s "quoted"'}
        assert json.loads(states.describe_execution(executionArn=arn)["output"])["n"] == 42
        cloud.client("s3").create_bucket(Bucket="things")
        client("s3", server.url).put_object(Bucket="things", Key="a b", Body=b"1")
        assert cloud.client("s3").get_object(Bucket="things", Key="a b")["Body"].read() == b"1"


def test_web_pages_and_foreign_names_are_refused() -> None:
    with LocalCloud(), Server() as server:
        local = f"localhost:{server.port}"
        assert ask(server, {"Host": local}) != 403
        assert ask(server, {"Host": local, "Origin": "http://evil.example"}) == 403
        assert ask(server, {"Host": "evil.example"}) == 403
        assert ask(server, {"Host": local}, "/moto-api/") == 403


def test_a_taken_port_is_told() -> None:
    with LocalCloud(), Server() as server, pytest.raises(PortTaken), Server(server.port):
        pass


def test_it_is_gone_afterwards() -> None:
    with LocalCloud(), Server() as server:
        pass
    started = time.monotonic()
    with pytest.raises(OSError):
        ask(server, {})
    assert time.monotonic() - started < 10
